//! What the fuzz targets share: how seeds get into a corpus, a checksum that lets damage through, choices out of bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;

/// More than any input of a few kilobytes may make a decoder ask for at once.
const ALLOCATION_BYTES_MAX: usize = 64 << 20;

/// The system's allocator, which ends the process where one allocation is too large: a length was believed.
struct Bounded;

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        bound(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        bound(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        bound(size);
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

fn bound(size: usize) {
    if size > ALLOCATION_BYTES_MAX {
        panic!("{size} bytes are allocated at once");
    }
}

/// Where to write seeds instead of fuzzing: set by `cargo xtask fuzz` before the first run of a target.
const SEEDS_VARIABLE: &str = "HIGHWATER_FUZZ_SEEDS";

/// A target: `seeds` makes inputs that are well-formed, `check` is given arbitrary ones and panics where a law is broken.
#[macro_export]
macro_rules! target {
    ($seeds:expr, $check:expr) => {
        libfuzzer_sys::fuzz_target!(init: $crate::plant($seeds), |bytes: &[u8]| { $check(bytes) });
    };
}

/// Writes the seeds and ends the process, if that is what it was started for.
pub fn plant(seeds: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(folder) = std::env::var_os(SEEDS_VARIABLE) else { return };
    std::fs::create_dir_all(&folder).expect("the corpus folder can be made");
    for (number, seed) in seeds().into_iter().enumerate() {
        let file = Path::new(&folder).join(format!("seed-{number:03}"));
        std::fs::write(file, seed).expect("a seed can be written");
    }
    std::process::exit(0);
}

/// A checksum that every file with zeros in its place holds: decoders are tried behind it, where rot seldom gets.
pub fn no_checksum(_so_far: u32, _bytes: &[u8]) -> u32 {
    0
}

/// Choices taken from the input, byte by byte; zeros once it has ended.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// All choices that `bytes` hold.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// A number of two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Up to `most` bytes as they stand, their number first.
    pub fn piece(&mut self, most: usize) -> &'a [u8] {
        let length = usize::from(self.short()).min(most).min(self.bytes.len());
        let (piece, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        piece
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}

/// A batch as it stands in a log: `values` at `base_offset`.
pub fn batch(base_offset: i64, values: &[&str], crc: log_core::Crc32c) -> Vec<u8> {
    let mut builder = log_core::batch::BatchBuilder::new();
    for value in values {
        let record = log_core::batch::NewRecord {
            timestamp: log_core::Timestamp(1_700_000_000_000),
            key: Some(b"key"),
            value: Some(value.as_bytes()),
            headers: &[],
        };
        builder.push(&record).expect("seeds are short");
    }
    let spec =
        log_core::batch::BatchSpec { base_offset: log_core::Offset(base_offset), ..Default::default() };
    builder.build(&spec, compression::CODECS, crc).expect("seeds are short")
}
