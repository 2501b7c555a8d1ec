//! This broker's own copy of the metadata log: appended, fsynced, and only then applied (Q1).
//!
//! ```text
//! metadata/log/00000000000000000000.records    entries by offset; what the quorum wrote for itself is an empty record
//! metadata/00000000000000012345.image          the image as it is after that offset; entries up to there may be gone
//! metadata/image.new                           an image that is being written; removed at the start
//! ```
//!
//! An image is written under another name, fsynced, renamed, and counts once the directory is fsynced; only then entries
//! are dropped. The one before is kept, with the entries since, in case the newest cannot be read: at this start or a later
//! one, so a start drops none of them.

use std::collections::VecDeque;

use bytes::Bytes;
use log_core::MetadataOffset;
use log_core::mutation::{Mutation, mutated};
use log_store::{Completion, Disk, DiskFault, LogId, OpenMode, RecordLog, RecordLogOptions, Ticket};
use metadata_core::{ClusterImage, CommittedEntry, DecodeError};

use super::error::ControlError;

const DIR: &str = "metadata";
const LOG_DIR: &str = "metadata/log";
const NEW_IMAGE: &str = "metadata/image.new";
const LOG: LogId = LogId(1);
const IMAGES: LogId = LogId(2);

/// After how many entries an image is written (a guess: replaying as many takes some ten milliseconds).
pub(super) const SNAPSHOT_ENTRIES: i64 = 10_000;

/// The copy. See the module.
#[derive(Debug)]
pub(super) struct MetadataCopy<D: Disk> {
    log: RecordLog<D>,
    /// Entries that are in the log and not applied yet.
    unapplied: VecDeque<(MetadataOffset, Bytes)>,
    /// Where the recovered entries end: before they are durable and applied the broker knows nothing.
    recovered_end: u64,
    /// The name of the image that this began with may be in the page cache alone, and no entry follows it.
    opening: bool,
    /// The last offset that was handed out for applying.
    handed: Option<MetadataOffset>,
    writing: Option<ImageWrite>,
    images_written: u64,
    /// The last offset of the newest durable image that could be read.
    newest: Option<MetadataOffset>,
    durable_snapshot: Option<(MetadataOffset, Bytes)>,
    /// An image from the quorum, and what came behind it, while another image is being written.
    installing: Option<(MetadataOffset, Bytes)>,
    behind_install: Vec<CommittedEntry>,
    installed: Option<ClusterImage>,
}

/// An image on its way to the disk.
#[derive(Debug)]
struct ImageWrite {
    upto: MetadataOffset,
    bytes: Bytes,
    step: WriteStep,
    /// Whether it replaces this broker's image.
    install: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteStep {
    /// The bytes are being synced.
    Bytes(Ticket),
    /// The new name is being synced.
    Name(Ticket),
}

impl<D: Disk> MetadataCopy<D> {
    /// Opens the copy; gives the newest image that can be read. The entries behind it come from `next_durable` once what
    /// was recovered is durable.
    pub(super) fn open(
        disk: &mut D,
        options: RecordLogOptions,
    ) -> Result<(Self, ClusterImage), ControlError> {
        disk.create_dir(LOG_DIR)?;
        let image = newest_image(disk)?;
        let from = image.applied().map_or(0, |offset| index(offset) + 1);
        let (log, records) = RecordLog::open(disk, LOG, LOG_DIR, options, from)?;
        let unapplied = records.into_iter().map(|(index, bytes)| (offset(index), bytes));
        let copy = Self {
            recovered_end: log.end(),
            opening: log.is_cutting(),
            log,
            unapplied: unapplied.collect(),
            handed: image.applied(),
            writing: None,
            images_written: 0,
            newest: image.applied(),
            durable_snapshot: None,
            installing: None,
            behind_install: Vec::new(),
            installed: None,
        };
        Ok((copy, image))
    }

    /// Whether what was recovered is durable and handed out.
    pub(super) fn is_recovered(&self) -> bool {
        let next = self.handed.map_or(0, |offset| index(offset) + 1);
        !self.opening && self.log.durable_end() >= self.recovered_end && next >= self.recovered_end
    }

    /// Whether nothing was ever agreed as far as this copy knows.
    pub(super) fn is_empty(&self) -> bool {
        self.log.end() == 0
    }

    /// The offset after the last entry in the copy.
    pub(super) fn end(&self) -> u64 {
        self.log.end()
    }

    /// The last offset in the copy; none if it is empty.
    pub(super) fn last(&self) -> Option<MetadataOffset> {
        self.log.end().checked_sub(1).map(offset)
    }

    /// Appends an agreed entry; one that is in the copy already is passed over.
    ///
    /// # Panics
    ///
    /// If the entry does not follow the last one: the quorum shows every entry, in order.
    pub(super) fn append(&mut self, disk: &mut D, entry: CommittedEntry) -> Result<(), ControlError> {
        if self.installing.is_some() || self.writing.as_ref().is_some_and(|writing| writing.install) {
            self.behind_install.push(entry);
            return Ok(());
        }
        let (found, next) = (index(entry.offset), self.log.end());
        if found < next {
            return Ok(());
        }
        assert!(found == next, "the quorum shows entry {found} after {next} entries");
        let bytes = entry.bytes.unwrap_or_default();
        self.log.append(disk, bytes.clone())?;
        self.unapplied.push_back((entry.offset, bytes));
        Ok(())
    }

    /// Asks for what was appended to be made durable.
    pub(super) fn sync(&mut self, disk: &mut D) {
        self.log.sync(disk);
    }

    /// The next entry that is durable and not handed out yet; its bytes are empty where the quorum wrote it for itself.
    pub(super) fn next_durable(&mut self) -> Option<(MetadataOffset, Bytes)> {
        let durable_end = mutated(Mutation::Q1, self.log.durable_end(), self.log.end());
        let next = self.unapplied.pop_front_if(|(offset, _)| index(*offset) < durable_end)?;
        self.handed = Some(next.0);
        Some(next)
    }

    /// The quorum's image replaces this broker's, if it is newer. It counts once it is durable.
    pub(super) fn install(
        &mut self,
        disk: &mut D,
        upto: MetadataOffset,
        bytes: Bytes,
    ) -> Result<(), ControlError> {
        if index(upto) < self.log.end() {
            return Ok(());
        }
        self.installing = Some((upto, bytes));
        self.begin_install(disk)
    }

    /// The image that has replaced this broker's, once.
    pub(super) fn take_installed(&mut self) -> Option<ClusterImage> {
        self.installed.take()
    }

    /// Whether so many entries were applied since the last image that another should be written.
    pub(super) fn snapshot_is_due(&self, applied: MetadataOffset) -> bool {
        let since = self.newest.map_or(-1, |offset| offset.0);
        self.writing.is_none() && self.installing.is_none() && applied.0 - since >= SNAPSHOT_ENTRIES
    }

    /// Begins to write this broker's image. One for which no file descriptor is free is due again with the next entry.
    pub(super) fn snapshot(
        &mut self,
        disk: &mut D,
        upto: MetadataOffset,
        bytes: Bytes,
    ) -> Result<(), ControlError> {
        match self.begin_write(disk, upto, bytes, false) {
            Err(ControlError::Disk(error)) if error.lacks_descriptor() => Ok(()),
            begun => begun,
        }
    }

    /// An image of this broker that has become durable, once: the quorum may have it.
    pub(super) fn take_durable_snapshot(&mut self) -> Option<(MetadataOffset, Bytes)> {
        self.durable_snapshot.take()
    }

    /// Takes the end of a sync.
    pub(super) fn handle_completion(
        &mut self,
        disk: &mut D,
        completion: &Completion,
    ) -> Result<(), ControlError> {
        self.log.handle_completion(disk, completion)?;
        self.opening &= self.log.is_cutting();
        let Some(writing) = self.writing.as_mut() else { return Ok(()) };
        match writing.step {
            WriteStep::Bytes(ticket) if ticket == completion.ticket => {
                completion.result.as_ref().map_err(|error| *error)?;
                disk.rename(NEW_IMAGE, &image_path(writing.upto))?;
                self.images_written += 1;
                let ticket = Ticket { log: IMAGES, sequence: self.images_written };
                writing.step = WriteStep::Name(ticket);
                disk.submit_sync(ticket, &[], &[DIR]);
                Ok(())
            }
            WriteStep::Name(ticket) if ticket == completion.ticket => {
                completion.result.as_ref().map_err(|error| *error)?;
                self.finish_write(disk)
            }
            WriteStep::Bytes(_) | WriteStep::Name(_) => Ok(()),
        }
    }

    fn begin_write(
        &mut self,
        disk: &mut D,
        upto: MetadataOffset,
        bytes: Bytes,
        install: bool,
    ) -> Result<(), ControlError> {
        let file = disk.open(NEW_IMAGE, OpenMode::Create)?;
        disk.truncate(&file, 0)?;
        disk.write_at(&file, 0, &[&bytes])?;
        self.images_written += 1;
        let ticket = Ticket { log: IMAGES, sequence: self.images_written };
        self.writing = Some(ImageWrite { upto, bytes, step: WriteStep::Bytes(ticket), install });
        disk.submit_sync(ticket, &[file], &[DIR]);
        Ok(())
    }

    fn begin_install(&mut self, disk: &mut D) -> Result<(), ControlError> {
        if self.writing.is_some() {
            return Ok(());
        }
        match self.installing.take() {
            Some((upto, bytes)) => self.begin_write(disk, upto, bytes, true),
            None => Ok(()),
        }
    }

    fn finish_write(&mut self, disk: &mut D) -> Result<(), ControlError> {
        let Some(written) = self.writing.take() else { return Ok(()) };
        let before = self.newest.replace(written.upto);
        remove_older(disk, before.unwrap_or(written.upto))?;
        if written.install {
            let image = decode(written.upto, &written.bytes)?;
            self.unapplied.clear();
            self.log.restart_at(disk, index(written.upto) + 1)?;
            self.recovered_end = self.recovered_end.min(self.log.end());
            self.handed = Some(written.upto);
            self.installed = Some(image);
            for entry in std::mem::take(&mut self.behind_install) {
                self.append(disk, entry)?;
            }
        } else {
            // The entries since the image before stay: with it they make the newest one again.
            self.log.purge(disk, before.map_or(0, |offset| index(offset) + 1))?;
            self.durable_snapshot = Some((written.upto, written.bytes));
        }
        self.log.sync(disk);
        self.begin_install(disk)
    }
}

/// The newest image that can be read; an empty one where there is none.
fn newest_image<D: Disk>(disk: &mut D) -> Result<ClusterImage, ControlError> {
    let mut offsets = Vec::new();
    for entry in disk.list(DIR)? {
        if format!("{DIR}/{}", entry.name) == NEW_IMAGE {
            disk.remove_file(NEW_IMAGE)?;
        }
        offsets.extend(
            entry.name.strip_suffix(".image").and_then(|number| number.parse().ok()).map(MetadataOffset),
        );
    }
    offsets.sort_unstable();
    let mut failure = None;
    for upto in offsets.into_iter().rev() {
        match read_image(disk, upto) {
            Ok(image) => return Ok(image),
            Err(error) if is_damage(&error) => {
                tracing::warn!(%upto, %error, "an image cannot be read: the one before is taken");
                failure = failure.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    failure.map_or_else(|| Ok(ClusterImage::new()), Err)
}

fn read_image<D: Disk>(disk: &mut D, upto: MetadataOffset) -> Result<ClusterImage, ControlError> {
    let bytes = read_file(disk, &image_path(upto))?;
    decode(upto, &bytes)
}

fn decode(upto: MetadataOffset, bytes: &[u8]) -> Result<ClusterImage, ControlError> {
    ClusterImage::decode(bytes).map_err(|error| match error {
        DecodeError::Level { found } => ControlError::FeatureLevel { found },
        error => ControlError::Image { newest: upto, error },
    })
}

/// Whether the image itself is to blame: its bytes rotted, or the medium does not give them back.
fn is_damage(error: &ControlError) -> bool {
    match error {
        ControlError::Image { .. } => true,
        ControlError::Disk(error) => error.fault == DiskFault::Medium,
        ControlError::Records(_)
        | ControlError::FeatureLevel { .. }
        | ControlError::ForeignCluster { .. } => false,
    }
}

fn read_file<D: Disk>(disk: &mut D, path: &str) -> Result<Vec<u8>, ControlError> {
    let file = disk.open(path, OpenMode::Read)?;
    let len = disk.file_len(&file)?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    let read = disk.read_around_cache(&file, 0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

fn remove_older<D: Disk>(disk: &mut D, oldest_kept: MetadataOffset) -> Result<(), ControlError> {
    for entry in disk.list(DIR)? {
        let upto = entry.name.strip_suffix(".image").and_then(|number| number.parse::<i64>().ok());
        if upto.is_some_and(|upto| upto < oldest_kept.0) {
            disk.remove_file(&format!("{DIR}/{}", entry.name))?;
        }
    }
    Ok(())
}

fn image_path(upto: MetadataOffset) -> String {
    format!("{DIR}/{:020}.image", upto.0)
}

fn index(offset: MetadataOffset) -> u64 {
    u64::try_from(offset.0).unwrap_or_default()
}

fn offset(index: u64) -> MetadataOffset {
    MetadataOffset(i64::try_from(index).unwrap_or(i64::MAX))
}
