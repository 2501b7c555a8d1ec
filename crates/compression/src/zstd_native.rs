//! Zstandard (RFC 8878) by its C library.

use std::io::Write;

use log_core::{CodecError, Compression};
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use crate::input::read_limited;

/// Kafka's `compression.zstd.level` default.
const LEVEL: i32 = 3;

/// Largest window that is read, as a power of two: what level 22 writes, the most that Kafka allows. The memory is
/// reserved when a frame asks for it, but touched only as far as it is filled.
const WINDOW_LOG_MAX: u32 = 27;

const MALFORMED: CodecError = CodecError::Malformed(Compression::Zstd);

pub(crate) fn compress(input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut encoder = Encoder::new(output, LEVEL).map_err(|_| MALFORMED)?;
    // Small batches get small tables, and readers learn how much room they need.
    encoder.set_pledged_src_size(Some(input.len() as u64)).map_err(|_| MALFORMED)?;
    encoder.write_all(input).map_err(|_| MALFORMED)?;
    encoder.finish().map(drop).map_err(|_| MALFORMED)
}

pub(crate) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    if input.is_empty() {
        return Err(MALFORMED);
    }
    let mut decoder = Decoder::with_buffer(input).map_err(|_| MALFORMED)?;
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(|_| MALFORMED)?;
    read_limited(&mut decoder, Compression::Zstd, limit, output)
}
