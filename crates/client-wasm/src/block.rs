//! Blocks: the records of one batch in a form that JavaScript walks without a call per record: their bytes one after
//! the other, and a table of numbers.
//!
//! ```text
//! table    per record: offset, timestamp, key length, value length, header count, (name length, value length)*
//! payload  per record: key, value, (name, value)*        a length of -1 stands for null and takes no bytes
//! ```

use client_core::RecordBatch;
use log_core::RecordError;
use log_core::batch::Record;

/// The greatest integer up to which a JavaScript number is exact.
pub(crate) const SAFE_INTEGER_MAX: i64 = (1 << 53) - 1;

/// The records of one batch that a consumer has asked for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) table: Vec<f64>,
    pub(crate) payload: Vec<u8>,
    /// What came behind the last record that can be read.
    pub(crate) fault: Option<Fault>,
}

/// Why a block ends before its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The record behind the last one of the block does not decode.
    Record {
        /// At this offset, or behind it.
        offset: i64,
        error: RecordError,
    },
    /// The record behind the last one of the block has an offset that no JavaScript number holds.
    Offset(i64),
}

impl Block {
    /// The records of `batch` from the offset that was asked for, and before the offset `end`, if there is one.
    pub(crate) fn of(batch: &RecordBatch, end: Option<i64>) -> Self {
        let mut block = Self::default();
        // A record takes seven bytes at least: the count is not trusted for more room than that.
        block.table.reserve(batch.len().min(batch.records_bytes() / 7) * 5);
        block.payload.reserve(batch.records_bytes());
        let mut next = batch.base_offset().max(batch.from());
        for record in batch.records() {
            match record {
                Ok(record) if record.offset.0 < batch.from() => {}
                Ok(record) if end.is_some_and(|end| record.offset.0 >= end) => break,
                Ok(record) if record.offset.0 > SAFE_INTEGER_MAX => {
                    block.fault = Some(Fault::Offset(record.offset.0));
                    break;
                }
                Ok(record) => {
                    next = record.offset.0 + 1;
                    block.push(&record);
                }
                Err(error) => {
                    block.fault = Some(Fault::Record { offset: next, error });
                    break;
                }
            }
        }
        block
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn push(&mut self, record: &Record<'_>) {
        self.table.extend([number(record.offset.0), number(record.timestamp.0)]);
        self.put(record.key);
        self.put(record.value);
        self.table.push(record.headers.len() as f64);
        for header in record.headers {
            self.put(Some(header.key));
            self.put(header.value);
        }
    }

    fn put(&mut self, bytes: Option<&[u8]>) {
        self.table.push(bytes.map_or(-1.0, |bytes| bytes.len() as f64));
        self.payload.extend_from_slice(bytes.unwrap_or_default());
    }
}

/// An integer as JavaScript has it; exact up to [`SAFE_INTEGER_MAX`].
pub(crate) const fn number(integer: i64) -> f64 {
    integer as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use client_core::{ConsumerEvent, ConsumerOptions, FetchBuffer, Fetched, Subscription};
    use log_core::batch::{BatchBuilder, BatchSpec, NewRecord, RecordHeader};
    use log_core::{Codecs, Compression, LeaderEpoch, Offset, Timestamp};

    /// The first batch that a consumer of partition 0 of `t` gets, which asked from the offset `from`.
    fn batch(base_offset: i64, values: &[Option<&[u8]>], from: i64) -> RecordBatch {
        let mut builder = BatchBuilder::with_capacity(0);
        let headers = [RecordHeader { key: b"h", value: None }];
        for value in values {
            let record =
                NewRecord { timestamp: Timestamp(5), key: Some(b"k"), value: *value, headers: &headers };
            builder.push(&record).expect("fits");
        }
        let spec = BatchSpec {
            base_offset: Offset(base_offset),
            leader_epoch: LeaderEpoch(2),
            compression: Compression::None,
            producer: None,
            is_transactional: false,
        };
        let bytes = builder.build(&spec, Codecs::PLAIN, crc32c::crc32c_append).expect("plain");
        let next = base_offset + i64::try_from(values.len()).expect("few");
        let options = ConsumerOptions::new(Subscription::Topics(vec!["t".into()]));
        let mut buffer = FetchBuffer::new(&options, Codecs::PLAIN, crc32c::crc32c_append);
        buffer.handle_event(ConsumerEvent::Assigned(vec![("t".into(), 0, 1)]));
        buffer.handle_event(ConsumerEvent::Positioned {
            topic: "t".into(),
            partition: 0,
            generation: 1,
            offset: from,
        });
        buffer.handle_event(ConsumerEvent::Fetched(Fetched {
            topic: "t".into(),
            partition: 0,
            generation: 1,
            from,
            next,
            records: bytes.into(),
            high_watermark: next,
        }));
        buffer.next_batch().expect("it is here").expect("it is sound")
    }

    #[test]
    fn the_table_says_where_the_payload_is() {
        let block = Block::of(&batch(7, &[Some(b"abc"), None], 0), None);
        assert_eq!(block.table, [7.0, 5.0, 1.0, 3.0, 1.0, 1.0, -1.0, 8.0, 5.0, 1.0, -1.0, 1.0, 1.0, -1.0]);
        assert_eq!(block.payload, b"kabchkh");
        assert_eq!(block.fault, None);
    }

    #[test]
    fn records_outside_of_what_was_asked_for_are_left_out() {
        let values: [Option<&[u8]>; 4] = [Some(b"0"), Some(b"1"), Some(b"2"), Some(b"3")];
        let block = Block::of(&batch(10, &values, 11), Some(13));
        assert_eq!(block.table.iter().step_by(7).copied().collect::<Vec<_>>(), [11.0, 12.0]);
        assert!(Block::of(&batch(10, &values, 0), Some(10)).is_empty());
    }

    #[test]
    fn an_offset_beyond_what_a_number_holds_is_a_fault_behind_those_that_fit() {
        let values: [Option<&[u8]>; 3] = [Some(b"0"), Some(b"1"), Some(b"2")];
        let block = Block::of(&batch(SAFE_INTEGER_MAX - 1, &values, 0), None);
        assert_eq!(block.table.iter().step_by(7).count(), 2);
        assert_eq!(block.fault, Some(Fault::Offset(SAFE_INTEGER_MAX + 1)));
    }
}
