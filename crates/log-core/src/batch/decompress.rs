//! From the records as stored to the records as read.

use alloc::vec::Vec;

use super::header::BatchHeader;
use crate::codec::{CodecError, Codecs, Compression};

/// The records of a batch, decompressed into `buffer` if they are compressed: at most `limit` bytes. `buffer` is
/// emptied first, and not touched for an uncompressed batch, whatever its length.
///
/// Errors: those of the codec.
pub fn decompress<'a>(
    header: &BatchHeader,
    records: &'a [u8],
    codecs: Codecs,
    limit: usize,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], CodecError> {
    let codec = header.compression();
    if codec == Compression::None {
        return Ok(records);
    }
    buffer.clear();
    (codecs.decompress)(codec, records, limit, buffer)?;
    Ok(buffer)
}
