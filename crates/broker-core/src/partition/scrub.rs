//! Checking the own log: the hash chain in idle moments, and a re-reading of everything below the high watermark when a
//! follower's log disagrees with it, since it may be the leader that is wrong (D4).

use std::time::Duration;

use log_core::batch::{self, Batches};
use log_core::{MonoTime, Offset};
use log_store::{Disk, Fault, ReadError, ReadLimit, ReadOutcome, ReadSlices, Slice};

use super::read::WaitingRead;
use super::{Partition, Role};
use crate::metrics::ShardGauges;
use crate::shard::Core;

/// Bytes re-read at once.
const SCRUB_BYTES: u64 = 1 << 20;
/// The pause between two pieces: at most 100 MB/s, so that clients hardly notice.
const SCRUB_PAUSE: Duration = Duration::from_millis(10);

/// A re-reading under way.
#[derive(Debug)]
pub(super) struct Scrub {
    next: Offset,
    until: Offset,
    pub(super) at: MonoTime,
}

impl<D: Disk> Partition<D> {
    pub(crate) fn hash_step(&mut self, core: &mut Core<D>, budget: u64) -> u64 {
        self.log.chain_step(&mut core.disk, budget)
    }

    /// Whether the log found something that is not worked on yet.
    pub(crate) fn has_news(&self) -> bool {
        self.log.has_events()
    }

    /// Begins to re-read everything below the high watermark. One that is under way goes on to its end: a follower that is sent the same
    /// bad batch complains again within a second, and a log of which less is read in that time would never be read whole.
    pub(super) fn begin_scrub(&mut self, core: &Core<D>) {
        if self.scrub.is_some() {
            return;
        }
        let offsets = self.log.offsets();
        self.scrub = Some(Scrub {
            next: offsets.log_start(),
            until: offsets.high_watermark(),
            at: core.now.mono.after(SCRUB_PAUSE),
        });
    }

    pub(super) fn scrub_step(&mut self, core: &mut Core<D>) {
        let log_start = self.log.offsets().log_start();
        let Some(scrub) = self.scrub.as_mut().filter(|scrub| scrub.at <= core.now.mono) else { return };
        scrub.next = scrub.next.max(log_start);
        scrub.at = core.now.mono.after(SCRUB_PAUSE);
        if scrub.next >= scrub.until {
            self.scrub = None;
            return tracing::info!(partition = ?self.id, "the log holds: no damage below the high watermark");
        }
        let limit = ReadLimit { max_bytes: SCRUB_BYTES, end: scrub.until, at_least_one: true };
        match self.log.read(&mut core.disk, scrub.next, limit) {
            Ok(ReadOutcome::Ready(read)) => self.take_scrubbed(core, Ok(read)),
            Ok(ReadOutcome::Pending(ticket)) => {
                scrub.at = MonoTime(u64::MAX);
                self.reads.insert(ticket.sequence, WaitingRead::Scrub);
            }
            Err(error) => self.take_scrubbed(core, Err(error)),
        }
    }

    /// Damage that the log finds on its own comes as its event; what it took from the page cache is looked up on the disk.
    pub(super) fn take_scrubbed(&mut self, core: &mut Core<D>, read: Result<ReadSlices<D::File>, ReadError>) {
        let Some(scrub) = self.scrub.as_mut() else { return };
        let Ok(read) = read else {
            self.scrub = None;
            return;
        };
        let at = scrub.next;
        scrub.at = core.now.mono.after(SCRUB_PAUSE);
        scrub.next = if read.bytes == 0 { scrub.until } else { read.next_offset };
        for slice in read.slices {
            let Slice::File(range) = slice else { continue };
            let mut bytes = vec![0; usize::try_from(range.len).unwrap_or(0)];
            let read = core.disk.read_around_cache(&range.file, range.position, &mut bytes);
            let damage = match read {
                Ok(len) if len == bytes.len() => first_bad(&bytes, core),
                Ok(_) => Some(Fault::BadBatch { at }),
                Err(error) => Some(Fault::Unreadable { at, error }),
            };
            if damage.is_some() {
                self.scrub = None;
                self.found = damage;
                return;
            }
        }
    }

    pub(crate) fn count(&self, gauges: &mut ShardGauges) {
        gauges.partitions += 1;
        gauges.log_bytes += self.log.size_bytes();
        match &self.role {
            Role::Leader(leader) => {
                let view = leader.machine.view();
                gauges.partitions_led += 1;
                gauges.partitions_under_replicated += u64::from(view.isr.len() < view.replicas.len());
                gauges.partitions_under_min_isr += u64::from(!view.has_min_isr());
                let offsets = self.log.offsets();
                let uncommitted = offsets.log_end().0.saturating_sub(offsets.high_watermark().0);
                gauges.records_uncommitted += uncommitted.unsigned_abs();
            }
            Role::Damaged(_) => gauges.partitions_damaged += 1,
            Role::Idle | Role::Follower(_) | Role::Closing => {}
        }
    }
}

/// The first batch that is not whole.
fn first_bad<D: Disk>(bytes: &[u8], core: &Core<D>) -> Option<Fault> {
    let mut batches = Batches::new(bytes);
    let mut next = Offset::ZERO;
    for (header, whole) in &mut batches {
        if batch::check_stored(whole, core.config.crc).is_err() {
            return Some(Fault::BadBatch { at: header.base_offset });
        }
        next = header.next_offset();
    }
    (!batches.rest().is_empty()).then_some(Fault::BadBatch { at: next })
}
