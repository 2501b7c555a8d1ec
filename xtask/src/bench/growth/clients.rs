//! Clients that have said hello and are silent from then on.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};

use super::super::frames;

/// Large enough for what a broker says of its requests.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The example of RFC 6455, section 1.3: nothing here depends on its being random.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// Connections over plain TCP that have asked for the versions.
pub(super) fn tcp(address: &str, count: usize) -> Result<Vec<TcpStream>> {
    let open = |_| {
        let mut stream =
            TcpStream::connect(address).with_context(|| format!("{address} takes no connection"))?;
        stream.write_all(&frames::api_versions())?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_be_bytes(length))?;
        ensure!(length <= ANSWER_BYTES_MAX, "an answer of {length} bytes says which versions there are");
        stream.read_exact(&mut vec![0; length])?;
        Ok(stream)
    };
    (0..count).map(open).collect()
}

/// The same as WebSockets.
pub(super) fn web_sockets(port: u16, count: usize) -> Result<Vec<TcpStream>> {
    (0..count).map(|_| web_socket(port)).collect()
}

fn web_socket(port: u16) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
        ensure!(head.len() < ANSWER_BYTES_MAX, "the answer to an upgrade has no end");
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "no WebSocket: {}", String::from_utf8_lossy(&head));
    stream.write_all(&masked(&frames::api_versions())?)?;
    // A frame from a broker is not masked; its length stands in one byte, or in the two behind it.
    let mut start = [0; 2];
    stream.read_exact(&mut start)?;
    let mut length = usize::from(start[1] & 0x7f);
    if length == 126 {
        let mut long = [0; 2];
        stream.read_exact(&mut long)?;
        length = usize::from(u16::from_be_bytes(long));
    }
    ensure!(start[0] == 0x82 && length < 127 << 9, "a WebSocket gave no whole answer");
    stream.read_exact(&mut vec![0; length])?;
    Ok(stream)
}

/// A client's binary frame (RFC 6455, section 5.2), of fewer than 126 bytes.
fn masked(payload: &[u8]) -> Result<Vec<u8>> {
    let length = u8::try_from(payload.len()).ok().filter(|length| *length < 126).context("a short frame")?;
    let mut frame = vec![0x82, 0x80 | length];
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_masked_as_the_specification_shows() {
        // RFC 6455, section 5.7: a masked "Hello", here as a binary frame.
        let expected = [0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(masked(b"Hello").unwrap(), expected);
        assert!(masked(&[0; 126]).is_err());
    }
}
