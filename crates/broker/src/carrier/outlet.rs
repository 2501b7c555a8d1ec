//! What waits to be written to one client, and how the two tasks of its connection find each other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use kafka_wire::{Rope, Segment};
use tokio::sync::Notify;

/// The outgoing side of a connection, owned by its shard's thread. `F` is the disk's open file.
pub(crate) struct Outlet<F> {
    waiting: RefCell<VecDeque<Rope<F>>>,
    /// The connection has something to write, or is to end once all is written.
    pub(crate) ready: Notify,
    /// Reading is allowed again.
    pub(crate) resumed: Notify,
    paused: Cell<bool>,
    closing: Cell<bool>,
}

impl<F> Outlet<F> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: RefCell::default(),
            ready: Notify::new(),
            resumed: Notify::new(),
            paused: Cell::new(false),
            closing: Cell::new(false),
        }
    }

    pub(crate) fn push(&self, rope: Rope<F>) {
        self.waiting.borrow_mut().push_back(rope);
        self.ready.notify_one();
    }

    /// Lets go of what is waiting: it goes out, then the connection ends.
    pub(crate) fn close(&self) {
        self.closing.set(true);
        self.ready.notify_one();
        self.resumed.notify_one();
    }

    pub(crate) fn pause(&self, paused: bool) {
        self.paused.set(paused);
        if !paused {
            self.resumed.notify_one();
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// Waits while reading is paused.
    pub(crate) async fn may_read(&self) {
        while self.paused.get() && !self.closing.get() {
            self.resumed.notified().await;
        }
    }

    /// Everything that waits, as pieces in the order of sending.
    pub(crate) fn take(&self) -> VecDeque<Segment<F>> {
        self.waiting.borrow_mut().drain(..).flat_map(Rope::into_segments).collect()
    }
}
