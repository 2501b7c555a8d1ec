//! A file whose unsynced part is in memory, page by page, over the descriptor that has the rest.
//!
//! ```text
//! seen     | a page that was written | the descriptor's bytes below `valid` | zeros up to `len` |
//! sync     cut the descriptor to `valid`, give it `len` bytes, write the pages; then valid = len and no pages
//! ```
//! Locks: this is compiled for tests only; no shard of a release ever runs it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard};

use super::lock;
use crate::file::read_up_to;

const PAGE: usize = 4096;

#[derive(Debug)]
pub(crate) struct UnsyncedFile {
    descriptor: fs::File,
    overlay: Mutex<Overlay>,
}

#[derive(Debug)]
struct Overlay {
    len: u64,
    /// Bytes of the descriptor from here on were cut off: they do not count, and the file has zeros there.
    valid: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
    dirty: bool,
}

impl UnsyncedFile {
    pub(crate) fn new(descriptor: fs::File) -> io::Result<Self> {
        let len = descriptor.metadata()?.len();
        let overlay = Overlay { len, valid: len, pages: BTreeMap::new(), dirty: false };
        Ok(Self { descriptor, overlay: Mutex::new(overlay) })
    }

    pub(crate) fn descriptor(&self) -> &fs::File {
        &self.descriptor
    }

    fn overlay(&self) -> MutexGuard<'_, Overlay> {
        lock(&self.overlay)
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.overlay().dirty
    }

    pub(crate) fn len(&self) -> u64 {
        self.overlay().len
    }

    pub(crate) fn read_up_to(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let overlay = self.overlay();
        let there = usize::try_from(overlay.len.saturating_sub(position)).unwrap_or(usize::MAX);
        let count = there.min(into.len());
        let Some(into) = into.get_mut(..count) else { return Ok(0) };
        overlay.read_below(&self.descriptor, position, into)?;
        for (number, page) in overlay.pages.range(position / PAGE as u64..) {
            let start = number * PAGE as u64;
            if start >= position + count as u64 {
                break;
            }
            let skip = position.saturating_sub(start) as usize;
            let at = start.saturating_sub(position) as usize;
            for (place, byte) in into.iter_mut().skip(at).zip(page.iter().skip(skip)) {
                *place = *byte;
            }
        }
        Ok(count)
    }

    pub(crate) fn write(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let mut overlay = self.overlay();
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let at = position + done as u64;
            let page = overlay.page(&self.descriptor, at / PAGE as u64)?;
            let mut count = 0;
            for (place, byte) in page.iter_mut().skip((at % PAGE as u64) as usize).zip(rest) {
                *place = *byte;
                count += 1;
            }
            done += count;
        }
        if done > 0 {
            overlay.len = overlay.len.max(position + done as u64);
            overlay.dirty = true;
        }
        Ok(())
    }

    pub(crate) fn set_len(&self, len: u64) {
        let mut overlay = self.overlay();
        if len < overlay.len {
            overlay.valid = overlay.valid.min(len);
            overlay.pages.retain(|number, _| number * (PAGE as u64) < len);
            if let Some(page) = overlay.pages.get_mut(&(len / PAGE as u64)) {
                page.iter_mut().skip((len % PAGE as u64) as usize).for_each(|byte| *byte = 0);
            }
        }
        overlay.dirty |= len != overlay.len;
        overlay.len = len;
    }

    /// Carries everything to the descriptor.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut overlay = self.overlay();
        if self.descriptor.metadata()?.len() > overlay.valid {
            self.descriptor.set_len(overlay.valid)?;
        }
        self.descriptor.set_len(overlay.len)?;
        for (number, page) in &overlay.pages {
            let start = number * PAGE as u64;
            let count = PAGE.min(usize::try_from(overlay.len.saturating_sub(start)).unwrap_or(PAGE));
            self.descriptor.write_all_at(page.get(..count).unwrap_or_default(), start)?;
        }
        overlay.valid = overlay.len;
        overlay.pages.clear();
        overlay.dirty = false;
        Ok(())
    }
}

impl Overlay {
    fn page(&mut self, descriptor: &fs::File, number: u64) -> io::Result<&mut [u8; PAGE]> {
        if !self.pages.contains_key(&number) {
            let mut page = Box::new([0; PAGE]);
            self.read_below(descriptor, number * PAGE as u64, page.as_mut_slice())?;
            self.pages.insert(number, page);
        }
        Ok(self.pages.get_mut(&number).expect("the page was inserted just now"))
    }

    /// What the descriptor has, with zeros behind its valid bytes.
    fn read_below(&self, descriptor: &fs::File, position: u64, into: &mut [u8]) -> io::Result<()> {
        let valid = usize::try_from(self.valid.saturating_sub(position)).unwrap_or(usize::MAX);
        let valid = valid.min(into.len());
        let (below, behind) = into.split_at_mut(valid);
        let count = read_up_to(descriptor, position, below)?;
        below.iter_mut().skip(count).chain(behind).for_each(|byte| *byte = 0);
        Ok(())
    }
}
