//! Zstandard (RFC 8878) where the C library cannot be built: read in pure Rust, not written.

use log_core::{CodecError, Compression};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use crate::input::{Input, read_limited};

/// Largest window that is read: what level 22 writes, the most that Kafka allows.
const WINDOW_BYTES_MAX: u64 = 1 << 27;

const MALFORMED: CodecError = CodecError::Malformed(Compression::Zstd);

pub(crate) const fn compress(_input: &[u8], _output: &mut Vec<u8>) -> Result<(), CodecError> {
    Err(CodecError::Unavailable(Compression::Zstd))
}

/// Frames may follow each other; one that carries a checksum has to keep it.
pub(crate) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = output.len();
    let mut input = Input::new(input);
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW_BYTES_MAX);
    loop {
        let mut frame =
            StreamingDecoder::new_with_decoder(&mut input, &mut decoder).map_err(|_| MALFORMED)?;
        let left = limit - (output.len() - start);
        let read = read_limited(&mut frame, Compression::Zstd, left, output);
        read.map_err(|error| if error == MALFORMED { error } else { CodecError::TooLarge { limit } })?;
        let stored = decoder.get_checksum_from_data();
        if stored.is_some() && stored != decoder.get_calculated_checksum() {
            return Err(MALFORMED);
        }
        if !input.has_rest() {
            return Ok(());
        }
    }
}
