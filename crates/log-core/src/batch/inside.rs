//! The look inside a compressed batch that [`validate`](super::validate) spares: for batches whose max timestamp cannot
//! be believed, and for topics that want every batch proven readable.

use alloc::vec::Vec;

use super::check::records_of;
use super::decompress::decompress;
use super::records::{max_timestamp_of, walk_lengths};
use super::validate::{ProduceRules, Produced, Stamp};
use crate::codec::{Codecs, Compression};
use crate::error::BatchError;

impl Produced {
    /// Decompresses the batch (at most `limit` bytes of records, into `buffer`), walks its records and settles
    /// [`Stamp::Walk`]. `batch` are the bytes that were validated. An uncompressed batch was walked before.
    ///
    /// Errors: [`BatchError::Codec`] when it does not decompress, [`BatchError::Record`] when the records are not
    /// those that the header counts, [`BatchError::Timestamp`].
    pub fn look_inside(
        self,
        batch: &[u8],
        rules: &ProduceRules,
        codecs: Codecs,
        limit: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, BatchError> {
        if self.header.compression() == Compression::None {
            return Ok(self);
        }
        let records = decompress(&self.header, records_of(&self.header, batch)?, codecs, limit, buffer)?;
        walk_lengths(records, self.header.record_count)?;
        if self.stamp != Stamp::Walk {
            return Ok(self);
        }
        let max_timestamp = max_timestamp_of(&self.header, records)?;
        rules.check_timestamp(max_timestamp)?;
        Ok(Self { stamp: Stamp::CreateTime { max_timestamp }, ..self })
    }
}
