//! An allocator that takes the same few instructions for everything: those of the C library depend on its version, and on what was given back
//! before. It gives nothing out twice, which is enough for a program that does one thing.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest work takes a twentieth. Memory that is not touched costs nothing.
const BYTES: usize = 256 << 20;

/// All memory there is.
pub(crate) struct Arena {
    memory: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given out once, and what was given out is its owner's.
unsafe impl Sync for Arena {}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self { memory: UnsafeCell::new([0; BYTES]), used: AtomicUsize::new(0) }
    }
}

// SAFETY: pieces do not overlap, lie inside the memory, and begin at a multiple of their alignment.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = self.memory.get().cast::<u8>();
        // More than the piece takes, so that its beginning may be moved to a multiple.
        let taken = self.used.fetch_add(layout.size() + layout.align(), Ordering::Relaxed);
        if taken + layout.size() + layout.align() > BYTES {
            return std::ptr::null_mut();
        }
        let begin = (memory.addr() + taken).next_multiple_of(layout.align()) - memory.addr();
        // SAFETY: the check above keeps the piece inside the memory.
        unsafe { memory.add(begin) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
