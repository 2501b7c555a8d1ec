//! Reading a replica's log from outside: batches in the files of its directory, on the platter or as a process sees them.

use log_core::TopicPartition;
use log_core::batch::BatchHeader;
use log_core::directory::partition_dir;
use log_store::MemoryDisk;

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// What a power cut could not take.
    Durable,
    /// What a process sees.
    Cached,
}

/// Shows the batches from the one that holds `from` on, as long as `visit` wants more; gives the offset after the last
/// one that stands there without a gap, `from` if there is none.
pub(super) fn visit(
    disk: &MemoryDisk,
    key: TopicPartition,
    side: Side,
    from: i64,
    mut visit: impl FnMut(&BatchHeader, &[u8]) -> bool,
) -> i64 {
    let dir = partition_dir(&key);
    let mut reach = Reach { next: None, from, wants_more: true };
    for base in disk.numbers(&dir, ".log", from, side == Side::Durable) {
        if reach.next.is_some_and(|next| next != base) || !reach.wants_more {
            break;
        }
        let path = format!("{dir}/{base:020}.log");
        let look = |bytes: &[u8]| reach.through(base, bytes, &mut visit);
        match side {
            Side::Durable => disk.with_durable(&path, look),
            Side::Cached => disk.with_cached(&path, look),
        };
    }
    reach.next.unwrap_or(from).max(from)
}

/// A batch on a platter: where it begins and ends in its file, and the offset after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) next_offset: i64,
}

/// The last segment's file on a platter, and the batches in it.
pub(crate) fn last_segment(disk: &MemoryDisk, key: TopicPartition) -> Option<(String, Vec<Placed>)> {
    let dir = partition_dir(&key);
    let base = disk.numbers(&dir, ".log", i64::MAX, true).into_iter().last()?;
    let path = format!("{dir}/{base:020}.log");
    let mut placed = Vec::new();
    disk.with_durable(&path, |bytes| {
        let (mut position, mut next) = (0, base);
        while let Some(rest) = bytes.get(position..)
            && let Ok(header) = BatchHeader::parse(rest)
            && header.base_offset.0 == next
            && rest.len() >= header.batch_bytes
        {
            let from = position;
            position += header.batch_bytes;
            next = header.next_offset().0;
            placed.push(Placed { from: from as u64, to: position as u64, next_offset: next });
        }
    })?;
    Some((path, placed))
}

/// How far a visit came.
struct Reach {
    next: Option<i64>,
    from: i64,
    wants_more: bool,
}

impl Reach {
    fn through(&mut self, base: i64, bytes: &[u8], visit: &mut impl FnMut(&BatchHeader, &[u8]) -> bool) {
        let mut next = base;
        if base > self.from && self.next.is_none() {
            // The log begins above.
            self.wants_more = false;
            return;
        }
        let mut position = 0;
        while let Some(rest) = bytes.get(position..)
            && self.wants_more
            && let Ok(header) = BatchHeader::parse(rest)
            && let Some(whole) = rest.get(..header.batch_bytes)
            && header.base_offset.0 == next
        {
            next = header.next_offset().0;
            position += header.batch_bytes;
            if next > self.from {
                self.wants_more = visit(&header, whole);
            }
        }
        self.next = Some(next);
    }
}
