//! What one partition has on its way: batches in order, their sequences, and which may be sent next.

use core::time::Duration;
use std::collections::VecDeque;

use bytes::Bytes;
use log_core::batch::{
    self, BatchBuilder, BatchHeader, BatchSpec, HEADER_BYTES, NewRecord, ProducerStamp, RecordHeader,
    Records, patch,
};
use log_core::{BuildError, CodecError, Compression, MonoTime, Sequence};

use super::accumulator::OpenBatch;
use super::sequence_after;
use crate::action::BatchId;
use crate::core::Environment;
use crate::error::{CallerProblem, ClientError};

/// How many batches of a producer a broker remembers of one partition.
const REMEMBERED: u64 = 5;

/// A partition's batches, oldest first.
#[derive(Debug)]
pub(super) struct Lane {
    queue: VecDeque<Batch>,
    next_sequence: Sequence,
    /// How many batches were given a sequence.
    numbered: u64,
    /// Behind the last acknowledged batch.
    acknowledged: Sequence,
    /// Law 2: the leader has acknowledged a batch under the present id, so it knows which sequence comes next.
    is_known: bool,
    /// Law 3: a sequence was given to a batch that is gone and was not appended.
    has_gap: bool,
    failures: u32,
    retry_at: MonoTime,
}

/// A batch, or a part of one that was split.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) id: BatchId,
    /// Unique in its producer.
    pub(super) part: u32,
    /// Its first record's place in the batch that it was cut from.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) charged_bytes: usize,
    pub(super) created: MonoTime,
    pub(super) last_error: Option<ClientError>,
    /// It was sent, and no answer has said that it was not appended.
    pub(super) may_be_appended: bool,
    content: Content,
    sequence: Option<Sequence>,
    /// Its place among those that were given a sequence.
    place: u64,
    in_flight: bool,
    attempts: u32,
}

/// A batch that goes out now.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) records: Bytes,
    pub(super) id: BatchId,
    pub(super) part: u32,
    pub(super) is_repeat: bool,
    /// Memory that the batch was gathered in and does not lie in.
    pub(super) left: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Content {
    Open(BatchBuilder),
    /// As sent, with the stamp that is in it.
    Sealed(Bytes, Option<ProducerStamp>),
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            next_sequence: Sequence(0),
            numbered: 0,
            acknowledged: Sequence(0),
            is_known: false,
            has_gap: false,
            failures: 0,
            retry_at: MonoTime(0),
        }
    }
}

impl Lane {
    pub(super) fn push(&mut self, batch: Batch) {
        self.queue.push_back(batch);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.queue.iter().any(|batch| !batch.in_flight)
    }

    /// No batch may be appended under a sequence it has now (law 4: time for a new id).
    pub(super) fn is_settled(&self) -> bool {
        self.queue.iter().all(|batch| !batch.in_flight && !batch.may_be_appended)
    }

    /// Sequences of an old id mean nothing under a new one.
    pub(super) fn forget_sequences(&mut self) {
        (self.next_sequence, self.acknowledged, self.has_gap) = (Sequence(0), Sequence(0), false);
        self.is_known = false;
        self.queue.iter_mut().for_each(|batch| batch.sequence = None);
    }

    /// Law 3: closes a gap, as soon as nothing can be appended under the old numbers.
    pub(super) fn resequence(&mut self) {
        if self.has_gap && self.is_settled() {
            self.has_gap = false;
            self.next_sequence = self.acknowledged;
            self.queue.iter_mut().for_each(|batch| batch.sequence = None);
        }
    }

    /// The size of the batch that may be sent now, if one may.
    pub(super) fn sendable(&self, now: MonoTime, stamped: bool, only_unsettled: bool) -> Option<usize> {
        let index = self.queue.iter().position(|batch| !batch.in_flight)?;
        if self.retry_at > now || (stamped && !self.is_known && index > 0) {
            return None;
        }
        let batch = self.queue.get(index)?;
        // Law 2: what comes later than this one is still on its way, so this one has failed.
        let overtaken = self.queue.iter().skip(index).any(|later| later.in_flight);
        let held = (only_unsettled || self.has_gap) && !batch.may_be_appended
            || batch.sequence.is_none() && self.is_too_far_ahead();
        (!overtaken && !held).then(|| batch.content.bytes())
    }

    /// Whether one more batch could make the broker forget the oldest whose outcome is not known: it may have been appended,
    /// and those behind it may have been acknowledged.
    fn is_too_far_ahead(&self) -> bool {
        let oldest = self.queue.iter().find(|batch| batch.sequence.is_some());
        oldest.is_some_and(|oldest| self.numbered - oldest.place >= REMEMBERED)
    }

    /// The batch to be sent now.
    pub(super) fn seal_next(
        &mut self,
        compression: Compression,
        environment: Environment,
        stamp: impl FnOnce(Sequence) -> Option<ProducerStamp>,
    ) -> Result<Outgoing, CallerProblem> {
        let next = self.next_sequence;
        let batch =
            self.queue.iter_mut().find(|batch| !batch.in_flight).expect("the lane has said it may send");
        let fresh = batch.sequence.is_none();
        let sequence = batch.sequence.unwrap_or(next);
        let stamp = stamp(sequence);
        let (records, left) = batch.content.seal(compression, environment, stamp)?;
        if fresh && stamp.is_some() {
            batch.sequence = Some(sequence);
            batch.place = self.numbered;
            self.numbered += 1;
            self.next_sequence = sequence_after(sequence, batch.count);
        }
        batch.in_flight = true;
        batch.attempts += 1;
        Ok(Outgoing { records, id: batch.id, part: batch.part, is_repeat: batch.attempts > 1, left })
    }

    /// Takes out the batch that was next to be sent.
    pub(super) fn take_unsent(&mut self) -> Option<Batch> {
        let index = self.queue.iter().position(|batch| !batch.in_flight)?;
        self.remove(index)
    }

    /// Takes out a batch that is done.
    pub(super) fn take(&mut self, id: BatchId, part: u32) -> Option<Batch> {
        let index = self.index(id, part)?;
        self.queue.remove(index)
    }

    /// Takes out a batch that was acknowledged.
    pub(super) fn take_acknowledged(&mut self, id: BatchId, part: u32) -> Option<Batch> {
        let batch = self.take(id, part)?;
        if let Some(sequence) = batch.sequence {
            // A repeat may be acknowledged after batches behind it.
            let end = sequence_after(sequence, batch.count);
            if is_ahead(end, self.acknowledged) {
                self.acknowledged = end;
            }
            self.is_known = true;
        }
        (self.failures, self.retry_at) = (0, MonoTime(0));
        Some(batch)
    }

    /// Takes out a batch that will not be sent again; its sequence leaves a gap.
    pub(super) fn take_failed(&mut self, id: BatchId, part: u32) -> Option<Batch> {
        let index = self.index(id, part)?;
        self.remove(index)
    }

    /// The batch has come back and is to be sent again at `retry_at`.
    pub(super) fn put_back(
        &mut self,
        id: BatchId,
        part: u32,
        retry_at: MonoTime,
        may_be_appended: bool,
        error: ClientError,
    ) {
        self.failures += 1;
        self.retry_at = self.retry_at.max(retry_at);
        if let Some(batch) = self.index(id, part).and_then(|index| self.queue.get_mut(index)) {
            batch.in_flight = false;
            batch.may_be_appended |= may_be_appended;
            batch.last_error = Some(error);
        }
    }

    /// Puts the halves of a batch in its place.
    pub(super) fn replace(&mut self, id: BatchId, part: u32, halves: [Batch; 2]) {
        let Some(index) = self.index(id, part) else { return };
        self.remove(index);
        for half in halves.into_iter().rev() {
            self.queue.insert(index, half);
        }
    }

    /// Whether this batch is the oldest one.
    pub(super) fn is_front(&self, id: BatchId, part: u32) -> bool {
        self.index(id, part) == Some(0)
    }

    pub(super) fn batch(&self, id: BatchId, part: u32) -> Option<&Batch> {
        self.queue.get(self.index(id, part)?)
    }

    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn take_expired(&mut self, now: MonoTime, delivery_timeout: Duration) -> Vec<Batch> {
        let mut expired = Vec::new();
        while let Some(index) = self
            .queue
            .iter()
            .position(|batch| !batch.in_flight && now.since(batch.created) >= delivery_timeout)
        {
            expired.extend(self.remove(index));
        }
        expired
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Batch> + '_ {
        self.queue.drain(..)
    }

    pub(super) fn due(&self, now: MonoTime, delivery_timeout: Duration) -> Option<MonoTime> {
        let waiting = self.queue.iter().filter(|batch| !batch.in_flight);
        let end = waiting.map(|batch| batch.created.after(delivery_timeout)).min()?;
        Some(if self.retry_at > now { end.min(self.retry_at) } else { end })
    }

    fn index(&self, id: BatchId, part: u32) -> Option<usize> {
        self.queue.iter().position(|batch| batch.id == id && batch.part == part)
    }

    fn remove(&mut self, index: usize) -> Option<Batch> {
        let batch = self.queue.remove(index)?;
        self.has_gap |= batch.sequence.is_some();
        Some(batch)
    }
}

impl Batch {
    pub(super) fn from_open(open: OpenBatch, part: u32) -> Self {
        let count = u32::try_from(open.builder.record_count()).unwrap_or(0);
        Self::new(open.id, part, 0, count, open.charged_bytes, open.created, open.builder)
    }

    /// The memory of its bytes, if nobody else has them.
    pub(super) fn into_buffer(self) -> Option<Vec<u8>> {
        let Content::Sealed(bytes, _) = self.content else { return None };
        bytes.try_into_mut().ok().map(Vec::from)
    }

    pub(super) const fn was_sent(&self) -> bool {
        self.attempts > 0
    }

    /// Cuts a batch that a broker found too large into two of half as many records.
    pub(super) fn halves(
        &self,
        environment: Environment,
        limit: usize,
        parts: [u32; 2],
    ) -> Option<[Self; 2]> {
        let Content::Sealed(bytes, _) = &self.content else { return None };
        if self.count < 2 {
            return None;
        }
        let header = BatchHeader::parse(bytes).ok()?;
        let mut buffer = Vec::new();
        let compressed = bytes.get(HEADER_BYTES..)?;
        let plain = batch::decompress(&header, compressed, environment.codecs, limit, &mut buffer).ok()?;
        let left = self.count / 2;
        let (mut one, mut two) = (BatchBuilder::new(), BatchBuilder::new());
        for (index, record) in Records::new(&header, plain).enumerate() {
            let record = record.ok()?;
            let headers: Vec<RecordHeader<'_>> = record.headers.collect();
            let same = NewRecord {
                timestamp: record.timestamp,
                key: record.key,
                value: record.value,
                headers: &headers,
            };
            let half = if index < left as usize { &mut one } else { &mut two };
            half.push(&same).ok()?;
        }
        let charge = self.charged_bytes / 2;
        let rest = (self.count - left, self.charged_bytes - charge);
        let [part_one, part_two] = parts;
        Some([
            Self::new(self.id, part_one, self.first, left, charge, self.created, one),
            Self::new(self.id, part_two, self.first + left, rest.0, rest.1, self.created, two),
        ])
    }

    const fn new(
        id: BatchId,
        part: u32,
        first: u32,
        count: u32,
        charged_bytes: usize,
        created: MonoTime,
        builder: BatchBuilder,
    ) -> Self {
        Self {
            id,
            part,
            first,
            count,
            charged_bytes,
            created,
            last_error: None,
            may_be_appended: false,
            content: Content::Open(builder),
            sequence: None,
            place: 0,
            in_flight: false,
            attempts: 0,
        }
    }
}

impl Content {
    fn bytes(&self) -> usize {
        match self {
            Self::Open(builder) => builder.batch_bytes(),
            Self::Sealed(bytes, _) => bytes.len(),
        }
    }

    /// The batch as bytes with this stamp, and memory that is free now. Nothing is made anew while the stamp stays the same (law 1).
    fn seal(
        &mut self,
        compression: Compression,
        environment: Environment,
        stamp: Option<ProducerStamp>,
    ) -> Result<(Bytes, Option<Vec<u8>>), CallerProblem> {
        let (sealed, left) = match self {
            Self::Sealed(bytes, have) if *have == stamp => return Ok((bytes.clone(), None)),
            Self::Sealed(bytes, _) => (restamped(bytes, stamp, environment), None),
            Self::Open(builder) => {
                let spec = BatchSpec { compression, producer: stamp, ..BatchSpec::default() };
                let built =
                    std::mem::take(builder).build_and_leave(&spec, environment.codecs, environment.crc);
                let (batch, left) = built.map_err(problem_of)?;
                (Bytes::from(batch), left)
            }
        };
        *self = Self::Sealed(sealed.clone(), stamp);
        Ok((sealed, left))
    }
}

/// Whether one sequence lies ahead of the other, on the ring that they count on: less than half of it.
const fn is_ahead(sequence: Sequence, of: Sequence) -> bool {
    const HALF: i32 = 1 << 30;
    let distance = sequence.0.wrapping_sub(of.0) & i32::MAX;
    distance > 0 && distance < HALF
}

fn restamped(bytes: &Bytes, stamp: Option<ProducerStamp>, environment: Environment) -> Bytes {
    let mut copy = bytes.to_vec();
    if let (Some(stamp), Some((header, records))) = (stamp, copy.split_first_chunk_mut::<HEADER_BYTES>()) {
        patch::set_producer(header, records, stamp, environment.crc);
    }
    copy.into()
}

fn problem_of(error: BuildError) -> CallerProblem {
    match error {
        BuildError::Codec(error) => CallerProblem::Codec(error),
        BuildError::TooLarge { bytes, max } => CallerProblem::RecordTooLarge { bytes, limit: max },
        _ => CallerProblem::Codec(CodecError::Malformed(Compression::None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_compared_on_their_ring() {
        assert!(is_ahead(Sequence(5), Sequence(4)));
        assert!(!is_ahead(Sequence(4), Sequence(4)));
        assert!(!is_ahead(Sequence(4), Sequence(5)));
        assert!(is_ahead(Sequence(2), Sequence(i32::MAX - 3)));
        assert!(!is_ahead(Sequence(i32::MAX - 3), Sequence(2)));
    }
}
