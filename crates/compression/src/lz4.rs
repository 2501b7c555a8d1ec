//! The LZ4 frame format. Header, block and content checksums are checked where the frame has them.
//!
//! Written frames have independent blocks of 64 KiB and no checksums but the header's: what Kafka's Java client
//! writes, and the only block mode that it reads. The batch has a CRC of its own.

use std::io::Write;

use log_core::{CodecError, Compression};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use crate::input::{Input, read_limited};

/// Legacy and skippable frames, which have other magic numbers, are not used in record batches.
const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

const MALFORMED: CodecError = CodecError::Malformed(Compression::Lz4);

pub(crate) fn compress(input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    let frame = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(frame, output);
    encoder.write_all(input).map_err(|_| MALFORMED)?;
    encoder.try_finish().map_err(|_| MALFORMED)
}

pub(crate) fn decompress(input: &[u8], limit: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    if !input.starts_with(&MAGIC) {
        return Err(MALFORMED);
    }
    let mut decoder = FrameDecoder::new(Input::new(input));
    read_limited(&mut decoder, Compression::Lz4, limit, output)?;
    // A frame that is cut between two blocks ends without an error; it has asked for more than there was.
    if decoder.get_ref().is_used_up() { Ok(()) } else { Err(MALFORMED) }
}
