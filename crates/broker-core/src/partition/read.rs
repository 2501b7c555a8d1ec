//! Reading for consumers: never above the high watermark (R1), whole batches, from memory, from checked file ranges, or,
//! where the bytes are cold, after the disk brought them.

use kafka_wire::{FileRange, Records, Segment};
use log_core::{LeaderEpoch, Offset};
use log_store::{Disk, ReadError, ReadLimit, ReadOutcome, ReadSlices, Slice, Ticket};
use replica_core::{ClientEpochRefusal, Leader, Push, ReadBound, StreamId};

use super::{Partition, Role};
use crate::error::PartitionError;
use crate::peer::{FetchCall, Fetched, Origin, PartitionAnswer};
use crate::shard::Core;

/// What a read under way is for.
#[derive(Debug)]
pub(super) enum WaitingRead {
    Fetch {
        origin: Origin,
        high_watermark: Offset,
    },
    Push {
        stream: StreamId,
        push: Push,
    },
    /// Records of groups being loaded.
    Groups,
    /// A piece of the log that is re-read to check it.
    Scrub,
}

impl<D: Disk> Partition<D> {
    pub(super) fn take_fetch(&mut self, core: &mut Core<D>, origin: Origin, call: FetchCall) {
        if call.offset >= self.high_watermark() {
            self.note_sought();
        }
        match self.fetch(core, call) {
            Ok(ReadOutcome::Ready(read)) => self.answer_fetch(core, origin, self.high_watermark(), read),
            Ok(ReadOutcome::Pending(ticket)) => {
                core.metrics.reads_cold += 1;
                let high_watermark = self.high_watermark();
                self.reads.insert(ticket.sequence, WaitingRead::Fetch { origin, high_watermark });
            }
            Err(PartitionError::OffsetOutOfRange) if self.doubt_if_beyond(core, origin, call) => {}
            Err(error) => core.answer(origin, PartitionAnswer::Failed(error)),
        }
    }

    fn fetch(&mut self, core: &mut Core<D>, call: FetchCall) -> Result<ReadOutcome<D::File>, PartitionError> {
        let leader = self.leading(call.current_leader_epoch)?;
        let end = match leader.read_bound(call.offset) {
            ReadBound::Upto(end) => end,
            ReadBound::Wait | ReadBound::Deleting => return Ok(ReadOutcome::Ready(nothing_at(call.offset))),
            ReadBound::OutOfRange | ReadBound::Beyond => return Err(PartitionError::OffsetOutOfRange),
        };
        if call.max_bytes == 0 && !call.at_least_one {
            return Ok(ReadOutcome::Ready(nothing_at(call.offset)));
        }
        let limit = ReadLimit { max_bytes: u64::from(call.max_bytes), end, at_least_one: call.at_least_one };
        self.log.read(&mut core.disk, call.offset, limit).map_err(read_error)
    }

    /// The leader's machine, if this replica leads and the client's epoch allows it.
    pub(super) fn leading(&self, named: LeaderEpoch) -> Result<&Leader, PartitionError> {
        let Role::Leader(leader) = &self.role else { return Err(self.not_leading()) };
        let present = leader.machine.epoch();
        let named = Some(named).filter(|named| *named != LeaderEpoch::NONE);
        leader.machine.check_client_epoch(named).map_err(|refusal| {
            let asked = named.unwrap_or(LeaderEpoch::NONE);
            match refusal {
                ClientEpochRefusal::Fenced => PartitionError::FencedLeaderEpoch { asked, present },
                ClientEpochRefusal::Unknown => PartitionError::UnknownLeaderEpoch { asked, present },
            }
        })?;
        Ok(&leader.machine)
    }

    fn answer_fetch(
        &self,
        core: &mut Core<D>,
        origin: Origin,
        high_watermark: Offset,
        read: ReadSlices<D::File>,
    ) {
        core.metrics.bytes_fetched += read.bytes;
        let fetched = Fetched {
            high_watermark,
            log_start: self.log.offsets().log_start(),
            cut_short: read.bytes > 0 && read.next_offset < high_watermark,
            records: records_of(read.slices),
        };
        core.answer(origin, PartitionAnswer::Fetched(fetched));
    }

    /// A read of cold bytes ended.
    pub(super) fn take_read(
        &mut self,
        core: &mut Core<D>,
        ticket: Ticket,
        result: Result<ReadSlices<D::File>, ReadError>,
    ) {
        match self.reads.remove(&ticket.sequence) {
            Some(WaitingRead::Fetch { origin, high_watermark }) => match result {
                Ok(read) => self.answer_fetch(core, origin, high_watermark, read),
                // Deleted meanwhile here, and perhaps not for good: the next try is told which (L11).
                Err(ReadError::OutOfRange { .. }) => {
                    core.answer(origin, PartitionAnswer::Failed(PartitionError::OffsetNotAvailable));
                }
                Err(error) => core.answer(origin, PartitionAnswer::Failed(read_error(error))),
            },
            Some(WaitingRead::Push { stream, push }) => match result {
                Ok(read) => self.send_push(core, stream, push, read),
                Err(error) => self.push_failed(core, stream, push.base_offset, &error),
            },
            Some(WaitingRead::Groups) => self.take_group_read(core, result),
            Some(WaitingRead::Scrub) => self.take_scrubbed(core, result),
            None => {}
        }
    }

    /// The role ends: whoever waits for a read is told; what is read for the role itself is dropped.
    pub(super) fn refuse_reads(&mut self, core: &mut Core<D>, error: &PartitionError) {
        for (_, read) in std::mem::take(&mut self.reads) {
            match read {
                WaitingRead::Fetch { origin, .. } => {
                    core.answer(origin, PartitionAnswer::Failed(error.clone()));
                }
                WaitingRead::Scrub => self.scrub = None,
                WaitingRead::Push { .. } | WaitingRead::Groups => {}
            }
        }
    }

    /// Tells a waiting Fetch when there is more than it saw; at once if there is already.
    pub(super) fn watch(&mut self, core: &mut Core<D>, origin: Origin, seen: Offset) {
        let waits = matches!(self.role, Role::Leader(_)) && self.high_watermark() <= seen;
        if waits {
            self.watchers.push(origin);
        } else {
            core.moved.push_back(origin);
        }
    }
}

fn nothing_at<F>(offset: Offset) -> ReadSlices<F> {
    ReadSlices { slices: Vec::new(), bytes: 0, next_offset: offset }
}

/// What was read, as pieces of an answer. A file range of 4 GiB or more is sent in several.
pub(super) fn records_of<F: Clone>(slices: Vec<Slice<F>>) -> Records<F> {
    let mut records = Records::EMPTY;
    for slice in slices {
        match slice {
            Slice::Bytes(bytes) => records.push(Segment::Bytes(bytes)),
            Slice::File(range) => {
                let (mut position, mut left) = (range.position, range.len);
                while left > 0 {
                    let len = u32::try_from(left).unwrap_or(u32::MAX);
                    records.push(Segment::File(FileRange { file: range.file.clone(), position, len }));
                    position += u64::from(len);
                    left -= u64::from(len);
                }
            }
        }
    }
    records
}

pub(super) fn read_error(error: ReadError) -> PartitionError {
    match error {
        ReadError::OutOfRange { .. } => PartitionError::OffsetOutOfRange,
        ReadError::Disk(error) => PartitionError::Storage(error),
        _ => PartitionError::Damaged,
    }
}
