//! One file of the simulated medium: what the page cache shows and what the platter holds, apart.
//!
//! ```text
//! write ──> cached bytes + dirty sectors ──sync──> durable bytes ──restart──> cached bytes
//!                          └──power cut: any subset of the dirty sectors, any length in between──┘
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::Dice;
use crate::disk::SECTOR_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;

/// A file's bytes in both places. What lies between the last byte of either and its length is zero and takes no memory.
#[derive(Debug, Default)]
pub(super) struct FileNode {
    cached: Vec<u8>,
    cached_len: usize,
    durable: Vec<u8>,
    durable_len: usize,
    /// Sectors that the platter lacks, with the number of the write that changed them last.
    dirty: BTreeMap<usize, u64>,
    /// The length differs from the platter's, by the write with this number.
    length_dirty: Option<u64>,
    /// The number of the write that each sector and the length on the platter are from: an older one that a slow
    /// sync carries does not undo what the kernel wrote back meanwhile.
    settled: BTreeMap<usize, u64>,
    length_settled: u64,
    writes: u64,
    /// The page cache has nothing from this byte on.
    cold_from: Option<u64>,
}

/// What a sync carries to the platter: the dirty sectors as they were when it was asked for.
#[derive(Debug)]
pub(super) struct Carried {
    sectors: Vec<(usize, u64, Vec<u8>)>,
    length: Option<(usize, u64)>,
}

impl FileNode {
    pub(super) fn len(&self) -> usize {
        self.cached_len
    }

    /// What a process sees, up to the last byte that was ever written and a sector of zeros behind it: what ends there
    /// may end with zeros that never had to be written.
    pub(super) fn cached(&mut self) -> &[u8] {
        pad(&mut self.cached, self.cached_len);
        &self.cached
    }

    /// The same of the platter.
    pub(super) fn durable(&mut self) -> &[u8] {
        pad(&mut self.durable, self.durable_len);
        &self.durable
    }

    pub(super) fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.length_dirty.is_none()
    }

    pub(super) fn write(&mut self, position: usize, bytes: &[u8]) {
        self.writes += 1;
        let end = position + bytes.len();
        if end > self.cached_len {
            self.resize(end);
        }
        if end > self.cached.len() {
            self.cached.resize(end, 0);
        }
        if let Some(place) = self.cached.get_mut(position..end) {
            place.copy_from_slice(bytes);
        }
        self.mark(position..end);
    }

    pub(super) fn resize(&mut self, len: usize) {
        self.writes += 1;
        let before = self.cached_len;
        self.cached.truncate(len);
        self.cached_len = len;
        self.length_dirty = Some(self.writes);
        if len < before {
            self.dirty.retain(|sector, _| sector * SECTOR < len);
        }
        // What a file grows by must read as zeros even where the platter still holds the bytes of a cut.
        self.mark(before.min(len)..len.min(self.durable.len()));
    }

    pub(super) fn read(&self, position: usize, into: &mut [u8]) -> usize {
        let count = self.cached_len.saturating_sub(position).min(into.len());
        copy_or_zero(&self.cached, position, into.get_mut(..count).unwrap_or(&mut []));
        count
    }

    /// Clean sectors come from the platter, dirty ones from the cache, where the next sync finds them.
    pub(super) fn read_around_cache(&self, position: usize, into: &mut [u8]) -> usize {
        let count = self.cached_len.saturating_sub(position).min(into.len());
        copy_or_zero(&self.durable, position, into.get_mut(..count).unwrap_or(&mut []));
        let last = (position + count).div_ceil(SECTOR);
        for &sector in self.dirty.range(position / SECTOR..last).map(|(sector, _)| sector) {
            let start = (sector * SECTOR).max(position);
            let end = ((sector + 1) * SECTOR).min(position + count);
            if let Some(piece) = into.get_mut(start - position..end - position) {
                copy_or_zero(&self.cached, start, piece);
            }
        }
        count
    }

    /// What a sync asked for now will carry.
    pub(super) fn carry(&self) -> Carried {
        let sectors = self.dirty.iter();
        let sectors = sectors.map(|(&sector, &write)| (sector, write, self.sector(sector)));
        Carried {
            sectors: sectors.collect(),
            length: self.length_dirty.map(|write| (self.cached_len, write)),
        }
    }

    pub(super) fn settle(&mut self, carried: Carried) {
        if let Some((length, write)) = carried.length.filter(|(_, write)| *write > self.length_settled) {
            self.length_settled = write;
            self.set_durable_len(length);
            if self.length_dirty == Some(write) {
                self.length_dirty = None;
            }
        }
        for (sector, write, bytes) in carried.sectors {
            if self.settled.get(&sector).is_some_and(|settled| *settled >= write) {
                continue;
            }
            self.settled.insert(sector, write);
            self.put_sector(sector, &bytes);
            if self.dirty.get(&sector) == Some(&write) {
                self.dirty.remove(&sector);
            }
        }
    }

    /// A failed sync: the kernel takes the pages for clean although the platter lacks them.
    pub(super) fn forget(&mut self, show_old: bool) {
        if show_old {
            self.show_platter();
        }
        self.dirty.clear();
        self.length_dirty = None;
    }

    /// The kernel writes some dirty sectors back on its own.
    pub(super) fn write_back(&mut self, dice: &mut Dice) {
        let mut carried = self.carry();
        carried.sectors.retain(|_| dice.coin());
        carried.length = carried.length.filter(|_| dice.coin());
        // What lies behind the length on the platter waits for the length.
        let length = carried.length.map_or(self.durable_len, |(length, _)| length);
        carried.sectors.retain(|(sector, _, bytes)| sector * SECTOR + bytes.len() <= length);
        self.settle(carried);
    }

    /// Power is lost: each dirty sector lives or dies on its own, and so does a changed length.
    pub(super) fn lose_power(&mut self, dice: &mut Dice) {
        if self.length_dirty.is_some() {
            let length = self.surviving_length(dice);
            self.set_durable_len(length);
        }
        let dirty: Vec<usize> = self.dirty.keys().copied().collect();
        for sector in dirty {
            if dice.coin() {
                let bytes = self.sector(sector);
                self.put_sector(sector, &bytes);
            }
        }
        self.restart();
    }

    fn surviving_length(&self, dice: &mut Dice) -> usize {
        let (old, new) = (self.durable_len, self.cached_len);
        if new <= old {
            return if dice.coin() { new } else { old };
        }
        match dice.below(3) {
            0 => old,
            1 => new,
            _ => (old + dice.below(new - old + 1)).next_multiple_of(SECTOR).min(new),
        }
    }

    /// The machine starts again: the cache shows what the platter holds.
    fn restart(&mut self) {
        self.show_platter();
        self.dirty.clear();
        self.length_dirty = None;
        self.cold_from = Some(0);
    }

    /// The cache drops its clean pages from `position` on.
    pub(super) fn evict(&mut self, position: u64) {
        if self.is_clean() {
            self.show_platter();
            self.cold_from = Some(position);
        }
    }

    /// How many bytes from `position` on are in the page cache.
    pub(super) fn cached_bytes(&self, position: u64) -> u64 {
        self.cold_from.map_or(u64::MAX, |cold| cold.saturating_sub(position))
    }

    /// A read up to `end` brings the file into the page cache if it did not have all of that.
    pub(super) fn warm(&mut self, end: u64) {
        self.cold_from = self.cold_from.filter(|&cold| end <= cold);
    }

    fn show_platter(&mut self) {
        self.cached.clone_from(&self.durable);
        self.cached_len = self.durable_len;
    }

    fn set_durable_len(&mut self, len: usize) {
        self.durable.truncate(len);
        self.durable_len = len;
    }

    /// A sector as the cache shows it.
    fn sector(&self, sector: usize) -> Vec<u8> {
        let start = sector * SECTOR;
        let mut bytes = vec![0; self.cached_len.saturating_sub(start).min(SECTOR)];
        copy_or_zero(&self.cached, start, &mut bytes);
        bytes
    }

    /// Puts a sector where the platter's file reaches; what lies behind its length is not part of it.
    fn put_sector(&mut self, sector: usize, bytes: &[u8]) {
        let start = sector * SECTOR;
        let end = (start + bytes.len()).min(self.durable_len);
        if start < end && end > self.durable.len() {
            self.durable.resize(end, 0);
        }
        if let Some(place) = self.durable.get_mut(start..end) {
            let count = place.len();
            place.copy_from_slice(bytes.get(..count).unwrap_or(&[]));
        }
    }

    /// Everything from `len` on is gone.
    pub(super) fn shorten(&mut self, len: usize) {
        self.set_durable_len(self.durable_len.min(len));
        self.cached_len = self.cached_len.min(len);
        self.restart();
    }

    /// Rot: flips bits of the platter, and of the cache where it is clean.
    pub(super) fn rot(&mut self, position: usize, mask: u8) {
        if let Some(byte) = self.durable.get_mut(position) {
            *byte ^= mask;
        }
        if !self.dirty.contains_key(&(position / SECTOR))
            && let Some(byte) = self.cached.get_mut(position)
        {
            *byte ^= mask;
        }
    }

    fn mark(&mut self, range: Range<usize>) {
        if range.start >= range.end {
            return;
        }
        for sector in range.start / SECTOR..range.end.div_ceil(SECTOR) {
            self.dirty.insert(sector, self.writes);
        }
    }
}

fn pad(bytes: &mut Vec<u8>, len: usize) {
    let padded = (bytes.len() + 1).next_multiple_of(SECTOR);
    bytes.resize(padded.min(len).max(bytes.len()), 0);
}

/// Fills `into` with what stands at `position`, and with zeros behind the last byte.
fn copy_or_zero(from: &[u8], position: usize, into: &mut [u8]) {
    let there = from.get(position..).unwrap_or(&[]);
    let (copied, zeros) = into.split_at_mut(there.len().min(into.len()));
    copied.copy_from_slice(there.get(..copied.len()).unwrap_or(&[]));
    zeros.fill(0);
}
