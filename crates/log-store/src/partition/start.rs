//! Making a log and opening one: reads the bound, the epochs and the list of files; after a clean stop nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use log_core::mutation::{Mutation, on};
use log_core::segment::{SegmentFile, SegmentKind};
use log_core::{EpochCache, LeaderEpoch, LogOffsets, Now, Offset, ProducerTable};

use super::bound::{Bound, EndPoint, SLOT_BYTES, winner};
use super::chain::ChainState;
use super::job::{Job, JobEnd, Step};
use super::keeper::{Keeper, bound_path, epochs_path, open_bound, read_slots};
use super::producers::{Believed, Snapshots};
use super::segment::{Segment, read_derived};
use super::types::{Fault, LogOptions, OpenFacts, ReadAtStart, Recovered, StartVerdict};
use super::{PartitionLog, is_unreadable, read, timers};
use crate::disk::{Disk, LogId, OpenMode, with_ancestors};
use crate::error::{DiskError, DiskFault, DiskOperation, LogError};

/// What the directory of a log holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Segments and the lengths of their files.
    pub(super) logs: BTreeMap<Offset, u64>,
    snapshots: BTreeSet<Offset>,
    /// Indexes and chains whose segment is gone, and files that were never renamed into place.
    leftovers: Vec<String>,
}

impl<D: Disk> PartitionLog<D> {
    /// Makes an empty log in `dir`. [`super::types::LogEvent::Recovered`] follows once its bound of zero and the
    /// directories on the way to it are durable; appends are taken from then on.
    ///
    /// Errors: [`LogError::Exists`] if there is one, [`LogError::Disk`] where less is free than the reserve.
    pub fn create(
        disk: &mut D,
        id: LogId,
        dir: &str,
        options: LogOptions,
        now: Now,
    ) -> Result<Self, LogError> {
        if disk.free_bytes()? < options.reserve_bytes {
            return Err(LogError::Disk(DiskError::new(DiskOperation::Open, DiskFault::Full)));
        }
        disk.create_dir(dir)?;
        let file = match disk.open(&bound_path(dir), OpenMode::CreateNew) {
            Err(error) if error.fault == DiskFault::AlreadyExists => return Err(LogError::Exists),
            other => other?,
        };
        let mut log = Self::empty(id, dir, options, now, Keeper::new(file, [None; 2]), Offset::ZERO);
        log.start_fresh(disk)?;
        Ok(log)
    }

    /// Opens the log in `dir`. After an unclean stop what lies above the bound is read and judged here; unless the
    /// verdict is *clean* or *faulty*, [`super::types::LogEvent::Recovered`] follows once that is durable: before,
    /// nothing of the log may be served, counted or reported.
    ///
    /// Errors: [`LogError::Disk`] where the disk failed; damage is no error but a verdict.
    pub fn open(
        disk: &mut D,
        id: LogId,
        dir: &str,
        options: LogOptions,
        facts: OpenFacts,
        now: Now,
    ) -> Result<(Self, Recovered), LogError> {
        let file = open_bound(disk, dir)?;
        let (slots, bytes_read) = read_slots(disk, &file, options.crc)?;
        let found = Found::list(disk, dir)?;
        let mut log = Self::empty(id, dir, options, now, Keeper::new(file, slots), Offset::ZERO);
        log.read_at_start.bookkeeping_bytes = bytes_read;
        let mut recovered = Recovered {
            verdict: StartVerdict::Verified,
            read: ReadAtStart::default(),
            bytes_recovered: 0,
            bytes_cut: 0,
        };
        recovered.verdict = match winner(slots) {
            None if found.logs.is_empty() && log.is_blank_bound(disk)? => {
                log.start_fresh(disk)?;
                StartVerdict::Verified
            }
            None => {
                log.adopt(&found, &Bound::empty_at(found.logs.keys().next().copied().unwrap_or_default()));
                log.faulty(Fault::BoundUnreadable)
            }
            Some(bound) => {
                let bound = if on(Mutation::S4) { found.believed(bound) } else { bound };
                log.adopt(&found, &bound);
                match log.start_from(disk, found, bound, facts, &mut recovered) {
                    // One bad sector costs this replica its seat, not the broker its start.
                    Err(error) if is_unreadable(&error) => {
                        let at = log.offsets.log_end();
                        log.faulty(Fault::Unreadable { at, error })
                    }
                    verdict => verdict?,
                }
            }
        };
        recovered.read = log.read_at_start;
        Ok((log, recovered))
    }

    pub(super) fn empty(
        id: LogId,
        dir: &str,
        options: LogOptions,
        now: Now,
        keeper: Keeper<D::File>,
        start: Offset,
    ) -> Self {
        let mut timers = timers::Timers::default();
        timers.see(now);
        Self {
            id,
            dir: dir.to_owned(),
            options,
            offsets: LogOffsets::empty_at(start),
            epochs: EpochCache::new(),
            producers: ProducerTable::new(),
            segments: VecDeque::new(),
            file_uses: 0,
            retired: Vec::new(),
            tail: super::TailBuffer::default(),
            durable: EndPoint::empty_at(start),
            cut_count: 0,
            keeper,
            job: None,
            waiting: BTreeMap::new(),
            next_sequence: 0,
            extra_dirty: Vec::new(),
            extra_dirs: Vec::new(),
            dir_dirty: false,
            sync_running: false,
            sync_is_awaited: false,
            suspect: None,
            fault: None,
            poisoned: None,
            closed: false,
            close_wanted: false,
            snapshots: Snapshots::default(),
            chain: ChainState::new(),
            cursors: read::Cursors::default(),
            first_batch: (start, start),
            timers,
            read_at_start: ReadAtStart::default(),
            events: VecDeque::new(),
        }
    }

    /// Writes the bound of zero and makes it, and every directory on the way to it, durable.
    fn start_fresh(&mut self, disk: &mut D) -> Result<(), DiskError> {
        let zeros = [0; 2 * SLOT_BYTES as usize];
        // A sync that failed while the log was made may have lost the length of the file, which writing over it would not bring back.
        disk.truncate(&self.keeper.file, 0)?;
        disk.write_at(&self.keeper.file, 0, &[&zeros])?;
        self.dir_dirty = true;
        self.extra_dirs = with_ancestors(&self.dir).into_iter().skip(1).map(str::to_owned).collect();
        let zero = Bound::empty_at(Offset::ZERO);
        self.start_job(disk, Job::new(JobEnd::Recovered, [Step::Bound(zero), Step::SyncDirty]));
        Ok(())
    }

    /// A crash while the log was made leaves a bound that was never written.
    fn is_blank_bound(&self, disk: &mut D) -> Result<bool, DiskError> {
        let mut bytes = [0; 2 * SLOT_BYTES as usize];
        match disk.read_around_cache(&self.keeper.file, 0, &mut bytes) {
            Err(error) if is_unreadable(&error) => Ok(false),
            read => read.map(|_| bytes.iter().all(|byte| *byte == 0)),
        }
    }

    fn faulty(&mut self, fault: Fault) -> StartVerdict {
        self.fault = Some(fault);
        StartVerdict::Faulty(fault)
    }

    /// Takes over what the bound and the list of files say.
    pub(super) fn adopt(&mut self, found: &Found, bound: &Bound) {
        let ends = found.logs.keys().skip(1).copied().chain([bound.end.offset]);
        for ((&base, &len), end) in found.logs.iter().zip(ends) {
            let mut segment = Segment::found(base, end.max(base), len);
            segment.sealed = true;
            self.segments.push_back(segment);
        }
        if let Some(last) = self.segments.back_mut() {
            last.sealed = false;
            last.first_append = bound.first_append;
        }
        self.offsets = LogOffsets::empty_at(bound.log_start);
        self.offsets.append_to(bound.end.offset);
        self.offsets.raise_durable_end(bound.end.offset);
        self.offsets.raise_high_watermark(bound.high_watermark);
        self.durable = bound.end;
        self.suspect = bound.suspect;
        self.snapshots = Snapshots::found(found.snapshots.clone());
    }

    fn start_from(
        &mut self,
        disk: &mut D,
        found: Found,
        bound: Bound,
        facts: OpenFacts,
        recovered: &mut Recovered,
    ) -> Result<StartVerdict, DiskError> {
        if !facts.clean {
            // What a killed process removed may be gone from the cache alone, and names that it made above the log may be
            // known to the cache alone.
            self.extra_dirs = with_ancestors(&self.dir).into_iter().skip(1).map(str::to_owned).collect();
            self.dir_dirty = true;
        }
        if let Some(start_at) = bound.dropping {
            let job = self.drop_memory(start_at);
            self.start_job(disk, job);
            return Ok(StartVerdict::Verified);
        }
        if self.lacks_front(&bound) {
            return Ok(self.faulty(Fault::BelowBound { at: bound.log_start }));
        }
        self.remove_leftovers(disk, found.leftovers, &bound, facts.clean)?;
        self.load_epochs(disk, &bound)?;
        let verdict = if facts.clean && (self.ends_at(&bound) || on(Mutation::D8)) {
            self.rebuild_producers(disk, bound.end.offset)?;
            self.plan_roll(self.timers.now());
            StartVerdict::Clean
        } else {
            self.recover(disk, bound, facts, recovered)?
        };
        if let Some(fault) = self.fault {
            self.events.clear();
            return Ok(StartVerdict::Faulty(fault));
        }
        Ok(match (self.suspect, verdict) {
            // The mark of an earlier start holds until the record that ends the suspicion is applied.
            (Some(at), StartVerdict::Clean | StartVerdict::Verified) => StartVerdict::Suspect { at },
            (_, verdict) => verdict,
        })
    }

    /// Whether the segment that should hold the log start is missing.
    fn lacks_front(&self, bound: &Bound) -> bool {
        let holds_batches = bound.log_start < bound.end.offset || bound.end.position > 0;
        let first = self.segments.front().map(|first| first.base);
        holds_batches && first.is_none_or(|first| first > bound.log_start)
    }

    /// Whether the files end exactly where the bound says: nothing was written after it.
    fn ends_at(&self, bound: &Bound) -> bool {
        match self.segments.back() {
            None => bound.end.position == 0,
            Some(last) => last.base == bound.end.segment && last.bytes == bound.end.position,
        }
    }

    /// Files without a segment, and segments below the log start whose removal was not durable yet. Those wait for the end of a
    /// recovery: the bound that a killed process wrote may be in the page cache alone, and a power cut brings back the one before.
    fn remove_leftovers(
        &mut self,
        disk: &mut D,
        leftovers: Vec<String>,
        bound: &Bound,
        clean: bool,
    ) -> Result<(), DiskError> {
        for path in leftovers {
            disk.remove_file(&format!("{}/{path}", self.dir))?;
            self.dir_dirty = true;
        }
        if clean {
            return self.delete_below(disk, bound);
        }
        while let Some(oldest) = self.take_below(bound) {
            self.retired.push(oldest.base);
        }
        Ok(())
    }

    /// D7: the checkpoint, or the batches where the two disagree.
    fn load_epochs(&mut self, disk: &mut D, bound: &Bound) -> Result<(), DiskError> {
        let file = read_derived(disk, &epochs_path(&self.dir))?;
        self.read_at_start.bookkeeping_bytes += file.len() as u64;
        let checkpoint = EpochCache::decode(&file, self.options.crc).ok();
        let recorded = Some(bound.end.epoch).filter(|epoch| *epoch != LeaderEpoch::NONE);
        let mut epochs = checkpoint.unwrap_or_default();
        epochs.truncate_to(bound.end.offset);
        epochs.raise_start_to(bound.log_start);
        let reaches_start = epochs.entries().first().is_none_or(|first| first.start <= bound.log_start);
        if epochs.latest() == recorded && reaches_start {
            self.epochs = epochs;
            return Ok(());
        }
        self.keeper.checkpoint_current = false;
        let from = self.segments.front().map_or(bound.log_start, |first| first.base);
        self.replay(disk, from, bound.end.offset, Believed::Headers, |log, header| {
            if log.epochs.latest().is_none_or(|latest| latest < header.leader_epoch) {
                log.epochs.assign(header.leader_epoch, header.base_offset);
            }
        })?;
        self.epochs.raise_start_to(bound.log_start);
        Ok(())
    }
}

impl Found {
    pub(super) fn list<D: Disk>(disk: &mut D, dir: &str) -> Result<Self, DiskError> {
        let mut found = Self::default();
        let mut beside = Vec::new();
        for entry in disk.list(dir)? {
            match SegmentFile::parse(&entry.name) {
                _ if entry.is_dir => {}
                Ok(SegmentFile { base_offset, kind: SegmentKind::Log }) => {
                    found.logs.insert(base_offset, entry.len);
                }
                Ok(SegmentFile { base_offset, kind: SegmentKind::Snapshot }) => {
                    found.snapshots.insert(base_offset);
                }
                Ok(file) => beside.push(file),
                Err(_) if entry.name.ends_with(".tmp") => found.leftovers.push(entry.name),
                Err(_) => {}
            }
        }
        let orphans = beside.into_iter().filter(|file| !found.logs.contains_key(&file.base_offset));
        found.leftovers.extend(orphans.map(SegmentFile::name));
        Ok(found)
    }

    /// What S4 forbids: files that end below the bound are believed, as far as they go.
    fn believed(&self, bound: Bound) -> Bound {
        let last = self.logs.range(..=bound.end.segment).next_back();
        match last {
            Some((base, len))
                if *base >= bound.log_start && (*base < bound.end.segment || *len < bound.end.position) =>
            {
                let high_watermark = bound.high_watermark.min(*base);
                Bound { end: EndPoint::empty_at(*base), high_watermark, ..bound }
            }
            _ => bound,
        }
    }
}
