//! `highwater cluster token`: lets one more node join a running cluster.

use clap::Args;
use serde::Serialize;

use super::node_http::NodeHttp;
use crate::failure::{Code, Failure, Outcome};
use crate::output::escaped::Escaped;
use crate::output::{self, Format, Paint, Report};

/// Make a single-use token that lets one node join
///
/// Asked of a node on this machine that holds the key of the cluster's authority: the one that formed the cluster.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(flatten)]
    node: NodeHttp,
}

#[derive(Debug, Serialize)]
struct Made {
    token: Escaped,
}

impl Report for Made {
    fn text(&self, _: Paint) -> String {
        format!("{}\n", self.token)
    }
}

impl Token {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let answer = self.node.post("/cluster/token")?;
        let token = token_in(&answer).ok_or_else(|| Failure::new(Code::Failed, answer.clone()))?;
        let token = Escaped::of(token);
        output::show(&Made { token }, format)
    }
}

fn token_in(answer: &str) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_str(answer).ok()?;
    Some(answer.get("token")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_from_its_answer() {
        assert_eq!(token_in("{\"token\":\"t\"}"), Some("t".to_owned()));
        assert_eq!(token_in("not here"), None);
    }
}
