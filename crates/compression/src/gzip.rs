//! gzip (RFC 1952), in pure Rust. Its checksum and length are checked; members may follow each other.

use std::io::Write;

use flate2::Compression as Level;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use log_core::{CodecError, Compression};

use crate::input::read_limited;

/// Level 6 is the default of zlib, and so of Kafka's clients.
const LEVEL: Level = Level::new(6);

pub(crate) fn compress(input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut encoder = GzEncoder::new(output, LEVEL);
    let written = encoder.write_all(input).and_then(|()| encoder.finish().map(drop));
    written.map_err(|_| CodecError::Malformed(Compression::Gzip))
}

pub(crate) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    if input.is_empty() {
        return Err(CodecError::Malformed(Compression::Gzip));
    }
    read_limited(&mut MultiGzDecoder::new(input), Compression::Gzip, limit, output)
}
