//! One plain connection to a broker: frames out as they are, answers in as slices of one buffer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

/// Of the socket, each way, and of the buffer for answers.
const BUFFER_BYTES: usize = 4 << 20;
/// No broker is silent for longer.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A connection with a buffer for answers.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What has come and was not yet given out.
    filled: Range<usize>,
}

impl Connection {
    pub(super) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("{address} takes no connection"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        set_socket_send_buffer_size(&stream, BUFFER_BYTES)?;
        set_socket_recv_buffer_size(&stream, BUFFER_BYTES)?;
        Ok(Self { stream, buffer: vec![0; BUFFER_BYTES], filled: 0..0 })
    }

    pub(super) fn send(&mut self, frames: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(frames)?)
    }

    /// Sends a frame and waits for its answer.
    pub(super) fn call(&mut self, frame: &[u8]) -> Result<&[u8]> {
        self.send(frame)?;
        self.answer()
    }

    /// The next answer, waited for.
    pub(super) fn answer(&mut self) -> Result<&[u8]> {
        while self.whole()?.is_none() {
            self.receive()?;
        }
        self.arrived()?.context("a whole answer has come")
    }

    /// The next answer if it has come whole already.
    pub(super) fn arrived(&mut self) -> Result<Option<&[u8]>> {
        let Some(frame) = self.whole()? else { return Ok(None) };
        self.filled.start = frame.end;
        Ok(self.buffer.get(frame))
    }

    /// Where the first frame stands in the buffer, without its length.
    fn whole(&self) -> Result<Option<Range<usize>>> {
        let start = self.filled.start + 4;
        let Some(length) = self.buffer.get(self.filled.clone()).and_then(|bytes| bytes.first_chunk::<4>())
        else {
            return Ok(None);
        };
        let length = usize::try_from(i32::from_be_bytes(*length)).context("an answer has no length")?;
        ensure!(length + 4 <= BUFFER_BYTES, "an answer of {length} bytes is longer than was asked for");
        Ok((start + length <= self.filled.end).then(|| start..start + length))
    }

    fn receive(&mut self) -> Result<()> {
        if self.filled.is_empty() {
            self.filled = 0..0;
        } else if self.filled.end == BUFFER_BYTES {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        let room = self.buffer.get_mut(self.filled.end..).context("the buffer has room for an answer")?;
        let came = self.stream.read(room).context("the broker gave no answer")?;
        ensure!(came > 0, "the broker closed the connection");
        self.filled.end += came;
        Ok(())
    }
}
