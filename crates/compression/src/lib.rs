//! The four codecs of Kafka record batches, with output limits.
//!
//! [`CODECS`] is all there is: two functions for [`log_core`], which cannot depend on codecs itself. What is written
//! is what Kafka's Java clients write and read; what is read is more: snappy without framing, concatenated gzip
//! members, LZ4 frames with linked blocks.
//!
//! No input makes a codec allocate more than a few times its own length, the limit and a fixed window: lengths that the
//! input claims are checked against what its bytes can hold at all.

#![forbid(unsafe_code)]

mod gzip;
mod input;
mod lz4;
mod snappy;
#[cfg(not(target_arch = "wasm32"))]
mod zstd_native;
#[cfg(any(test, target_arch = "wasm32"))]
mod zstd_pure;

use log_core::{CodecError, Codecs, Compression};

/// gzip, snappy, lz4 and zstd. In a browser zstd is only read.
pub const CODECS: Codecs = Codecs { compress, decompress };

#[cfg(not(target_arch = "wasm32"))]
use zstd_native as zstd_codec;
#[cfg(target_arch = "wasm32")]
use zstd_pure as zstd_codec;

/// On an error `output` is left as it was.
fn compress(codec: Compression, input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = output.len();
    let result = match codec {
        Compression::None => return (Codecs::PLAIN.compress)(codec, input, output),
        Compression::Gzip => gzip::compress(input, output),
        Compression::Snappy => snappy::compress(input, output),
        Compression::Lz4 => lz4::compress(input, output),
        Compression::Zstd => zstd_codec::compress(input, output),
    };
    result.inspect_err(|_| output.truncate(start))
}

/// On an error `output` is left as it was.
fn decompress(
    codec: Compression,
    input: &[u8],
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let start = output.len();
    let result = match codec {
        Compression::None => return (Codecs::PLAIN.decompress)(codec, input, limit, output),
        Compression::Gzip => gzip::decompress(input, limit, output),
        Compression::Snappy => snappy::decompress(input, limit, output),
        Compression::Lz4 => lz4::decompress(input, limit, output),
        Compression::Zstd => zstd_codec::decompress(input, limit, output),
    };
    result.inspect_err(|_| output.truncate(start))
}

#[cfg(test)]
mod tests;
