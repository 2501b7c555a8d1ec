//! `highwater cluster rotate-certificate`: replaces a node's certificate for browsers at once.

use clap::Args;
use serde::Serialize;

use super::node_http::NodeHttp;
use crate::failure::Outcome;
use crate::output::escaped::Escaped;
use crate::output::{self, Format, Paint, Report};

/// Show browsers the next certificate of a node at once
///
/// Certificates for browsers rotate by themselves; this is for a key that has leaked. Asked of a node on this machine. Pages
/// know the present certificate and the next, so they go on; a second rotation takes the leaked one out of their lists.
#[derive(Debug, Args)]
pub(crate) struct RotateCertificate {
    #[command(flatten)]
    node: NodeHttp,
}

#[derive(Debug, Serialize)]
struct Rotated {
    answer: Escaped,
}

impl Report for Rotated {
    fn text(&self, _: Paint) -> String {
        format!("{}\n", self.answer)
    }
}

impl RotateCertificate {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let answer = Escaped::of(self.node.post("/certificate/rotate")?);
        output::show(&Rotated { answer }, format)
    }
}
