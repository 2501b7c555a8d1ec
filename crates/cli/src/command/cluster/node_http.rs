//! Asking one node on its HTTP port for something that only its own machine may ask.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use clap::Args;

use crate::failure::{Code, Failure, Outcome};

/// Which node is asked.
#[derive(Debug, Args)]
pub(super) struct NodeHttp {
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

/// How long a node may take to answer over HTTP (a guess).
const LIMIT: Duration = Duration::from_secs(15);
/// An answer is far shorter.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

impl NodeHttp {
    /// The body of the answer to a POST without a body.
    pub(super) fn post(&self, path: &str) -> Outcome<String> {
        let address = self.http.strip_prefix("http://").unwrap_or(&self.http);
        let answer = post(address, path).map_err(|error| {
            Failure::new(Code::Unreachable, format!("no node at http://{address}: {error}"))
                .or("--http names the HTTP address of a node on this machine")
        })?;
        body_of(&answer).map_err(|what| Failure::new(Code::Failed, what))
    }
}

fn post(address: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The body of an answer that is in order, or what the node says instead.
fn body_of(answer: &str) -> Result<String, String> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the node gave no answer")?;
    let body = body.trim().to_owned();
    if head.split(' ').nth(1) == Some("200") { Ok(body) } else { Err(body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_or_the_nodes_own_words() {
        assert_eq!(body_of("HTTP/1.1 200 OK\r\nA: b\r\n\r\ndone\n"), Ok("done".to_owned()));
        assert_eq!(body_of("HTTP/1.1 409 Conflict\r\n\r\nnot here\n"), Err("not here".to_owned()));
        assert_eq!(body_of(""), Err("the node gave no answer".to_owned()));
    }
}
