//! Batches built here, and every way of spoiling one.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::codec::{Codecs, Compression};
use crate::error::{BatchError, RecordError, Refusal};
use crate::ids::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence};
use crate::offset::Offset;
use crate::testing::{CRC, annotated};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp(1_000_000);

fn record(value: &[u8]) -> NewRecord<'_> {
    NewRecord { timestamp: NOW, key: Some(b"k"), value: Some(value), headers: &[] }
}

fn spec() -> BatchSpec {
    let producer = ProducerStamp { id: ProducerId(7), epoch: ProducerEpoch(1), base_sequence: Sequence(3) };
    BatchSpec { producer: Some(producer), ..BatchSpec::default() }
}

fn batch(values: &[&[u8]]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.push(&record(value)).unwrap();
    }
    builder.build(&spec(), Codecs::PLAIN, CRC).unwrap()
}

/// Applies `change` to a good batch, makes its CRC right again and validates it.
fn check(change: impl FnOnce(&mut [u8]), expected: BatchError, refusal: Refusal) {
    let mut bytes = batch(&[b"one", b"two"]);
    change(&mut bytes);
    let (header, records) = bytes.split_first_chunk_mut::<HEADER_BYTES>().unwrap();
    let crc = crc_of(header, records, CRC);
    header[17..21].copy_from_slice(&crc.to_be_bytes());
    let found = validate(&bytes, &ProduceRules::at(NOW), CRC);
    assert_eq!(found, Err(expected));
    assert_eq!(expected.refusal(), refusal);
}

#[test]
fn the_checksum_is_crc_32c() {
    assert_eq!(CRC(0, b"123456789"), 0xe306_9283);
    assert_eq!(CRC(CRC(0, b"1234"), b"56789"), 0xe306_9283);
}

#[test]
fn a_good_batch_is_accepted_as_sent() {
    let bytes = batch(&[b"one", b"two"]);
    let produced = validate(&bytes, &ProduceRules::at(NOW), CRC).unwrap();
    assert_eq!(produced.stamp, Stamp::AsSent);
    let header = produced.header;
    assert_eq!((header.record_count, header.last_offset_delta), (2, 1));
    assert_eq!(header.last_sequence(), Sequence(4));
    assert_eq!(header.batch_bytes, bytes.len());
}

#[test]
fn sequences_wrap_to_zero() {
    assert_eq!(Sequence(i32::MAX).plus(1), Sequence(0));
    assert_eq!(Sequence(i32::MAX - 1).plus(3), Sequence(1));
}

#[test]
fn the_leader_epoch_and_offset_that_a_client_sent_are_ignored() {
    let mut bytes = batch(&[b"one"]);
    patch::assign_in_place(&mut bytes, Offset(-5), LeaderEpoch(99));
    assert!(validate(&bytes, &ProduceRules::at(NOW), CRC).is_ok());
}

#[test]
fn placing_a_batch_leaves_its_crc_alone() {
    let mut bytes = batch(&[b"one", b"two"]);
    patch::assign_in_place(&mut bytes, Offset(100), LeaderEpoch(4));
    let header = check_stored(&bytes, CRC).unwrap();
    assert_eq!((header.base_offset, header.next_offset()), (Offset(100), Offset(102)));
    assert_eq!(header.leader_epoch, LeaderEpoch(4));
}

#[test]
fn an_older_magic_is_an_invalid_record() {
    check(|batch| batch[16] = 1, BatchError::Magic { found: 1 }, Refusal::InvalidRecord);
}

#[test]
fn an_unknown_codec_is_refused() {
    check(|batch| batch[22] = 5, BatchError::UnknownCodec { codec: 5 }, Refusal::UnsupportedCompressionType);
}

#[test]
fn a_control_batch_from_a_client_is_refused() {
    check(|batch| batch[22] = 0x20, BatchError::ControlFromClient, Refusal::InvalidRecord);
}

#[test]
fn a_wrong_count_is_refused() {
    let wrong = |count| BatchError::RecordCount { count, last_offset_delta: 1 };
    check(|batch| batch[60] = 1, wrong(1), Refusal::InvalidRecord);
    check(|batch| batch[60] = 3, wrong(3), Refusal::InvalidRecord);
    check(|batch| batch[57] = 0xff, wrong(i32::from_be_bytes([0xff, 0, 0, 2])), Refusal::InvalidRecord);
}

#[test]
fn a_negative_last_offset_delta_is_refused() {
    let wrong = BatchError::RecordCount { count: 2, last_offset_delta: -1 };
    check(|batch| batch[23..27].fill(0xff), wrong, Refusal::InvalidRecord);
}

#[test]
fn a_count_that_the_records_do_not_have_is_refused() {
    let more = |batch: &mut [u8]| (batch[26], batch[60]) = (2, 3);
    check(more, BatchError::Record(RecordError::Truncated), Refusal::InvalidRecord);
    let fewer = |batch: &mut [u8]| (batch[26], batch[60]) = (0, 1);
    check(fewer, BatchError::Record(RecordError::Trailing { bytes: 11 }), Refusal::InvalidRecord);
}

#[test]
fn a_producer_without_sequence_or_epoch_is_refused() {
    let wrong = BatchError::ProducerFields { epoch: ProducerEpoch(1), sequence: Sequence(-1) };
    check(|batch| batch[53..57].fill(0xff), wrong, Refusal::InvalidRecord);
    let wrong = BatchError::ProducerFields { epoch: ProducerEpoch(-1), sequence: Sequence(3) };
    check(|batch| batch[51..53].fill(0xff), wrong, Refusal::InvalidRecord);
}

#[test]
fn a_transaction_without_producer_is_refused() {
    let change = |batch: &mut [u8]| {
        batch[22] = 0x10;
        batch[43..51].fill(0xff);
    };
    check(change, BatchError::TransactionWithoutProducer, Refusal::InvalidRecord);
}

#[test]
fn a_missing_timestamp_is_refused() {
    let wrong = BatchError::Timestamp { found: Timestamp(-1), now: NOW };
    check(|batch| batch[27..43].fill(0xff), wrong, Refusal::InvalidTimestamp);
}

#[test]
fn a_flipped_bit_is_a_corrupt_message() {
    let mut bytes = batch(&[b"one"]);
    *bytes.last_mut().unwrap() ^= 1;
    let error = validate(&bytes, &ProduceRules::at(NOW), CRC).unwrap_err();
    assert!(matches!(error, BatchError::Crc { .. }));
    assert_eq!(error.refusal().code(), 2);
}

#[test]
fn exactly_one_batch_is_allowed() {
    let mut bytes = batch(&[b"one"]);
    let one = bytes.len();
    bytes.extend_from_within(..);
    let found = validate(&bytes, &ProduceRules::at(NOW), CRC);
    assert_eq!(found, Err(BatchError::NotOneBatch { batch_bytes: one, have: 2 * one }));
    let found = validate(&bytes[..one - 1], &ProduceRules::at(NOW), CRC);
    assert_eq!(found, Err(BatchError::Incomplete { need: one, have: one - 1 }));
}

#[test]
fn a_batch_above_the_limit_is_too_large() {
    let bytes = batch(&[b"one"]);
    let max = bytes.len() - 1;
    let rules = ProduceRules { batch_bytes_max: max, ..ProduceRules::at(NOW) };
    let error = validate(&bytes, &rules, CRC).unwrap_err();
    assert_eq!(error, BatchError::TooLarge { bytes: max + 1, max });
    assert_eq!(error.refusal().code(), 10);
}

#[test]
fn zstd_needs_produce_version_7() {
    let mut bytes = batch(&[b"one"]);
    bytes[22] = 4;
    let (header, records) = bytes.split_first_chunk_mut::<HEADER_BYTES>().unwrap();
    let crc = crc_of(header, records, CRC);
    header[17..21].copy_from_slice(&crc.to_be_bytes());
    let rules = ProduceRules { zstd_allowed: false, ..ProduceRules::at(NOW) };
    assert_eq!(validate(&bytes, &rules, CRC), Err(BatchError::ZstdBeforeV7));
    assert!(validate(&bytes, &ProduceRules::at(NOW), CRC).is_ok());
}

/// A batch with three records at 100, 300 and 200 whose header says `max`, with these attribute bits.
fn batch_with_max(max: i64, bits: u8) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for timestamp in [100, 300, 200] {
        builder.push(&NewRecord { timestamp: Timestamp(timestamp), ..record(b"v") }).unwrap();
    }
    let mut bytes = builder.build(&spec(), Codecs::PLAIN, CRC).unwrap();
    bytes[35..43].copy_from_slice(&max.to_be_bytes());
    bytes[22] = bits;
    let (header, records) = bytes.split_first_chunk_mut::<HEADER_BYTES>().unwrap();
    let crc = crc_of(header, records, CRC);
    header[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn stamp_of(max: i64, bits: u8, timestamp_type: TimestampType) -> Result<Stamp, BatchError> {
    let rules = ProduceRules { timestamp_type, ..ProduceRules::at(NOW) };
    validate(&batch_with_max(max, bits), &rules, CRC).map(|produced| produced.stamp)
}

#[test]
fn a_missing_max_timestamp_is_found_by_a_walk() {
    let found = Stamp::CreateTime { max_timestamp: Timestamp(300) };
    assert_eq!(stamp_of(-1, 0, TimestampType::CreateTime), Ok(found));
    assert_eq!(stamp_of(99, 0, TimestampType::CreateTime), Ok(found));
    assert_eq!(stamp_of(-1, 3, TimestampType::CreateTime), Ok(Stamp::Walk));
    assert_eq!(stamp_of(200, 0, TimestampType::CreateTime), Ok(Stamp::AsSent));
}

#[test]
fn a_max_timestamp_far_ahead_is_refused() {
    let far = NOW.0 + crate::limits::TIMESTAMP_AFTER_MS_MAX_DEFAULT + 1;
    let wrong = BatchError::Timestamp { found: Timestamp(far), now: NOW };
    assert_eq!(stamp_of(far, 0, TimestampType::CreateTime), Err(wrong));
    assert_eq!(stamp_of(far - 1, 0, TimestampType::CreateTime), Ok(Stamp::AsSent));
}

#[test]
fn the_log_append_time_bit_of_a_client_is_cleared_or_refused() {
    let cleared = Stamp::CreateTime { max_timestamp: Timestamp(300) };
    assert_eq!(stamp_of(300, 8, TimestampType::CreateTime), Ok(cleared));
    assert_eq!(stamp_of(300, 8, TimestampType::LogAppendTime), Err(BatchError::TimestampType));
    assert_eq!(stamp_of(300, 0, TimestampType::LogAppendTime), Ok(Stamp::LogAppendTime { now: NOW }));
}

#[test]
fn a_stamped_batch_is_whole_and_carries_its_time() {
    let mut bytes = batch_with_max(300, 0);
    let (header, records) = bytes.split_first_chunk_mut().unwrap();
    patch::stamp(header, records, Stamp::LogAppendTime { now: NOW }, CRC);
    let header = check_stored(&bytes, CRC).unwrap();
    let times: Vec<_> = Records::new(&header, records_of(&header, &bytes).unwrap())
        .map(|record| record.unwrap().timestamp)
        .collect();
    assert_eq!(times, vec![NOW; 3]);
    assert_eq!(max_timestamp_of(&header, records_of(&header, &bytes).unwrap()), Ok(Timestamp(300)));
    let (header, records) = bytes.split_first_chunk_mut().unwrap();
    patch::stamp(header, records, Stamp::CreateTime { max_timestamp: Timestamp(300) }, CRC);
    assert_eq!(bytes, batch_with_max(300, 0));
}

#[test]
fn a_stored_batch_may_be_empty_or_a_marker() {
    let marker = EndMarker {
        end: TransactionEnd::Commit,
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(2),
        coordinator_epoch: 5,
        timestamp: NOW,
    };
    let bytes = marker.batch(CRC);
    let header = check_stored(&bytes, CRC).unwrap();
    assert!(header.attributes.is_control() && header.attributes.is_transactional());
    let record = Records::new(&header, records_of(&header, &bytes).unwrap()).next().unwrap().unwrap();
    let end = ControlRecord::TransactionEnd(TransactionEnd::Commit, 5);
    assert_eq!(ControlRecord::parse(&record), Some(end));

    let empty = BatchBuilder::new();
    let bytes = empty.finish(&spec(), Attributes::default(), CRC).unwrap();
    assert_eq!(check_stored(&bytes, CRC).unwrap().record_count, 0);
    assert!(validate(&bytes, &ProduceRules::at(NOW), CRC).is_err());
}

/// Codecs that keep the bytes as they are, whatever the codec.
const TRANSPARENT: Codecs = Codecs {
    compress: |_, input, output| (Codecs::PLAIN.compress)(Compression::None, input, output),
    decompress: |codec, input, limit, output| match codec {
        Compression::Gzip => Err(crate::CodecError::Malformed(codec)),
        _ => (Codecs::PLAIN.decompress)(Compression::None, input, limit, output),
    },
};

fn inside(max: i64, codec: u8, limit: usize) -> Result<Stamp, BatchError> {
    let (bytes, rules) = (batch_with_max(max, codec), ProduceRules::at(NOW));
    let produced = validate(&bytes, &rules, CRC)?;
    produced.look_inside(&bytes, &rules, TRANSPARENT, limit, &mut Vec::new()).map(|produced| produced.stamp)
}

#[test]
fn a_look_inside_settles_the_timestamp_of_a_compressed_batch() {
    assert_eq!(inside(-1, 3, 1000), Ok(Stamp::CreateTime { max_timestamp: Timestamp(300) }));
    assert_eq!(inside(300, 3, 1000), Ok(Stamp::AsSent));
    assert_eq!(inside(300, 0, 0), Ok(Stamp::AsSent));
}

#[test]
fn a_look_inside_refuses_what_does_not_decompress() {
    let refused = |codec, limit| inside(300, codec, limit).unwrap_err().refusal();
    assert_eq!(refused(1, 1000), Refusal::InvalidRecord);
    assert_eq!(refused(3, 5), Refusal::MessageTooLarge);
}

#[test]
fn a_batch_sent_again_under_a_new_epoch_is_whole() {
    let mut bytes = batch(&[b"one"]);
    let (header, records) = bytes.split_first_chunk_mut().unwrap();
    let producer = ProducerStamp { id: ProducerId(8), epoch: ProducerEpoch(0), base_sequence: Sequence(0) };
    patch::set_producer(header, records, producer, CRC);
    let header = check_stored(&bytes, CRC).unwrap();
    assert_eq!((header.producer_id, header.base_sequence), (ProducerId(8), Sequence(0)));
}

#[test]
fn headers_keep_their_order_and_duplicates() {
    let headers = [
        RecordHeader { key: b"a", value: Some(b"1") },
        RecordHeader { key: b"b", value: None },
        RecordHeader { key: b"a", value: Some(b"") },
    ];
    let mut builder = BatchBuilder::new();
    builder.push(&NewRecord { headers: &headers, value: None, ..record(b"") }).unwrap();
    let bytes = builder.build(&spec(), Codecs::PLAIN, CRC).unwrap();
    let header = BatchHeader::parse(&bytes).unwrap();
    let record = Records::new(&header, records_of(&header, &bytes).unwrap()).next().unwrap().unwrap();
    assert_eq!(record.value, None);
    assert_eq!(record.headers.len(), 3);
    assert_eq!(record.headers.collect::<Vec<_>>(), headers);
}

#[test]
fn a_batch_without_records_is_not_built() {
    let built = BatchBuilder::new().build(&spec(), Codecs::PLAIN, CRC);
    assert_eq!(built, Err(crate::BuildError::Empty));
}

#[test]
fn a_missing_codec_is_said() {
    let mut builder = BatchBuilder::new();
    builder.push(&record(b"v")).unwrap();
    let spec = BatchSpec { compression: Compression::Lz4, ..spec() };
    let unavailable = crate::CodecError::Unavailable(Compression::Lz4);
    assert_eq!(builder.build(&spec, Codecs::PLAIN, CRC), Err(unavailable.into()));
}

#[test]
fn batches_are_taken_until_one_is_cut() {
    let mut bytes = batch(&[b"one"]);
    let one = bytes.len();
    bytes.extend_from_slice(&batch(&[b"two", b"three"]));
    bytes.extend_from_slice(&batch(&[b"four"])[..70]);
    let mut batches = Batches::new(&bytes);
    assert_eq!(batches.by_ref().map(|(header, _)| header.record_count).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(batches.rest().len(), 70);
    assert_eq!(Batches::new(&bytes[..one - 1]).next(), None);
}

/// Every field of a batch with its place and bytes.
fn annotated_batch(batch: &[u8]) -> std::string::String {
    let fields = [
        (8, "base offset"),
        (4, "length of what follows"),
        (4, "partition leader epoch"),
        (1, "magic"),
        (4, "crc-32c of what follows"),
        (2, "attributes"),
        (4, "last offset delta"),
        (8, "base timestamp"),
        (8, "max timestamp"),
        (8, "producer id"),
        (2, "producer epoch"),
        (4, "base sequence"),
        (4, "record count"),
        (batch.len() - HEADER_BYTES, "records"),
    ];
    annotated(batch, &fields)
}

#[test]
fn the_bytes_of_a_batch_are_frozen() {
    let headers = [RecordHeader { key: b"h", value: Some(b"1") }, RecordHeader { key: b"h", value: None }];
    let mut builder = BatchBuilder::new();
    builder.push(&NewRecord { headers: &headers, ..record(b"one") }).unwrap();
    builder.push(&NewRecord { timestamp: Timestamp(NOW.0 - 5), key: None, ..record(b"two") }).unwrap();
    let mut bytes = builder.build(&spec(), Codecs::PLAIN, CRC).unwrap();
    patch::assign_in_place(&mut bytes, Offset(42), LeaderEpoch(9));
    insta::assert_snapshot!(annotated_batch(&bytes));
}

#[test]
fn the_bytes_of_a_marker_are_frozen() {
    let marker = EndMarker {
        end: TransactionEnd::Abort,
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(2),
        coordinator_epoch: 5,
        timestamp: NOW,
    };
    insta::assert_snapshot!(annotated_batch(&marker.batch(CRC)));
}

/// An owned record: timestamp, key, value, headers.
type Owned = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn owned_record() -> impl Strategy<Value = Owned> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..100);
    let header = (bytes(), proptest::option::of(bytes()));
    let headers = proptest::collection::vec(header, 0..4);
    (0..NOW.0, proptest::option::of(bytes()), proptest::option::of(bytes()), headers)
}

fn build(records: &[Owned]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for (timestamp, key, value, headers) in records {
        let headers: Vec<_> =
            headers.iter().map(|(key, value)| RecordHeader { key, value: value.as_deref() }).collect();
        let record = NewRecord {
            timestamp: Timestamp(*timestamp),
            key: key.as_deref(),
            value: value.as_deref(),
            headers: &headers,
        };
        let expected = builder.batch_bytes_with(&record);
        builder.push(&record).unwrap();
        assert_eq!(builder.batch_bytes(), expected);
    }
    builder.build(&spec(), Codecs::PLAIN, CRC).unwrap()
}

fn owned(record: Record<'_>) -> Owned {
    let headers = record.headers.map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec)));
    let (key, value) = (record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec));
    (record.timestamp.0, key, value, headers.collect())
}

proptest! {
    #[test]
    fn records_are_read_back(records in proptest::collection::vec(owned_record(), 1..20)) {
        let bytes = build(&records);
        let header = validate(&bytes, &ProduceRules::at(NOW), CRC).unwrap().header;
        let body = records_of(&header, &bytes).unwrap();
        let found: Vec<_> = Records::new(&header, body).map(Result::unwrap).collect();
        for (index, record) in found.iter().enumerate() {
            prop_assert_eq!(record.offset, Offset(index as i64));
        }
        prop_assert_eq!(found.into_iter().map(owned).collect::<Vec<_>>(), records);
    }

    #[test]
    fn a_cut_batch_is_incomplete(records in proptest::collection::vec(owned_record(), 1..5), cut in 0.0..1.0) {
        let bytes = build(&records);
        let have = (bytes.len() as f64 * cut) as usize;
        let found = check_stored(&bytes[..have], CRC);
        let incomplete = matches!(found, Err(BatchError::Incomplete { need, .. }) if need > have);
        prop_assert!(incomplete, "{found:?}");
        prop_assert!(validate(&bytes[..have], &ProduceRules::at(NOW), CRC).is_err());
    }

    #[test]
    fn a_flip_is_seen_but_in_offset_and_epoch(records in proptest::collection::vec(owned_record(), 1..5), at in 0.0..1.0) {
        let mut bytes = build(&records);
        let bit = ((bytes.len() * 8) as f64 * at) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let outside = [0..8, 12..16].iter().any(|range| range.contains(&(bit / 8)));
        prop_assert_eq!(validate(&bytes, &ProduceRules::at(NOW), CRC).is_ok(), outside);
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes: Vec<u8>) {
        prop_assert!(BatchHeader::parse(&bytes).is_err() || check_stored(&bytes, CRC).is_err());
        prop_assert!(validate(&bytes, &ProduceRules::at(NOW), CRC).is_err());
        let _ = claimed_bytes(&bytes);
    }

    #[test]
    fn arbitrary_records_are_read_or_refused(body in proptest::collection::vec(0..20_u8, 0..200), count in -1..9_i32) {
        let mut bytes = batch(&[b"one"]);
        bytes.truncate(HEADER_BYTES);
        let header = BatchHeader { record_count: count.max(0), ..BatchHeader::parse(&bytes).unwrap() };
        let mut records = 0;
        let all_read = Records::new(&header, &body).all(|record| {
            records += 1;
            record.is_ok_and(|record| record.headers.count() < body.len())
        });
        prop_assert!(records <= count.max(0) + 1);
        if all_read {
            prop_assert_eq!(walk_lengths(&body, count), Ok(()));
        }
    }
}
