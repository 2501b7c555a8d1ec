//! What the streaming codecs share: an input that notices when a decoder wants more than there is, and an output that
//! ends at a limit.

use std::io::{self, Read};

use log_core::{CodecError, Compression};

/// The input of a decoder. Some decoders take an end in the middle of their format for its regular end; they are found
/// out by [`Input::is_used_up`].
#[derive(Debug)]
pub(crate) struct Input<'a> {
    rest: &'a [u8],
    asked_for_more: bool,
}

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, asked_for_more: false }
    }

    /// Every byte was read and none was missed.
    pub(crate) const fn is_used_up(&self) -> bool {
        self.rest.is_empty() && !self.asked_for_more
    }

    /// Whether bytes are left.
    #[cfg(any(test, target_arch = "wasm32"))]
    pub(crate) const fn has_rest(&self) -> bool {
        !self.rest.is_empty()
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.asked_for_more |= self.rest.is_empty() && !buffer.is_empty();
        self.rest.read(buffer)
    }
}

/// Reads `decoder` to its end into `output`: at most `limit` bytes.
pub(crate) fn read_limited(
    decoder: &mut impl Read,
    codec: Compression,
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let start = output.len();
    let one_more = (limit as u64).saturating_add(1);
    decoder.take(one_more).read_to_end(output).map_err(|_| CodecError::Malformed(codec))?;
    if output.len() - start > limit { Err(CodecError::TooLarge { limit }) } else { Ok(()) }
}
