//! `highwater cluster init`: the first node of a cluster, formatted before it runs.

use std::path::PathBuf;

use clap::Args;
use highwater_broker::BootError;
use log_core::BrokerId;
use serde::Serialize;

use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::escaped;
use crate::output::{self, Format, Paint, Report};

/// Format the data directory of a new cluster's first node, and make tokens for the others
///
/// A broker does this by itself when it starts on an empty directory. Doing it before gives the tokens before anything
/// runs, so that all nodes can be started at once.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The data directory; it must be empty or not be there
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// The node's id
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    node_id: i32,

    /// How many single-use tokens to make
    #[arg(long, default_value_t = 2, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1_000))]
    tokens: u16,
}

#[derive(Debug, Serialize)]
struct Formed {
    cluster_id: String,
    node_id: i32,
    data_dir: PathBuf,
    /// The certificate of the cluster's authority.
    ca: PathBuf,
    tokens: Vec<String>,
}

impl Report for Formed {
    fn text(&self, _: Paint) -> String {
        let directory = self.data_dir.display().to_string();
        let directory = escaped(&directory);
        let mut text = format!("formed cluster {} in {directory}, node {}\n", self.cluster_id, self.node_id);
        text.push_str(&format!("  highwater serve --data-dir {directory}\n"));
        for token in &self.tokens {
            text.push_str(&format!(
                "  highwater serve --data-dir DIR --node-id N --join HOST:PORT --token {token}\n"
            ));
        }
        text
    }
}

impl Init {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let formed = highwater_broker::init(&self.data_dir, BrokerId(self.node_id), usize::from(self.tokens));
        let formed = formed.map_err(|error| unformed(&error))?;
        let formed = Formed {
            cluster_id: formed.cluster_id.to_string(),
            node_id: formed.broker.0,
            data_dir: self.data_dir.clone(),
            ca: self.data_dir.join("tls").join("ca.pem"),
            tokens: formed.tokens,
        };
        output::show(&formed, format)
    }
}

fn unformed(error: &BootError) -> Failure {
    match error {
        BootError::JoinedAlready { path } => {
            Failure::new(Code::Failed, format!("{} belongs to a cluster already", path.display()))
                .or("highwater serve starts it; another --data-dir forms another cluster")
        }
        error => Failure::new(Code::Failed, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_type_next_is_shown() {
        let formed = Formed {
            cluster_id: "c".into(),
            node_id: 1,
            data_dir: "data".into(),
            ca: "data/tls/ca.pem".into(),
            tokens: vec!["first".into(), "second".into()],
        };
        insta::assert_snapshot!(formed.text(Paint::OFF));
    }
}
