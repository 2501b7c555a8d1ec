//! Producer state on disk: snapshots every 32 MiB and at every roll, so that a start reads little to rebuild it.
//!
//! ```text
//! ... snapshot ......... snapshot ................| log end
//!     before             needed   checked, applied
//! ```
//! What is applied behind a snapshot is read whole and checked: a header that rotted would have a batch forgotten, or another
//! remembered, and then one that is sent again would be appended twice, or one that was never appended acknowledged. No later
//! read of that batch would mend it.

use std::collections::BTreeSet;

use log_core::batch::{BatchHeader, check_stored};
use log_core::mutation::{Mutation, mutated};
use log_core::producer::Cut;
use log_core::segment::SegmentKind;
use log_core::{Offset, ProducerTable};

use super::PartitionLog;
use super::bound::Bound;
use super::segment::{path_of, read_derived, write_if_room};
use super::types::Fault;
use super::walk::{HOP_BYTES, RUN_BYTES, Reach, Step, Walk};
use crate::disk::Disk;
use crate::error::DiskError;

/// Bytes appended between two snapshots: what a start may have to read again beside what lies above the bound.
const SNAPSHOT_EVERY_BYTES: u64 = 32 * 1024 * 1024;

/// Bytes appended after which a snapshot is tried again for which no file descriptor was free (a guess).
const SNAPSHOT_AGAIN_BYTES: u64 = 1024 * 1024;

/// What a replay takes for true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Believed {
    /// Headers as they stand: for what no checksum of the batch covers, as the leader epoch.
    Headers,
    /// Only headers of batches that check.
    Batches,
}

/// The snapshots that exist, each named by the log end that it belongs to.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    at: BTreeSet<Offset>,
    bytes_since: u64,
}

impl Snapshots {
    pub(super) fn found(at: BTreeSet<Offset>) -> Self {
        Self { at, bytes_since: 0 }
    }

    pub(super) fn on_bytes(&mut self, bytes: u64) {
        self.bytes_since += bytes;
    }

    fn put_off(&mut self) {
        self.bytes_since = SNAPSHOT_EVERY_BYTES - SNAPSHOT_AGAIN_BYTES;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets those above the new end; gives their files. A snapshot above the end would know of batches that are
    /// gone.
    pub(super) fn cut_to(&mut self, dir: &str, end: Offset) -> Vec<String> {
        let gone = self.at.split_off(&end.plus(1));
        gone.into_iter().map(|at| path_of(dir, at, SegmentKind::Snapshot)).collect()
    }
}

impl<D: Disk> PartitionLog<D> {
    /// Writes the producer state and the active segment's indexes as they are now, if much was appended since. It only
    /// makes the next start shorter: without a file descriptor it waits.
    pub(super) fn checkpoint_if_due(&mut self, disk: &mut D) -> Result<(), DiskError> {
        if self.snapshots.bytes_since < SNAPSHOT_EVERY_BYTES {
            return Ok(());
        }
        match self.write_checkpoint(disk) {
            Err(error) if error.lacks_descriptor() => {
                self.snapshots.put_off();
                Ok(())
            }
            written => written,
        }
    }

    fn write_checkpoint(&mut self, disk: &mut D) -> Result<(), DiskError> {
        self.write_snapshot(disk)?;
        if let Some(active) = self.segments.back_mut().filter(|active| !active.indexes_partial) {
            active.write_indexes(disk, &self.dir, self.options.crc)?;
        }
        Ok(())
    }

    /// Writes the producer state at the log end; the next sync carries it.
    pub(super) fn write_snapshot(&mut self, disk: &mut D) -> Result<(), DiskError> {
        let end = self.offsets.log_end();
        let bytes = self.producers.encode(end, self.options.crc);
        let path = path_of(&self.dir, end, SegmentKind::Snapshot);
        let Some(file) = write_if_room(disk, &path, &bytes)? else { return Ok(()) };
        self.extra_dirty.push(file);
        self.dir_dirty = true;
        self.snapshots.at.insert(end);
        self.snapshots.bytes_since = 0;
        Ok(())
    }

    /// Removes the snapshots that neither a start nor a cut needs any more. A start begins at the newest one at or below the
    /// bound, a cut goes down to the high watermark; the one before is for when the newest cannot be read, since without
    /// any the whole log would have to be read.
    pub(super) fn prune_snapshots(&mut self, disk: &mut D, bound: &Bound) -> Result<(), DiskError> {
        let lowest = bound.high_watermark.min(bound.end.offset);
        let Some(&needed) = self.snapshots.at.range(..=lowest).nth_back(1) else { return Ok(()) };
        let kept = self.snapshots.at.split_off(&needed);
        for at in std::mem::replace(&mut self.snapshots.at, kept) {
            match disk.remove_file(&path_of(&self.dir, at, SegmentKind::Snapshot)) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// P3: producer state is cut with the log.
    pub(super) fn cut_producers(&mut self, disk: &mut D, end: Offset) -> Result<(), DiskError> {
        match self.producers.cut_to(mutated(Mutation::T11, end, Offset(i64::MAX))) {
            Cut::Exact => Ok(()),
            Cut::Rebuild => self.rebuild_producers(disk, end),
        }
    }

    /// Producer state of the log up to `end`: the newest good snapshot and what follows it.
    pub(super) fn rebuild_producers(&mut self, disk: &mut D, end: Offset) -> Result<(), DiskError> {
        let start = self.offsets.log_start();
        let first = self.segments.front().map_or(start, |first| first.base);
        let mut from = first;
        self.producers = ProducerTable::new();
        // One from below the first segment knows nothing of what was deleted behind it.
        for &at in self.snapshots.at.range(..=end).rev().take_while(|at| **at >= first) {
            let bytes = read_derived(disk, &path_of(&self.dir, at, SegmentKind::Snapshot))?;
            self.read_at_start.bookkeeping_bytes += bytes.len() as u64;
            if let Ok((found, producers)) = ProducerTable::decode(&bytes, self.options.crc)
                && found == at
            {
                self.producers = producers;
                from = at;
                break;
            }
        }
        let now = self.timers.now().wall;
        self.replay(disk, from, end, Believed::Batches, |log, header| log.producers.append(header, now))
    }

    /// Goes over the headers of the batches between two offsets, in order; damage on the way makes the log faulty.
    pub(super) fn replay(
        &mut self,
        disk: &mut D,
        from: Offset,
        to: Offset,
        believed: Believed,
        mut visit: impl FnMut(&mut Self, &BatchHeader),
    ) -> Result<(), DiskError> {
        let window_bytes = match believed {
            Believed::Headers => HOP_BYTES,
            Believed::Batches => RUN_BYTES,
        };
        let from = self.segments.front().map_or(from, |first| first.base.max(from));
        let mut expected = from;
        let first = self.segment_of(from).unwrap_or(0);
        for index in first..self.segments.len() {
            if expected >= to {
                break;
            }
            let file = self.file_of(disk, index)?;
            let Some(segment) = self.segments.get(index) else { break };
            let floor = segment.indexes().map_or(0, |indexes| indexes.offsets.position_for(from));
            let mut walk = Walk::new(file, u64::from(floor), segment.bytes, Reach::Medium, window_bytes);
            let outcome = loop {
                if expected >= to {
                    break Ok(());
                }
                match walk.step(disk)? {
                    Step::Batch(_, header) if header.next_offset() <= from => {}
                    Step::Batch(position, header)
                        if header.base_offset == expected
                            || expected == from && header.base_offset < from =>
                    {
                        let sound = believed == Believed::Headers
                            || self.is_sound(disk, index, &mut walk, position, &header)?;
                        if !sound {
                            break Err(());
                        }
                        expected = header.next_offset();
                        visit(self, &header);
                    }
                    Step::End => break Ok(()),
                    Step::Batch(..) | Step::Bad | Step::Cold => break Err(()),
                }
            };
            self.read_at_start.record_bytes += walk.bytes_read;
            if outcome.is_err() {
                self.fail(Fault::BadBatch { at: expected });
                break;
            }
        }
        Ok(())
    }

    /// Whether the batch that the walk stepped over last checks.
    fn is_sound(
        &mut self,
        disk: &mut D,
        index: usize,
        walk: &mut Walk<D::File>,
        position: u64,
        header: &BatchHeader,
    ) -> Result<bool, DiskError> {
        let batch = walk.batch(disk, position, header)?;
        let sound = check_stored(batch, self.options.crc).is_ok() && self.is_of_its_epoch(header);
        if let Some(segment) = self.segments.get_mut(index).filter(|_| sound) {
            segment.checked.add(position..walk.position());
        }
        Ok(sound)
    }
}
