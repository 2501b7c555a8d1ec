//! What the log needs from crates that are not `no_std`: a checksum and codecs, handed in as functions.

use alloc::vec::Vec;

/// CRC-32C of `bytes`, continuing from the CRC-32C `so_far` of what stands before them (0 at the start).
pub type Crc32c = fn(so_far: u32, bytes: &[u8]) -> u32;

/// How the records of a batch are compressed: bits 0 to 2 of the batch attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Snappy, raw or in the framing of xerial's Java library.
    Snappy,
    /// An LZ4 frame.
    Lz4,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// Appends the compressed form of the input to the output.
pub type Compress = fn(Compression, &[u8], &mut Vec<u8>) -> Result<(), CodecError>;

/// Appends the decompressed form of the input to the output, at most `limit` bytes of it.
pub type Decompress = fn(Compression, &[u8], limit: usize, &mut Vec<u8>) -> Result<(), CodecError>;

/// The codecs as two functions, so that a core can compress without depending on one.
#[derive(Clone, Copy, Debug)]
pub struct Codecs {
    /// Appends the compressed form of the input to the output.
    pub compress: Compress,
    /// Appends the decompressed form of the input to the output, at most `limit` bytes of it.
    pub decompress: Decompress,
}

impl Codecs {
    /// No codec at all: uncompressed bytes pass, everything else is [`CodecError::Unavailable`].
    pub const PLAIN: Self = Self { compress: copy, decompress: copy_limited };
}

/// Why a codec refused its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes are not of that format, or are damaged.
    #[error("not valid {} data", .0.name())]
    Malformed(Compression),
    /// The output would be longer than the limit.
    #[error("decompresses to more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// This build lacks the codec.
    #[error("codec {} is not available in this build", .0.name())]
    Unavailable(Compression),
}

impl Compression {
    /// The name that users type and Kafka's configuration uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

fn copy(codec: Compression, input: &[u8], output: &mut Vec<u8>) -> Result<(), CodecError> {
    copy_limited(codec, input, usize::MAX, output)
}

fn copy_limited(
    codec: Compression,
    input: &[u8],
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    if codec != Compression::None {
        return Err(CodecError::Unavailable(codec));
    }
    if input.len() > limit {
        return Err(CodecError::TooLarge { limit });
    }
    output.extend_from_slice(input);
    Ok(())
}
