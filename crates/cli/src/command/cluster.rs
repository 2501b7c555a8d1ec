//! `highwater cluster`: the cluster as a whole.

use clap::Subcommand;

use crate::failure::Outcome;
use crate::output::Format;

mod forget;
mod init;
mod node_http;
mod rotate_certificate;
mod status;
mod token;

/// Show the cluster as a whole, prepare its first node, let others join
#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    Status(status::Status),
    Init(init::Init),
    Token(token::Token),
    Forget(forget::Forget),
    RotateCertificate(rotate_certificate::RotateCertificate),
}

impl Cluster {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        match self {
            Self::Status(status) => status.run(format),
            Self::Init(init) => init.run(format),
            Self::Token(token) => token.run(format),
            Self::Forget(forget) => forget.run(format),
            Self::RotateCertificate(rotate) => rotate.run(format),
        }
    }
}
