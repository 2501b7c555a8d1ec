//! What waits to be written to one client, and how the two tasks of its connection find each other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use broker_core::{CloseReason, ShardId};
use kafka_wire::{Rope, Segment};
use tokio::sync::Notify;

/// How long a client may take what is left for it once its connection is to end (a guess: seconds of a slow link).
pub(crate) const CLOSE_GRACE: Duration = Duration::from_secs(5);

/// The outgoing side of a connection, owned by its shard's thread. `F` is the disk's open file.
pub(crate) struct Outlet<F> {
    waiting: RefCell<VecDeque<Rope<F>>>,
    /// The connection has something to write, or is to end once all is written.
    pub(crate) ready: Notify,
    /// Reading is allowed again.
    pub(crate) resumed: Notify,
    paused: Cell<bool>,
    /// Told once, to whoever waits for the end.
    closed: Notify,
    closing: Cell<Option<CloseReason>>,
    /// The shard that goes on with the connection, once this one does not.
    to: Cell<Option<ShardId>>,
    /// Told once, to whoever waits for that.
    handed: Notify,
}

impl<F> Outlet<F> {
    pub(crate) fn new() -> Self {
        Self {
            waiting: RefCell::default(),
            ready: Notify::new(),
            resumed: Notify::new(),
            paused: Cell::new(false),
            closed: Notify::new(),
            closing: Cell::new(None),
            to: Cell::new(None),
            handed: Notify::new(),
        }
    }

    pub(crate) fn push(&self, rope: Rope<F>) {
        self.waiting.borrow_mut().push_back(rope);
        self.ready.notify_one();
    }

    /// Lets go of what is waiting: it goes out, then the connection ends.
    pub(crate) fn close(&self, reason: CloseReason) {
        self.closing.set(Some(reason));
        self.closed.notify_one();
        self.ready.notify_one();
        self.resumed.notify_one();
    }

    /// Has nothing more read or written here: the shard has handed the connection on.
    pub(crate) fn hand_on(&self, to: ShardId) {
        self.to.set(Some(to));
        self.handed.notify_one();
    }

    /// Whether the connection goes on elsewhere.
    pub(crate) fn is_handed_on(&self) -> bool {
        self.to.get().is_some()
    }

    /// Waits until the connection goes on elsewhere: where. One task waits here.
    pub(crate) async fn handed_on(&self) -> ShardId {
        loop {
            match self.to.get() {
                Some(to) => return to,
                None => self.handed.notified().await,
            }
        }
    }

    pub(crate) fn pause(&self, paused: bool) {
        self.paused.set(paused);
        if !paused {
            self.resumed.notify_one();
        }
    }

    /// Why the connection is to end, once it is.
    pub(crate) fn closing(&self) -> Option<CloseReason> {
        self.closing.get()
    }

    /// Waits until the connection is to end and its client has had its time to take what is left. One task waits here.
    pub(crate) async fn overdue(&self) -> CloseReason {
        let reason = loop {
            match self.closing.get() {
                Some(reason) => break reason,
                None => self.closed.notified().await,
            }
        };
        tokio::time::sleep(CLOSE_GRACE).await;
        reason
    }

    /// Whether reading is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.get()
    }

    /// Waits while reading is paused.
    pub(crate) async fn may_read(&self) {
        while self.paused.get() && self.closing.get().is_none() {
            self.resumed.notified().await;
        }
    }

    pub(crate) fn has_more(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Everything that waits, as pieces in the order of sending.
    pub(crate) fn take(&self) -> VecDeque<Segment<F>> {
        self.waiting.borrow_mut().drain(..).flat_map(Rope::into_segments).collect()
    }
}
