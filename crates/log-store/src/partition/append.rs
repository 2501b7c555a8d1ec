//! Appends of leaders and followers: one write per call, record bytes straight from the receive buffer.

use bytes::Bytes;
use log_core::batch::{BatchHeader, HEADER_BYTES, HeaderBytes, check_stored, patch};
use log_core::mutation::{Mutation, mutated, on};
use log_core::segment::{ActiveSegment, Incoming, SegmentKind};
use log_core::{LeaderEpoch, Now, Offset, SequenceCheck, SequenceError, Timestamp};

use super::PartitionLog;
use super::segment::{Segment, path_of};
use super::types::{Appended, LeaderBatch, Replicated};
use crate::disk::{Disk, OpenMode};
use crate::error::{AppendError, DiskError};

/// A batch as it will stand in the log: a copy of its header, and its records where they were received.
struct Placed {
    header: BatchHeader,
    head: HeaderBytes,
    records: Bytes,
}

impl<D: Disk> PartitionLog<D> {
    /// Appends batches of clients as the leader of `epoch`: gives each its offsets and the epoch. All of them or
    /// none. A batch that its producer sent before is answered with its first offsets (P1), and then none is
    /// appended.
    ///
    /// Errors: nothing was appended, unless it says [`AppendError::Poisoned`].
    pub fn append(
        &mut self,
        disk: &mut D,
        now: Now,
        epoch: LeaderEpoch,
        batches: &[LeaderBatch],
    ) -> Result<Appended, AppendError> {
        self.timers.see(now);
        self.check_appendable()?;
        let newest = self.last_epoch();
        if epoch < newest {
            return Err(AppendError::OldEpoch { given: epoch, newest });
        }
        if let Some(duplicate) = self.check_sequences(batches)? {
            return Ok(duplicate);
        }
        let placed = self.place(epoch, batches)?;
        self.append_placed(disk, now, &placed, self.options.reserve_bytes)?;
        let first = placed.first().ok_or(AppendError::Empty)?;
        let by_broker = first.header.attributes.is_log_append_time();
        Ok(Appended {
            base_offset: first.header.base_offset,
            end_offset: self.offsets.log_end(),
            is_duplicate: false,
            log_append_time: by_broker.then_some(first.header.max_timestamp),
        })
    }

    /// Appends what the leader pushed on a stream of `stream_epoch`: whole batches that continue the log. If the
    /// space ends on the way, or a later batch is bad, those before are appended and [`Replicated::rest`] says why no more.
    ///
    /// Errors: [`AppendError::NotContinuous`], [`AppendError::EpochAboveStream`], [`AppendError::Damaged`] for the
    /// first batch, [`AppendError::DiskFull`] and what the disk says: nothing was appended, unless it says
    /// [`AppendError::Poisoned`].
    pub fn append_replicated(
        &mut self,
        disk: &mut D,
        now: Now,
        stream_epoch: LeaderEpoch,
        bytes: Bytes,
    ) -> Result<Replicated, AppendError> {
        self.timers.see(now);
        self.check_appendable()?;
        let before = self.offsets.log_end();
        let (placed, mut result) = self.accept(stream_epoch, &bytes);
        // Followers may go on into half of the reserve: the leader stops first.
        let reserve = self.options.reserve_bytes / 2;
        let mut rest = placed.as_slice();
        while let Some(group) = self.take_group(&mut rest, now) {
            if let Err(error) = self.append_placed(disk, now, group, reserve) {
                result = Err(error);
                break;
            }
        }
        let end = self.offsets.log_end();
        match result {
            Err(error) if end == before || self.poisoned.is_some() => Err(error),
            rest => Ok(Replicated { end, rest: rest.err() }),
        }
    }

    fn check_appendable(&self) -> Result<(), AppendError> {
        if let Some(error) = self.poisoned {
            return Err(AppendError::Poisoned(error));
        }
        if self.fault.is_some() {
            return Err(AppendError::Faulty);
        }
        if self.is_settled() { Ok(()) } else { Err(AppendError::Cutting) }
    }

    /// P1 and P2: the first offsets of a batch that was appended before, or no objection.
    fn check_sequences(&self, batches: &[LeaderBatch]) -> Result<Option<Appended>, AppendError> {
        let forgotten = self.options.name_used_before || self.offsets.log_start() > Offset::ZERO;
        if let [batch] = batches {
            let check = self.producers.check(&batch.produced.header, forgotten).map_err(sequence_error)?;
            return Ok(match check {
                SequenceCheck::Append => None,
                SequenceCheck::Duplicate(mark) => Some(Appended {
                    base_offset: mutated(Mutation::P2, mark.base_offset(), self.offsets.log_end()),
                    end_offset: mark.last_offset.plus(1),
                    is_duplicate: true,
                    log_append_time: None,
                }),
            });
        }
        // Several batches at once: each has to follow the one before, as if that were appended.
        let headers = batches.iter().map(|batch| &batch.produced.header);
        let headers = headers.filter(|header| header.has_producer());
        let mut producers = self.producers.only(headers.clone().map(|header| header.producer_id));
        for header in headers {
            match producers.check(header, forgotten).map_err(sequence_error)? {
                SequenceCheck::Append => producers.append(header, Timestamp::NONE),
                SequenceCheck::Duplicate(_) => return Err(AppendError::DuplicateSequence),
            }
        }
        Ok(None)
    }

    fn place(&self, epoch: LeaderEpoch, batches: &[LeaderBatch]) -> Result<Vec<Placed>, AppendError> {
        let mut next = self.offsets.log_end();
        let mut placed = Vec::with_capacity(batches.len());
        for batch in batches {
            let damaged = AppendError::Damaged { at: next };
            let mut head = *batch.bytes.first_chunk::<HEADER_BYTES>().ok_or(damaged)?;
            let records = batch.bytes.slice(HEADER_BYTES..);
            patch::assign(&mut head, next, epoch);
            patch::stamp(&mut head, &records, batch.produced.stamp, self.options.crc);
            let header = BatchHeader::parse(&head).map_err(|_| damaged)?;
            if header.last_offset().0 == i64::MAX {
                return Err(AppendError::OffsetsExhausted);
            }
            next = header.next_offset();
            placed.push(Placed { header, head, records });
        }
        if placed.is_empty() { Err(AppendError::Empty) } else { Ok(placed) }
    }

    /// The batches that continue the log one after the other, and why the next one does not.
    fn accept(&self, stream_epoch: LeaderEpoch, bytes: &Bytes) -> (Vec<Placed>, Result<(), AppendError>) {
        let (mut expected, mut epoch) = (self.offsets.log_end(), self.last_epoch());
        let mut placed = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or(&[]);
            match self.accept_one(rest, expected, epoch, stream_epoch) {
                Err(error) => return (placed, Err(error)),
                Ok((header, head)) => {
                    let records = bytes.slice(at + HEADER_BYTES..at + header.batch_bytes);
                    at += header.batch_bytes;
                    (expected, epoch) = (header.next_offset(), header.leader_epoch);
                    placed.push(Placed { header, head, records });
                }
            }
        }
        let empty = placed.is_empty();
        (placed, if empty { Err(AppendError::Empty) } else { Ok(()) })
    }

    fn accept_one(
        &self,
        bytes: &[u8],
        expected: Offset,
        epoch: LeaderEpoch,
        stream: LeaderEpoch,
    ) -> Result<(BatchHeader, HeaderBytes), AppendError> {
        let damaged = AppendError::Damaged { at: expected };
        let header = check_stored(bytes, self.options.crc).map_err(|_| damaged)?;
        let head = *bytes.first_chunk::<HEADER_BYTES>().ok_or(damaged)?;
        if header.base_offset != expected {
            return Err(AppendError::NotContinuous { expected, found: header.base_offset });
        }
        if header.leader_epoch > stream && !on(Mutation::T6) {
            return Err(AppendError::EpochAboveStream { batch: header.leader_epoch, stream });
        }
        if header.leader_epoch < epoch {
            return Err(AppendError::OldEpoch { given: header.leader_epoch, newest: epoch });
        }
        Ok((header, head))
    }

    /// Takes from `rest` the batches that fit one segment together.
    fn take_group<'a>(&self, rest: &mut &'a [Placed], now: Now) -> Option<&'a [Placed]> {
        let first = rest.first()?;
        let new = ActiveSegment { base_offset: first.header.base_offset, bytes: 0, first_append: now.wall };
        let active = self.growing().map(Segment::facts);
        let mut facts = active.filter(|facts| !self.rolls_before(facts, first, now)).unwrap_or(new);
        let mut count = 0;
        for batch in rest.iter() {
            if count > 0 && self.rolls_before(&facts, batch, now) {
                break;
            }
            facts.bytes += batch.header.batch_bytes as u64;
            count += 1;
        }
        let (group, after) = rest.split_at_checked(count)?;
        *rest = after;
        Some(group)
    }

    fn rolls_before(&self, facts: &ActiveSegment, batch: &Placed, now: Now) -> bool {
        let bytes = batch.header.batch_bytes as u64;
        let incoming = Incoming { bytes, last_offset: batch.header.last_offset() };
        self.options.roll.before_append(facts, &incoming, now.wall).is_some()
    }

    /// Writes batches into one segment with one call, rolling before if need be, then tells all who follow the log.
    fn append_placed(
        &mut self,
        disk: &mut D,
        now: Now,
        batches: &[Placed],
        reserve: u64,
    ) -> Result<(), AppendError> {
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else {
            return Err(AppendError::Empty);
        };
        let bytes = batches.iter().map(|batch| batch.header.batch_bytes as u64).sum();
        let incoming = Incoming { bytes, last_offset: last.header.last_offset() };
        let active = self.growing().map(Segment::facts);
        let roll = &self.options.roll;
        if active.is_some_and(|active| roll.before_append(&active, &incoming, now.wall).is_some()) {
            self.roll(disk).map_err(|error| self.not_rolled(error))?;
        }
        self.make_room(disk, first.header.base_offset, bytes, reserve)?;
        self.write(disk, batches)?;
        for batch in batches {
            self.on_appended(batch, now);
        }
        self.checkpoint_if_due(disk).map_err(|error| self.poisoned_by(error))
    }

    /// Makes sure that there is an active segment whose file has space for `bytes` more.
    fn make_room(&mut self, disk: &mut D, base: Offset, bytes: u64, reserve: u64) -> Result<(), AppendError> {
        if self.growing().is_none() {
            self.check_reserve(disk, bytes, reserve)?;
            self.create_segment(disk, base).map_err(AppendError::Disk)?;
        }
        // A segment met at a start is appended to for the first time: its indexes go on from those on disk.
        let active = self.segments.len() - 1;
        if let Err(error) = self.load_indexes(disk, active) {
            let at = self.segments.back().map_or(base, |active| active.base);
            let damage = self.note_unreadable(at, error);
            return Err(if damage { AppendError::Faulty } else { AppendError::Disk(error) });
        }
        self.grow(disk, bytes, reserve)
    }

    /// The segment that the next batch goes to, if it need not be made first.
    pub(super) fn growing(&self) -> Option<&Segment<D::File>> {
        self.segments.back().filter(|active| !active.sealed)
    }

    pub(super) fn create_segment(&mut self, disk: &mut D, base: Offset) -> Result<(), DiskError> {
        let file = disk.open(&path_of(&self.dir, base, SegmentKind::Log), OpenMode::CreateNew)?;
        self.segments.push_back(Segment::new(base, file));
        self.dir_dirty = true;
        self.close_surplus();
        Ok(())
    }

    fn write(&mut self, disk: &mut D, batches: &[Placed]) -> Result<(), AppendError> {
        let slices: Vec<&[u8]> =
            batches.iter().flat_map(|batch| [batch.head.as_slice(), &batch.records]).collect();
        let Some(active) = self.segments.back_mut() else { return Err(AppendError::Empty) };
        let file = active.file(disk, &self.dir).map_err(AppendError::Disk)?;
        active.dirty = true;
        let position = if on(Mutation::S8) { disk.file_len(&file).unwrap_or_default() } else { active.bytes };
        disk.write_at(&file, position, &slices).map_err(|error| self.poisoned_by(error))
    }

    /// Nothing of the append is out yet, and a roll begins anew where it ended: only a descriptor has to be waited for.
    fn not_rolled(&mut self, error: DiskError) -> AppendError {
        if error.lacks_descriptor() { AppendError::Disk(error) } else { self.poisoned_by(error) }
    }

    fn poisoned_by(&mut self, error: DiskError) -> AppendError {
        if mutated(Mutation::S8, true, !error.is_full()) {
            self.poison(error);
        }
        if self.fault.is_some() { AppendError::Faulty } else { AppendError::Poisoned(error) }
    }

    fn on_appended(&mut self, batch: &Placed, now: Now) {
        let header = &batch.header;
        if self.epochs.latest() != Some(header.leader_epoch) {
            self.epochs.assign(header.leader_epoch, header.base_offset);
            self.keeper.checkpoint_current = false;
        }
        if header.has_producer() {
            self.producers.append(header, now.wall);
            self.timers.on_producer_used();
        }
        if let Some(active) = self.segments.back_mut() {
            active.on_batch(header, now.wall);
        }
        self.snapshots.on_bytes(header.batch_bytes as u64);
        self.offsets.append_to(header.next_offset());
        let (base, end) = (header.base_offset, header.next_offset());
        self.tail.push(base, end, &batch.head, batch.records.clone(), self.options.tail_bytes_max);
        self.timers.on_append(header.batch_bytes as u64);
        self.plan_roll(now);
    }
}

fn sequence_error(error: SequenceError) -> AppendError {
    match error {
        SequenceError::Epoch { .. } => AppendError::InvalidProducerEpoch,
        _ => AppendError::OutOfOrderSequence,
    }
}
