//! Snappy, in the framing of xerial's Java library, which Kafka's clients write, or raw.
//!
//! ```text
//! 0x82 "SNAPPY" 0 | version i32 = 1 | least version that reads it i32 = 1 | blocks       big-endian
//! block: length i32 | raw snappy
//! ```

use log_core::{CodecError, Compression};
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const VERSION: [u8; 4] = 1_i32.to_be_bytes();
/// The magic bytes and two versions before the blocks.
const HEADER_BYTES: usize = 16;

/// Bytes of input per block: the default of xerial's library.
const BLOCK_BYTES: usize = 32 * 1024;

/// The densest element of the format gives 64 bytes for 3: more than this per byte of input is a lie.
const RATIO_MAX: usize = 22;

const MALFORMED: CodecError = CodecError::Malformed(Compression::Snappy);

pub(crate) fn compress(input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&VERSION);
    output.extend_from_slice(&VERSION);
    let mut encoder = Encoder::new();
    let mut compressed = vec![0; max_compress_len(input.len().min(BLOCK_BYTES))];
    for block in input.chunks(BLOCK_BYTES) {
        let bytes = encoder.compress(block, &mut compressed).map_err(|_| MALFORMED)?;
        let block = compressed.get(..bytes).ok_or(MALFORMED)?;
        let length = u32::try_from(bytes).map_err(|_| MALFORMED)?;
        output.extend_from_slice(&length.to_be_bytes());
        output.extend_from_slice(block);
    }
    Ok(())
}

pub(crate) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = output.len();
    if !input.starts_with(&MAGIC) {
        return append_block(input, limit, output, limit);
    }
    let mut rest = input;
    while !rest.is_empty() {
        // Streams may be joined: each begins with a header. Its versions are not looked at: some clients
        // write them in the other byte order.
        if rest.starts_with(&MAGIC) {
            rest = rest.get(HEADER_BYTES..).ok_or(MALFORMED)?;
            continue;
        }
        let (length, after) = rest.split_first_chunk().ok_or(MALFORMED)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| MALFORMED)?;
        let (block, after) = after.split_at_checked(length).ok_or(MALFORMED)?;
        let left = limit - (output.len() - start);
        append_block(block, left, output, limit)?;
        rest = after;
    }
    Ok(())
}

/// Appends a raw block of at most `left` bytes; `limit` is what the error names.
fn append_block(block: &[u8], left: usize, output: &mut Vec<u8>, limit: usize) -> Result<(), CodecError> {
    let length = decompress_len(block).map_err(|_| MALFORMED)?;
    if length > block.len().saturating_mul(RATIO_MAX) {
        return Err(MALFORMED);
    }
    if length > left {
        return Err(CodecError::TooLarge { limit });
    }
    let start = output.len();
    output.resize(start + length, 0);
    let room = output.get_mut(start..).ok_or(MALFORMED)?;
    let written = Decoder::new().decompress(block, room).map_err(|_| MALFORMED)?;
    if written == length { Ok(()) } else { Err(MALFORMED) }
}
