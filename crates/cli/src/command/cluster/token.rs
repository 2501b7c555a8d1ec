//! `highwater cluster token`: lets one more node join a running cluster.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::failure::{Code, Failure, Outcome};
use crate::output::{self, Format, Paint, Report};

/// Make a single-use token that lets one node join
///
/// Asked of a node on this machine that holds the key of the cluster's authority: the one that formed the cluster.
#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The HTTP address of the node
    #[arg(
        long,
        env = "HIGHWATER_HTTP",
        hide_env_values = true,
        default_value = "127.0.0.1:8092",
        value_name = "ADDRESS"
    )]
    http: String,
}

#[derive(Debug, Serialize)]
struct Made {
    token: String,
}

impl Report for Made {
    fn text(&self, _: Paint) -> String {
        format!("{}\n", self.token)
    }
}

const LIMIT: Duration = Duration::from_secs(15);
/// An answer is far shorter.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

impl Token {
    pub(crate) fn run(&self, format: Format) -> Outcome {
        let address = self.http.strip_prefix("http://").unwrap_or(&self.http);
        let answer = post(address).map_err(|error| {
            Failure::new(Code::Unreachable, format!("no node at http://{address}: {error}"))
                .or("--http names the HTTP address of a node on this machine")
        })?;
        let token = token_in(&answer).map_err(|what| Failure::new(Code::Failed, what))?;
        output::show(&Made { token }, format)
    }
}

fn post(address: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let head = format!(
        "POST /cluster/token HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The token of an answer, or what the node says instead.
fn token_in(answer: &str) -> Result<String, String> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the node gave no answer")?;
    let accepted = head.split(' ').nth(1) == Some("200");
    let token = serde_json::from_str::<serde_json::Value>(body)
        .ok()
        .and_then(|value| value.get("token").and_then(serde_json::Value::as_str).map(str::to_owned));
    token.filter(|_| accepted).ok_or_else(|| body.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_or_the_nodes_own_words() {
        assert_eq!(token_in("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"token\":\"t\"}\n"), Ok("t".to_owned()));
        assert_eq!(token_in("HTTP/1.1 409 Conflict\r\n\r\nnot here\n"), Err("not here".to_owned()));
        assert_eq!(token_in(""), Err("the node gave no answer".to_owned()));
    }
}
