//! The newest batches in memory, shared with the buffers that they came in, so that pushing to followers and
//! waking consumers at the tail reads no file.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use log_core::Offset;

use super::types::{ReadLimit, ReadSlices, Slice};

/// A batch up to this length is copied into one piece: a small batch must neither keep a large receive buffer
/// alive nor be sent as two pieces.
const COPIED_BYTES_MAX: usize = 2048;

/// One batch: its header as it stands in the log, and its records where they were received.
#[derive(Clone, Debug)]
struct TailBatch {
    base: Offset,
    end: Offset,
    header: Bytes,
    records: Bytes,
}

impl TailBatch {
    fn bytes(&self) -> usize {
        self.header.len() + self.records.len()
    }
}

/// Batches without a gap, up to the log end, at most so many bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct TailBuffer {
    batches: VecDeque<TailBatch>,
    bytes: usize,
}

impl TailBuffer {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the batch that was appended last; drops the oldest while there are more than `bytes_max`.
    pub(super) fn push(
        &mut self,
        base: Offset,
        end: Offset,
        header: &[u8],
        records: Bytes,
        bytes_max: usize,
    ) {
        let batch = if header.len() + records.len() <= COPIED_BYTES_MAX {
            let mut whole = BytesMut::with_capacity(header.len() + records.len());
            whole.extend_from_slice(header);
            whole.extend_from_slice(&records);
            TailBatch { base, end, header: whole.freeze(), records: Bytes::new() }
        } else {
            TailBatch { base, end, header: Bytes::copy_from_slice(header), records }
        };
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
        while self.bytes > bytes_max
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }

    /// Drops the batches that reach beyond `end`.
    pub(super) fn truncate_to(&mut self, end: Offset) {
        while let Some(newest) = self.batches.pop_back_if(|newest| newest.end > end) {
            self.bytes -= newest.bytes();
        }
    }

    /// Whole batches from the one that holds `from` on; `None` if that one is not here.
    pub(super) fn read<F>(&self, from: Offset, limit: &ReadLimit) -> Option<ReadSlices<F>> {
        let first = self.batches.partition_point(|batch| batch.end <= from);
        self.batches.get(first).filter(|batch| batch.base <= from)?;
        let mut found = ReadSlices { slices: Vec::new(), bytes: 0, next_offset: from };
        for batch in self.batches.range(first..) {
            let bytes = found.bytes + batch.bytes() as u64;
            let fits = bytes <= limit.max_bytes || (limit.at_least_one && found.bytes == 0);
            if batch.end > limit.end || !fits {
                break;
            }
            found.bytes = bytes;
            found.next_offset = batch.end;
            found.slices.push(Slice::Bytes(batch.header.clone()));
            if !batch.records.is_empty() {
                found.slices.push(Slice::Bytes(batch.records.clone()));
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(bytes_max: usize) -> TailBuffer {
        let mut tail = TailBuffer::default();
        for batch in 0..5_i64 {
            let records = Bytes::from(vec![batch as u8; 90]);
            tail.push(Offset(batch * 10), Offset(batch * 10 + 10), &[0; 10], records, bytes_max);
        }
        tail
    }

    fn read(tail: &TailBuffer, from: i64, max_bytes: u64, end: i64) -> Option<(u64, i64)> {
        let limit = ReadLimit { max_bytes, end: Offset(end), at_least_one: true };
        tail.read::<()>(Offset(from), &limit).map(|found| (found.bytes, found.next_offset.0))
    }

    #[test]
    fn gives_whole_batches_within_both_limits_and_at_least_one() {
        assert_eq!(read(&tail(1000), 15, 250, 50), Some((200, 30)));
        assert_eq!(read(&tail(1000), 15, 1000, 45), Some((300, 40)));
        assert_eq!(read(&tail(1000), 15, 1, 50), Some((100, 20)));
        assert_eq!(read(&tail(1000), 15, 1, 19), Some((0, 15)));
    }

    #[test]
    fn knows_only_the_newest_batches() {
        let tail = tail(250);
        assert_eq!(read(&tail, 29, 1000, 50), None);
        assert_eq!(read(&tail, 30, 1000, 50), Some((200, 50)));
        assert_eq!(read(&tail, 50, 1000, 50), None);
    }

    #[test]
    fn a_cut_takes_the_batches_above_it() {
        let mut tail = tail(1000);
        tail.truncate_to(Offset(30));
        assert_eq!(read(&tail, 25, 1000, 50), Some((100, 30)));
        assert_eq!(tail.bytes, 300);
    }
}
