//! Why a record log could not be opened or appended to.

use super::format::RECORD_BYTES_MAX;
use crate::error::DiskError;

/// Why a record log could not be opened or appended to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordLogError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A record is longer than the format allows.
    #[error("record of {len} bytes; at most {RECORD_BYTES_MAX} fit")]
    TooLarge {
        /// Its bytes.
        len: usize,
    },
    /// Bytes that were written whole once do not check any more.
    #[error("{file} is damaged at byte {position}, where record {index} is expected")]
    Damaged {
        /// The file, within the log directory.
        file: String,
        /// Where.
        position: u64,
        /// The index expected there.
        index: u64,
    },
    /// A file is missing between two others, or before the first one needed.
    #[error("{dir} has no record {index}, but later ones")]
    Missing {
        /// The log's directory, within the log directory.
        dir: String,
        /// The first index that is missing.
        index: u64,
    },
}
