//! The writer of the bound (D3) and, before it, of the leader-epoch checkpoint (D7). One slot write is in flight at
//! a time.
//!
//! ```text
//! Idle ──> Checkpoint (temporary file synced) ──> Rename (directory synced) ──> Slot (bound synced) ──> Idle
//!   └───────────────── epochs unchanged ─────────────────────────────────────────┘
//! ```
//! The checkpoint is durable before a bound that rests on it: below the bound no batch is read at a start.

use log_core::Offset;
use log_core::directory::{BOUND_FILE, LEADER_EPOCH_FILE};
use log_core::mutation::{Mutation, mutated};

use super::bound::{Bound, SLOT_BYTES, next_slot};
use super::segment::write_small;
use super::types::LogEvent;
use super::{PartitionLog, Purpose, is_unreadable};
use crate::disk::{Disk, OpenMode};
use crate::error::DiskError;

/// The bound's file, what its slots hold, and the write that is under way.
#[derive(Debug)]
pub(super) struct Keeper<F> {
    pub(super) file: F,
    pub(super) slots: [Option<Bound>; 2],
    sequence: u64,
    state: State,
    /// The checkpoint on disk says what the epochs say.
    pub(super) checkpoint_current: bool,
    /// The suspect mark is on the disk and is to go.
    clearing: bool,
}

/// What is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Checkpoint(Bound),
    Rename(Bound),
    Slot(usize, Bound),
}

impl<F> Keeper<F> {
    pub(super) fn new(file: F, slots: [Option<Bound>; 2]) -> Self {
        let sequence = slots.iter().flatten().map(|bound| bound.sequence).max().unwrap_or(0);
        Self { file, slots, sequence, state: State::Idle, checkpoint_current: true, clearing: false }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// The bound that would win at a start now.
    pub(super) fn winner(&self) -> Option<Bound> {
        super::bound::winner(self.slots)
    }
}

/// The path of the bound of the log in `dir`.
pub(super) fn bound_path(dir: &str) -> String {
    format!("{dir}/{BOUND_FILE}")
}

/// The path of the leader-epoch checkpoint of the log in `dir`.
pub(super) fn epochs_path(dir: &str) -> String {
    format!("{dir}/{LEADER_EPOCH_FILE}")
}

/// Both slots as they are on the medium.
pub(super) type Slots = [Option<Bound>; 2];

/// Opens the bound's file, making it if it is missing.
pub(super) fn open_bound<D: Disk>(disk: &mut D, dir: &str) -> Result<D::File, DiskError> {
    disk.open(&bound_path(dir), OpenMode::Create)
}

/// Reads both slots; gives the bytes read as well. A slot that the medium does not give back is as bad as one that rotted.
pub(super) fn read_slots<D: Disk>(
    disk: &mut D,
    file: &D::File,
    crc: log_core::Crc32c,
) -> Result<(Slots, u64), DiskError> {
    let (mut slots, mut bytes_read) = ([None; 2], 0);
    for (number, slot) in (0..).zip(&mut slots) {
        let mut bytes = [0; SLOT_BYTES as usize];
        match disk.read_around_cache(file, number * SLOT_BYTES, &mut bytes) {
            Err(error) if is_unreadable(&error) => {}
            read => {
                bytes_read += read? as u64;
                *slot = Bound::decode(&bytes, crc);
            }
        }
    }
    Ok((slots, bytes_read))
}

impl<D: Disk> PartitionLog<D> {
    /// The bound as it is to be written now.
    pub(super) fn present_bound(&self) -> Bound {
        let high_watermark = self.offsets.high_watermark();
        let high_watermark = mutated(Mutation::D3b, high_watermark.min(self.durable.offset), high_watermark);
        let segment = self.segments.iter().find(|segment| segment.base == self.durable.segment);
        Bound {
            end: self.durable,
            high_watermark,
            log_start: self.offsets.log_start().min(high_watermark),
            suspect: self.suspect,
            dropping: None,
            first_append: segment.map_or(log_core::Timestamp::NONE, |segment| segment.first_append),
            sequence: 0,
        }
    }

    /// The log start that a start after a power cut would find.
    #[must_use]
    pub fn durable_log_start(&self) -> Offset {
        self.keeper.winner().map_or(Offset::ZERO, |bound| bound.log_start)
    }

    /// Whether a log start that was raised waits for its bound: at first the durable end lay below it.
    pub(super) fn owes_log_start(&self) -> bool {
        let durable = self.durable_log_start();
        durable < self.offsets.log_start() && durable < self.present_bound().log_start
    }

    /// Writes the bound if it is not what the disk says already and no job has the keeper.
    pub(super) fn write_bound_if_changed(&mut self, disk: &mut D) {
        let idle =
            self.job.is_none() && self.keeper.is_idle() && self.poisoned.is_none() && self.fault.is_none();
        if !idle {
            return;
        }
        self.timers.on_bound_started();
        let present = self.present_bound();
        let bound = mutated(Mutation::S16, present, Bound { end: self.end_point(), ..present });
        if self.keeper.winner().is_some_and(|written| written.says_same(&bound)) {
            return;
        }
        match self.start_bound(disk, bound) {
            Ok(()) => {}
            Err(error) if error.lacks_descriptor() => self.timers.put_bound_off(),
            Err(error) => self.poison(error),
        }
    }

    /// Begins to write a bound: the checkpoint first, if epochs changed. Without a file descriptor nothing is begun.
    pub(super) fn start_bound(&mut self, disk: &mut D, bound: Bound) -> Result<(), DiskError> {
        self.timers.on_bound_started();
        if self.keeper.checkpoint_current {
            return self.write_slot(disk, bound);
        }
        let bytes = self.epochs.encode(self.options.crc);
        let file = write_small(disk, &format!("{}.tmp", epochs_path(&self.dir)), &bytes)?;
        self.keeper.checkpoint_current = true;
        self.keeper.state = State::Checkpoint(bound);
        let ticket = self.new_ticket(Purpose::Keeper);
        disk.submit_sync(ticket, &[file], &[]);
        Ok(())
    }

    pub(super) fn write_slot(&mut self, disk: &mut D, bound: Bound) -> Result<(), DiskError> {
        let slot = next_slot(self.keeper.slots);
        self.keeper.sequence += 1;
        let bound = Bound { sequence: self.keeper.sequence, ..bound };
        let bytes = bound.encode(self.options.crc);
        // From here on the slot may hold anything, until the sync says what it holds.
        if let Some(place) = self.keeper.slots.get_mut(slot) {
            *place = None;
        }
        disk.write_at(&self.keeper.file, slot as u64 * SLOT_BYTES, &[&bytes])?;
        self.keeper.state = State::Slot(slot, bound);
        let ticket = self.new_ticket(Purpose::Keeper);
        disk.submit_sync(ticket, std::slice::from_ref(&self.keeper.file), &[]);
        Ok(())
    }

    pub(super) fn on_keeper_synced(&mut self, disk: &mut D) -> Result<(), DiskError> {
        match self.keeper.state {
            State::Idle => Ok(()),
            State::Checkpoint(bound) => {
                let path = epochs_path(&self.dir);
                disk.rename(&format!("{path}.tmp"), &path)?;
                self.keeper.state = State::Rename(bound);
                let ticket = self.new_ticket(Purpose::Keeper);
                disk.submit_sync(ticket, &[], &[&self.dir]);
                Ok(())
            }
            State::Rename(bound) => self.write_slot(disk, bound),
            State::Slot(slot, bound) => {
                let before = self.durable_log_start();
                if let Some(place) = self.keeper.slots.get_mut(slot) {
                    *place = Some(bound);
                }
                self.keeper.state = State::Idle;
                let start = self.durable_log_start();
                if start > before {
                    self.events.push_back(LogEvent::DurableLogStart(start));
                }
                self.on_bound_written(disk, bound)
            }
        }
    }

    fn on_bound_written(&mut self, disk: &mut D, bound: Bound) -> Result<(), DiskError> {
        if self.keeper.clearing && bound.suspect.is_none() {
            self.keeper.clearing = false;
            self.events.push_back(LogEvent::SuspicionCleared);
        }
        if self.job.is_some() {
            return self.run_job(disk);
        }
        self.delete_below(disk, &bound)?;
        self.prune_snapshots(disk, &bound)?;
        if self.timers.bound_due(u64::MAX) || bound.log_start < self.present_bound().log_start {
            self.write_bound_if_changed(disk);
        }
        Ok(())
    }

    /// The suspect mark may go: the record that ends the suspicion is applied (C5). When it is gone from the disk,
    /// `SuspicionCleared` says so.
    pub fn clear_suspicion(&mut self, disk: &mut D) {
        if self.suspect.take().is_some() {
            self.keeper.clearing = true;
            self.timers.want_bound();
            self.write_bound_if_changed(disk);
        }
    }
}
