//! A replica's log in memory: batches of one record, a durable end, and cuts that take time and may be cut short.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use log_core::batch::Batches;
use log_core::{EpochCache, LeaderEpoch, Offset};

use super::Random;
use crate::testing::batch;
use crate::view::LogFacts;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) epoch: i32,
    pub(crate) value: u64,
    bytes: Bytes,
}

/// A cut that is running.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    To(i64),
    DropAll(i64),
}

/// The log; it outlives its process.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeLog {
    /// What of `cells` is deleted.
    pub(crate) start: i64,
    /// What of them would be after a power cut.
    pub(crate) durable_start: i64,
    /// The offset of the first cell.
    base: i64,
    cells: Vec<Cell>,
    pub(crate) high_watermark: i64,
    pub(crate) durable: i64,
    pub(crate) cut: Option<Cut>,
}

impl FakeLog {
    pub(crate) const fn end(&self) -> i64 {
        self.base + self.cells.len() as i64
    }

    pub(crate) fn cell(&self, offset: i64) -> Option<&Cell> {
        self.cells.get(usize::try_from(offset - self.base).ok()?)
    }

    pub(crate) fn epochs(&self) -> EpochCache {
        let mut cache = EpochCache::new();
        for offset in self.start..self.end() {
            let cell = self.cell(offset).expect("within the log");
            cache.assign(LeaderEpoch(cell.epoch), Offset(offset));
        }
        cache
    }

    pub(crate) fn facts(&self) -> LogFacts {
        let last = (self.start < self.end()).then(|| self.cell(self.end() - 1)).flatten();
        LogFacts {
            log_start: Offset(self.start),
            first_batch: Some(Offset(self.start)),
            durable_log_start: Offset(self.durable_start),
            high_watermark: Offset(self.high_watermark),
            appended_end: Offset(self.end()),
            durable_end: Offset(self.durable),
            last_epoch: last.map(|cell| LeaderEpoch(cell.epoch)),
            cutting: self.cut.is_some(),
        }
    }

    pub(crate) fn append(&mut self, epoch: i32, value: u64) {
        let bytes = batch(self.end(), epoch, value);
        self.cells.push(Cell { epoch, value, bytes });
    }

    /// Appends what a leader pushed; the follower has checked it.
    pub(crate) fn append_pushed(&mut self, pushed: &Bytes) {
        for (header, bytes) in Batches::new(pushed) {
            assert_eq!(header.base_offset, Offset(self.end()), "appended out of order");
            let (rest, _no_headers) = bytes.split_at(bytes.len() - 1);
            let value = u64::from_be_bytes(*rest.last_chunk().expect("a record of eight bytes"));
            let bytes = pushed.slice_ref(bytes);
            self.cells.push(Cell { epoch: header.leader_epoch.0, value, bytes });
        }
    }

    /// Batches from `from` on: at least one if there is one and `max_bytes` is not zero.
    pub(crate) fn read(&self, from: i64, max_bytes: usize) -> (Bytes, i64) {
        let (mut read, mut next) = (BytesMut::new(), from);
        while let Some(cell) = self.cell(next).filter(|_| read.len() < max_bytes) {
            read.extend_from_slice(&cell.bytes);
            next += 1;
        }
        (read.freeze(), next)
    }

    pub(crate) fn sync(&mut self) {
        self.durable = self.end();
        self.durable_start = self.start;
    }

    pub(crate) fn finish_cut(&mut self) {
        match self.cut.take() {
            Some(Cut::To(to)) => self.truncate(to),
            Some(Cut::DropAll(at)) => {
                let (start, durable_start, base) = (at, at, at);
                let empty = Self { start, durable_start, base, ..Self::default() };
                *self = Self { high_watermark: at, durable: at, ..empty };
            }
            None => {}
        }
    }

    fn truncate(&mut self, to: i64) {
        let kept = usize::try_from(to - self.base).unwrap_or(0);
        self.cells.truncate(kept);
        self.durable = self.durable.min(self.end());
        self.high_watermark = self.high_watermark.min(self.end());
    }

    /// The process dies, and perhaps the power: what was synced is there, of the rest a part; a cut is done or not.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        if self.cut.is_some() && random.percent(50) {
            self.finish_cut();
        }
        self.cut = None;
        let kept = random.between(self.durable, self.end());
        self.truncate(kept);
        self.durable = self.end();
        self.start = self.durable_start;
        self.high_watermark =
            random.between(self.start, self.high_watermark.min(self.durable).max(self.start));
    }
}
