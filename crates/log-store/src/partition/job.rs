//! Work of several syncs one after the other: cut, drop, recovery, close (D4, D8, Start).
//!
//! | job | steps |
//! |---|---|
//! | cut to X | bound in both slots, remove later segments, truncate, finish |
//! | clean end at a start | truncate, bound, finish |
//! | torn tail at a start | as a cut, bound, finish |
//! | suspect at a start | mark in both slots, quarantine, as a cut, bound, finish |
//! | salvage | quarantine, sync, as a cut, bound, finish |
//! | drop all | lowest bound in both slots, remove all segments, new bound in both slots, finish |
//! | close | seal, bound, finish |

use std::collections::VecDeque;

use log_core::Offset;
use log_core::directory::QUARANTINE_DIR;
use log_core::mutation::{Mutation, mutated};
use log_core::segment::SegmentFile;

use super::bound::Bound;
use super::recover::PIECE_BYTES;
use super::sync::Capture;
use super::types::{Fault, LogEvent};
use super::{PartitionLog, Purpose, is_unreadable};
use crate::disk::{Disk, OpenMode};
use crate::error::DiskError;

/// Bytes copied at once into the quarantine.
const COPY_BYTES: usize = 256 * 1024;

/// The steps left and what they are for.
#[derive(Debug)]
pub(super) struct Job {
    steps: VecDeque<Step>,
    end: JobEnd,
}

/// What a job was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    Cut,
    Recovered,
    Dropped,
    Closed,
}

/// One step: at most one submitted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Write this bound to one slot.
    Bound(Bound),
    /// Write the bound as it is then to one slot.
    PresentBound,
    /// Read the producer state at the log end, where no file descriptor was free before.
    Producers,
    /// Copy these parts of files into the quarantine.
    Quarantine(Vec<CopyPart>),
    /// Remove these files of the log.
    Remove(Vec<String>),
    /// Remove all files of segments.
    RemoveAll,
    /// Truncate the active segment to its batches.
    Truncate,
    /// Make all that changed durable.
    SyncDirty,
    /// Write what a clean start reads instead of scanning.
    Seal,
}

/// A part of a segment that is about to be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyPart {
    pub(super) base: Offset,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Job {
    pub(super) fn new(end: JobEnd, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), end }
    }

    /// The same after another step.
    pub(super) fn after(mut self, step: Step) -> Self {
        self.steps.push_front(step);
        self
    }

    pub(super) fn is_cut(&self) -> bool {
        matches!(self.end, JobEnd::Cut | JobEnd::Dropped)
    }
}

impl<D: Disk> PartitionLog<D> {
    pub(super) fn start_job(&mut self, disk: &mut D, job: Job) {
        self.job = Some(job);
        if let Err(error) = self.run_job(disk) {
            self.poison(error);
        }
    }

    /// Runs steps until one waits. Called when the job begins and whenever something it may wait for completed.
    ///
    /// It waits for a sync of appends that is under way: what that one carries is not dirty any more, so that a sync of the
    /// job, completing first, would vouch for bytes that nobody has synced (D1).
    pub(super) fn run_job(&mut self, disk: &mut D) -> Result<(), DiskError> {
        while self.keeper.is_idle()
            && !self.sync_running
            && let Some(job) = &mut self.job
        {
            let Some(step) = job.steps.pop_front() else {
                let end = job.end;
                self.finish_job(disk, end);
                return Ok(());
            };
            let files_before = self.extra_dirty.len();
            let waits = match self.run_step(disk, &step) {
                Err(error) if error.lacks_descriptor() => {
                    // Later it does all of it again; it keeps no file open until then.
                    self.extra_dirty.truncate(files_before);
                    self.put_off(step)
                }
                waits => waits?,
            };
            if waits {
                return Ok(());
            }
        }
        Ok(())
    }

    fn put_off(&mut self, step: Step) -> bool {
        if let Some(job) = &mut self.job {
            job.steps.push_front(step);
            self.timers.put_job_off();
        }
        true
    }

    /// Runs one step; whether it waits for a completion.
    fn run_step(&mut self, disk: &mut D, step: &Step) -> Result<bool, DiskError> {
        match step {
            // The checkpoint on disk knows all epochs below a lower bound, and more.
            Step::Bound(bound) => self.write_slot(disk, *bound)?,
            Step::PresentBound => self.start_bound(disk, self.present_bound())?,
            Step::Producers => {
                self.rebuild_producers(disk, self.offsets.log_end())?;
                return Ok(false);
            }
            Step::Quarantine(parts) => match self.copy_to_quarantine(disk, parts) {
                // Nothing rests on a copy that is not whole, and nothing is cut without one.
                Err(error) if error.is_full() => {
                    self.drop_copies(disk, parts);
                    self.job = None;
                    self.fail(Fault::NoRoom { at: self.offsets.log_end() });
                }
                copied => copied?,
            },
            Step::Remove(paths) => {
                self.remove_files(disk, paths)?;
                self.submit_job_sync(disk, None);
            }
            Step::RemoveAll => {
                let paths = self.segment_files(disk)?;
                self.remove_files(disk, &paths)?;
                self.submit_job_sync(disk, None);
            }
            Step::Truncate => {
                self.truncate_active(disk)?;
                self.submit_job_sync(disk, Some(self.capture()));
                return Ok(mutated(Mutation::T10, true, false));
            }
            Step::SyncDirty => self.submit_job_sync(disk, Some(self.capture())),
            Step::Seal => {
                self.seal(disk)?;
                self.submit_job_sync(disk, Some(self.capture()));
            }
        }
        Ok(true)
    }

    fn submit_job_sync(&mut self, disk: &mut D, capture: Option<Capture>) {
        self.submit_dirty(disk, Purpose::Job(capture));
    }

    pub(super) fn on_job_synced(&mut self, disk: &mut D, capture: Option<Capture>) -> Result<(), DiskError> {
        if let Some(capture) = capture {
            self.raise_durable(capture);
        }
        self.run_job(disk)
    }

    fn finish_job(&mut self, disk: &mut D, end: JobEnd) {
        self.job = None;
        let at = self.offsets.log_end();
        let event = match end {
            JobEnd::Cut => LogEvent::CutFinished { at },
            JobEnd::Recovered => {
                self.delete_retired(disk);
                LogEvent::Recovered { end: at }
            }
            JobEnd::Dropped => {
                self.keeper.checkpoint_current = false;
                LogEvent::Dropped { start_at: at }
            }
            JobEnd::Closed => {
                self.closed = true;
                LogEvent::Closed
            }
        };
        self.events.push_back(event);
        self.begin_sync(disk);
        if self.timers.bound_due(u64::MAX) && !self.closed {
            self.write_bound_if_changed(disk);
        }
        if std::mem::take(&mut self.close_wanted) {
            self.begin_close(disk);
        }
    }

    /// Removes what a start found below the log start, which the bound that is durable now says.
    fn delete_retired(&mut self, disk: &mut D) {
        for base in std::mem::take(&mut self.retired) {
            if let Err(error) = self.unlink(disk, base) {
                return self.poison(error);
            }
        }
    }

    /// Cuts the active segment's file to its batches: the file system zeroes what follows if it grows again. Also where the
    /// file has that length already, as far as the cache knows: the sync that was to carry it may have failed.
    pub(super) fn truncate_active(&mut self, disk: &mut D) -> Result<(), DiskError> {
        let Some(active) = self.segments.back_mut() else { return Ok(()) };
        let file = active.file(disk, &self.dir)?;
        let kept = mutated(Mutation::S18, active.bytes, active.allocated);
        disk.truncate(&file, kept)?;
        active.allocated = kept;
        active.dirty = true;
        Ok(())
    }

    fn remove_files(&mut self, disk: &mut D, paths: &[String]) -> Result<(), DiskError> {
        for path in paths {
            match disk.remove_file(path) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => self.dir_dirty = true,
            }
        }
        Ok(())
    }

    /// All files of segments, the newest first: a power cut in between leaves no gap.
    fn segment_files(&self, disk: &mut D) -> Result<Vec<String>, DiskError> {
        let mut files: Vec<_> =
            disk.list(&self.dir)?.iter().filter_map(|entry| SegmentFile::parse(&entry.name).ok()).collect();
        files.sort_by_key(|file| std::cmp::Reverse(*file));
        Ok(files.into_iter().map(|file| format!("{}/{file}", self.dir)).collect())
    }

    fn drop_copies(&self, disk: &mut D, parts: &[CopyPart]) {
        for part in parts {
            // What cannot be removed is written over by the next copy.
            let _ = disk.remove_file(&self.copy_path(part));
        }
    }

    fn copy_path(&self, part: &CopyPart) -> String {
        format!("{}/{QUARANTINE_DIR}/{:020}-from-{}", self.dir, part.base.0, part.from)
    }

    fn copy_to_quarantine(&mut self, disk: &mut D, parts: &[CopyPart]) -> Result<(), DiskError> {
        let quarantine = format!("{}/{QUARANTINE_DIR}", self.dir);
        disk.create_dir(&quarantine)?;
        let mut copies = Vec::new();
        for part in parts {
            let from = super::segment::path_of(&self.dir, part.base, log_core::segment::SegmentKind::Log);
            let from = disk.open(&from, OpenMode::Read)?;
            let to = disk.open(&self.copy_path(part), OpenMode::Create)?;
            copy(disk, &from, &to, part)?;
            copies.push(to);
        }
        let ticket = self.new_ticket(Purpose::Job(None));
        disk.submit_sync(ticket, &copies, &[&quarantine, &self.dir]);
        Ok(())
    }
}

fn copy<D: Disk>(disk: &mut D, from: &D::File, to: &D::File, part: &CopyPart) -> Result<(), DiskError> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut position = part.from;
    while position < part.to {
        let left = usize::try_from(part.to - position).unwrap_or(usize::MAX);
        let piece = buffer.get_mut(..left.min(COPY_BYTES)).unwrap_or(&mut []);
        let count = match disk.read_around_cache(from, position, piece) {
            Err(error) if is_unreadable(&error) => {
                copy_pieces(disk, from, to, part, position, piece)?;
                piece.len()
            }
            read => {
                let count = read?;
                let read = piece.get(..count).unwrap_or(&[]);
                disk.write_at(to, position - part.from, &[read])?;
                count
            }
        };
        if count == 0 {
            break;
        }
        position += count as u64;
    }
    Ok(())
}

/// What the medium gives back, piece by piece; zeros stand for the rest.
fn copy_pieces<D: Disk>(
    disk: &mut D,
    from: &D::File,
    to: &D::File,
    part: &CopyPart,
    mut position: u64,
    buffer: &mut [u8],
) -> Result<(), DiskError> {
    for piece in buffer.chunks_mut(PIECE_BYTES) {
        match disk.read_around_cache(from, position, piece) {
            Err(error) if is_unreadable(&error) => {}
            read => {
                let read = piece.get(..read?).unwrap_or(&[]);
                disk.write_at(to, position - part.from, &[read])?;
            }
        }
        position += piece.len() as u64;
    }
    Ok(())
}
