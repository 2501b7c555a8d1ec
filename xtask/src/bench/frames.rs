//! The few Kafka frames that the load is made of, built once and by hand: the generator must cost next to nothing, and share no code
//! with what it measures. Produce 7, Fetch 11, Metadata 4, CreateTopics 2, DeleteTopics 1.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use super::cursor::Cursor;

/// Bytes of a batch before its records.
const BATCH_HEADER_BYTES: usize = 61;
/// All answers come in the order of their requests, so one number serves every frame.
const CORRELATION: i32 = 7;
const CLIENT: &str = "bench";
const TIMEOUT_MS: i32 = 30_000;

/// A record batch as it is sent, over and over.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) records: usize,
}

impl Batch {
    /// As many records of `record_bytes` as fit in `batch_bytes`, one at least; of noise, so that nothing gains by compressing it.
    pub(super) fn new(record_bytes: usize, batch_bytes: usize) -> Self {
        let value = noise(record_bytes);
        let mut records = Vec::new();
        let mut count = 0;
        loop {
            let record = record(count, &value);
            let full = BATCH_HEADER_BYTES + records.len() + record.len() > batch_bytes;
            if count > 0 && full {
                break;
            }
            records.extend(record);
            count += 1;
        }
        Self { bytes: framed(count, &records), records: usize::try_from(count).unwrap_or(0) }
    }

    /// The request that produces it.
    pub(super) fn request(&self, topic: &str, partition: i32, acks: i16) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.bytes.len() + 64);
        put(&mut body, &[&(-1_i16).to_be_bytes(), &acks.to_be_bytes(), &TIMEOUT_MS.to_be_bytes()]);
        put(
            &mut body,
            &[&1_i32.to_be_bytes(), &string(topic), &1_i32.to_be_bytes(), &partition.to_be_bytes()],
        );
        put(&mut body, &[&length(self.bytes.len()), &self.bytes]);
        request(0, 7, &body)
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes().first().copied().unwrap_or_default()
    };
    (0..bytes).map(|_| next()).collect()
}

fn record(number: i32, value: &[u8]) -> Vec<u8> {
    let mut inside = vec![0];
    varint(&mut inside, 0);
    varint(&mut inside, number);
    varint(&mut inside, -1);
    varint(&mut inside, i32::try_from(value.len()).unwrap_or(0));
    inside.extend(value);
    varint(&mut inside, 0);
    let mut record = Vec::new();
    varint(&mut record, i32::try_from(inside.len()).unwrap_or(0));
    record.extend(inside);
    record
}

fn varint(into: &mut Vec<u8>, value: i32) {
    let mut left = ((value << 1) ^ (value >> 31)).cast_unsigned();
    while left >= 0x80 {
        into.push(left.to_le_bytes()[0] | 0x80);
        left >>= 7;
    }
    into.push(left.to_le_bytes()[0]);
}

fn framed(count: i32, records: &[u8]) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or_default().to_be_bytes();
    let mut checked = Vec::with_capacity(records.len() + BATCH_HEADER_BYTES);
    put(&mut checked, &[&0_i16.to_be_bytes(), &(count - 1).to_be_bytes(), &now, &now]);
    put(&mut checked, &[&(-1_i64).to_be_bytes(), &(-1_i16).to_be_bytes(), &(-1_i32).to_be_bytes()]);
    put(&mut checked, &[&count.to_be_bytes(), records]);
    let mut batch = Vec::with_capacity(checked.len() + 21);
    put(&mut batch, &[&0_i64.to_be_bytes(), &length(checked.len() + 9), &(-1_i32).to_be_bytes(), &[2]]);
    put(&mut batch, &[&crc32c::crc32c(&checked).to_be_bytes(), &checked]);
    batch
}

/// A fetch of one partition from `offset` on, of at most `bytes_max`, waiting for at most `wait_ms`.
pub(super) fn fetch(topic: &str, partition: i32, offset: i64, bytes_max: i32, wait_ms: i32) -> Vec<u8> {
    let mut body = Vec::new();
    put(&mut body, &[&(-1_i32).to_be_bytes(), &wait_ms.to_be_bytes(), &1_i32.to_be_bytes()]);
    put(&mut body, &[&(64_i32 << 20).to_be_bytes(), &[0], &0_i32.to_be_bytes(), &(-1_i32).to_be_bytes()]);
    put(&mut body, &[&1_i32.to_be_bytes(), &string(topic), &1_i32.to_be_bytes(), &partition.to_be_bytes()]);
    put(&mut body, &[&(-1_i32).to_be_bytes(), &offset.to_be_bytes(), &(-1_i64).to_be_bytes()]);
    put(&mut body, &[&bytes_max.to_be_bytes(), &0_i32.to_be_bytes(), &string("")]);
    request(1, 11, &body)
}

/// Asks who leads a topic.
pub(super) fn metadata(topic: &str) -> Vec<u8> {
    request(3, 4, &[&1_i32.to_be_bytes()[..], &string(topic), &[0]].concat())
}

/// Makes a topic.
pub(super) fn create(topic: &str, partitions: i32, replicas: i16, settings: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    put(
        &mut body,
        &[&1_i32.to_be_bytes(), &string(topic), &partitions.to_be_bytes(), &replicas.to_be_bytes()],
    );
    put(&mut body, &[&0_i32.to_be_bytes(), &length(settings.len())]);
    for (name, value) in settings {
        put(&mut body, &[&string(name), &string(value)]);
    }
    put(&mut body, &[&TIMEOUT_MS.to_be_bytes(), &[0]]);
    request(19, 2, &body)
}

/// Removes a topic.
pub(super) fn delete(topic: &str) -> Vec<u8> {
    request(20, 1, &[&1_i32.to_be_bytes()[..], &string(topic), &TIMEOUT_MS.to_be_bytes()].concat())
}

/// What a client asks first: which requests are understood.
pub(super) fn api_versions() -> Vec<u8> {
    request(18, 0, &[])
}

fn request(key: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let head = [&key.to_be_bytes()[..], &version.to_be_bytes(), &CORRELATION.to_be_bytes(), &string(CLIENT)]
        .concat();
    [&length(head.len() + body.len())[..], &head, body].concat()
}

fn put(into: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| into.extend_from_slice(part));
}

fn string(text: &str) -> Vec<u8> {
    let length = i16::try_from(text.len()).unwrap_or_default();
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).unwrap_or_default().to_be_bytes()
}

/// The base offset that a produce was given.
pub(super) fn produced(answer: &[u8]) -> Result<i64> {
    let mut at = Cursor::answer(answer)?;
    at.skip(4)?;
    at.string()?;
    at.skip(4 + 4)?;
    refused(at.i16()?, "produce")?;
    at.i64()
}

/// What a fetch brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) bytes: usize,
    /// The offset behind the last whole batch; none if none came.
    pub(super) next_offset: Option<i64>,
    pub(super) high_watermark: i64,
}

/// Reads a fetch's answer as far as a consumer must, down to the heads of the batches.
pub(super) fn fetched(answer: &[u8]) -> Result<Fetched> {
    let mut at = Cursor::answer(answer)?;
    at.skip(4)?;
    refused(at.i16()?, "fetch")?;
    at.skip(4 + 4)?;
    at.string()?;
    at.skip(4 + 4)?;
    refused(at.i16()?, "fetch")?;
    let high_watermark = at.i64()?;
    at.skip(8 + 8)?;
    let aborted = usize::try_from(at.i32()?.max(0))?;
    at.skip(16 * aborted + 4)?;
    let bytes = usize::try_from(at.i32()?.max(0))?;
    Ok(Fetched { bytes, next_offset: behind_last(at.take(bytes)?), high_watermark })
}

fn behind_last(batches: &[u8]) -> Option<i64> {
    let mut at = Cursor::new(batches);
    let mut next = None;
    while let Some(behind) = behind_one(&mut at) {
        next = Some(behind);
    }
    next
}

fn behind_one(at: &mut Cursor<'_>) -> Option<i64> {
    let base = at.i64().ok()?;
    let length = usize::try_from(at.i32().ok()?).ok()?;
    let mut inside = Cursor::new(at.take(length).ok()?);
    inside.skip(11).ok()?;
    Some(base + i64::from(inside.i32().ok()?) + 1)
}

/// Where a topic's partitions are led, and whether all their replicas are in sync.
pub(super) fn leaders(answer: &[u8]) -> Result<Option<Vec<String>>> {
    let mut at = Cursor::answer(answer)?;
    at.skip(4)?;
    let mut nodes = Vec::new();
    for _ in 0..at.i32()? {
        let id = at.i32()?;
        let host = at.string()?.to_owned();
        let port = at.i32()?;
        at.string()?;
        nodes.push((id, format!("{host}:{port}")));
    }
    at.string()?;
    at.skip(4 + 4)?;
    if at.i16()? != 0 {
        return Ok(None);
    }
    at.string()?;
    at.skip(1)?;
    let mut led = Vec::new();
    for _ in 0..at.i32()? {
        led.push(leader(&mut at, &nodes)?);
    }
    led.sort();
    Ok(led.into_iter().map(|found| found.map(|(_, address)| address)).collect())
}

/// The number of a partition and its leader's address; none if it has no leader or too few replicas in sync.
fn leader(at: &mut Cursor<'_>, nodes: &[(i32, String)]) -> Result<Option<(i32, String)>> {
    let error = at.i16()?;
    let (partition, leader) = (at.i32()?, at.i32()?);
    let replicas = usize::try_from(at.i32()?)?;
    at.skip(4 * replicas)?;
    let in_sync = usize::try_from(at.i32()?)?;
    at.skip(4 * in_sync)?;
    let address = nodes.iter().find(|(id, _)| *id == leader).map(|(_, address)| (partition, address.clone()));
    Ok(address.filter(|_| error == 0 && in_sync == replicas))
}

/// The error of the only topic that a request named.
pub(super) fn topic_error(answer: &[u8], throttled: bool) -> Result<i16> {
    let mut at = Cursor::answer(answer)?;
    at.skip(if throttled { 4 + 4 } else { 4 })?;
    at.string().context("a topic is named")?;
    at.i16()
}

fn refused(error: i16, what: &str) -> Result<()> {
    ensure!(error == 0, "a {what} was refused with error {error}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_as_large_as_asked_and_its_head_says_so() {
        let batch = Batch::new(1024, 64 << 10);
        assert_eq!(batch.records, 63);
        assert!(batch.bytes.len() <= 64 << 10 && batch.bytes.len() > 63 << 10);
        assert_eq!(behind_last(&batch.bytes), Some(63));
        let checked = &batch.bytes[21..];
        assert_eq!(batch.bytes[17..21], crc32c::crc32c(checked).to_be_bytes());
        assert_eq!(Batch::new(100, 1).records, 1);
    }

    #[test]
    fn a_record_counts_its_own_bytes() {
        // Length 8 (zigzag 16), attributes, timestamp, offset 1, no key, value of 2, no headers.
        assert_eq!(record(1, b"ab"), [16, 0, 0, 2, 1, 4, b'a', b'b', 0]);
    }

    #[test]
    fn a_fetch_goes_on_behind_the_last_whole_batch() {
        let batch = Batch::new(100, 1000).bytes;
        let cut = [&batch[..], &batch[..100]].concat();
        let mut answer = [&CORRELATION.to_be_bytes()[..], &[0; 4 + 2 + 4], &1_i32.to_be_bytes()].concat();
        put(&mut answer, &[&string("t"), &1_i32.to_be_bytes(), &[0; 4 + 2], &99_i64.to_be_bytes()]);
        put(&mut answer, &[&[0; 16], &(-1_i32).to_be_bytes(), &[0; 4], &length(cut.len()), &cut]);
        let expected = Fetched { bytes: cut.len(), next_offset: Some(8), high_watermark: 99 };
        assert_eq!(fetched(&answer).unwrap(), expected);
    }

    #[test]
    fn a_partition_without_all_replicas_in_sync_has_no_leader_yet() {
        let answer = |in_sync: &[i32]| {
            let mut answer = [&CORRELATION.to_be_bytes()[..], &[0; 4], &1_i32.to_be_bytes()].concat();
            put(
                &mut answer,
                &[&2_i32.to_be_bytes(), &string("h"), &9_i32.to_be_bytes(), &(-1_i16).to_be_bytes()],
            );
            put(&mut answer, &[&(-1_i16).to_be_bytes(), &[0; 4], &1_i32.to_be_bytes(), &[0; 2]]);
            put(&mut answer, &[&string("t"), &[0], &1_i32.to_be_bytes(), &[0; 2], &[0; 4]]);
            put(&mut answer, &[&2_i32.to_be_bytes(), &1_i32.to_be_bytes(), &2_i32.to_be_bytes()]);
            answer.extend(length(in_sync.len()));
            in_sync.iter().for_each(|id| answer.extend(id.to_be_bytes()));
            answer
        };
        assert_eq!(leaders(&answer(&[2])).unwrap(), Some(vec!["h:9".to_owned()]));
        assert_eq!(leaders(&answer(&[])).unwrap(), None);
    }
}
