//! Making appends durable: what a sync will have covered is captured before it is asked for (D1, D2).

use log_core::mutation::{Mutation, mutated};

use super::bound::EndPoint;
use super::types::LogEvent;
use super::{PartitionLog, Purpose};
use crate::disk::Disk;
use crate::error::DiskError;

/// Bytes made durable after which the bound is written (D3: at least every 64 MiB). Well under half of that, so that a start
/// reads less than 128 MiB even if as much is appended while the last sync and the write of the bound take their time.
const BOUND_EVERY_BYTES: u64 = 24 * 1024 * 1024;

/// What a sync makes durable once it completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    end: EndPoint,
    cut_count: u64,
    /// What was appended since the sync before.
    bytes: u64,
}

impl<D: Disk> PartitionLog<D> {
    /// Asks for a sync if anything was appended since the last one and none is running. When it completes, more was appended
    /// meanwhile and nothing was said to the contrary since, the next one is asked for at once.
    pub fn sync(&mut self, disk: &mut D) {
        self.sync_is_awaited = true;
        self.begin_sync(disk);
    }

    /// The same where nobody waits for what was appended to be durable: a sync is asked for once some time has passed or
    /// much was appended (ADR 0014). [`PartitionLog::poll_timeout`] says when it is due, [`PartitionLog::tick`] asks for it.
    pub fn sync_lazily(&mut self, disk: &mut D) {
        self.sync_is_awaited = false;
        if !self.is_dirty() {
            return;
        }
        self.timers.want_sync();
        if self.timers.sync_due() {
            self.begin_sync(disk);
        }
    }

    pub(super) fn begin_sync(&mut self, disk: &mut D) {
        if self.may_sync() && self.is_dirty() {
            self.sync_running = true;
            let capture = self.capture();
            self.submit_dirty(disk, Purpose::Sync(capture));
        }
    }

    pub(super) fn may_sync(&self) -> bool {
        self.is_settled() && !self.sync_running && self.poisoned.is_none() && self.fault.is_none()
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.dir_dirty || !self.extra_dirty.is_empty() || self.dirty_segments() > 0
    }

    /// How many segments changed since the last sync was asked for. They are the newest ones: the last one alone changes, a new
    /// one is changed from the first, a start marks all from some place on, and a sync takes all. Asked at each request: the older ones
    /// are not looked at.
    fn dirty_segments(&self) -> usize {
        self.segments.iter().rev().take_while(|segment| segment.dirty).count()
    }

    pub(super) fn capture(&self) -> Capture {
        Capture { end: self.end_point(), cut_count: self.cut_count, bytes: self.timers.unsynced_bytes() }
    }

    /// Submits all that changed since the last sync was asked for.
    pub(super) fn submit_dirty(&mut self, disk: &mut D, purpose: Purpose<D::File>) {
        self.timers.on_sync_started();
        let mut files = std::mem::take(&mut self.extra_dirty);
        let clean = self.segments.len() - self.dirty_segments();
        for segment in self.segments.range_mut(clean..) {
            segment.dirty = false;
            files.extend(segment.open_file());
        }
        let mut dirs = std::mem::take(&mut self.extra_dirs);
        if mutated(Mutation::S2, std::mem::take(&mut self.dir_dirty), false) {
            dirs.insert(0, self.dir.clone());
        }
        let dirs: Vec<&str> = dirs.iter().map(String::as_str).collect();
        let ticket = self.new_ticket(purpose);
        disk.submit_sync(ticket, &files, &dirs);
    }

    pub(super) fn on_synced(&mut self, disk: &mut D, capture: Capture) -> Result<(), DiskError> {
        self.sync_running = false;
        self.raise_durable(capture);
        if self.job.is_some() {
            return self.run_job(disk);
        }
        if self.timers.bound_due(BOUND_EVERY_BYTES) || self.owes_log_start() {
            self.write_bound_if_changed(disk);
        }
        if self.sync_is_awaited {
            self.begin_sync(disk);
        }
        Ok(())
    }

    /// D1: a capture from before a cut raises nothing.
    pub(super) fn raise_durable(&mut self, capture: Capture) {
        if mutated(Mutation::S14, capture.cut_count != self.cut_count, false)
            || capture.end.offset < self.durable.offset
        {
            return;
        }
        if capture.end.offset == self.durable.offset {
            // The same end, perhaps at the start of a segment that holds nothing yet.
            self.durable = capture.end;
            return;
        }
        if capture.end.segment != self.durable.segment {
            // What a roll wanted may have been written before the new segment held anything durable.
            self.timers.want_bound();
        }
        self.timers.on_durable(capture.bytes);
        self.durable = capture.end;
        self.offsets.raise_durable_end(capture.end.offset);
        self.events.push_back(LogEvent::DurableEnd(capture.end.offset));
    }
}
