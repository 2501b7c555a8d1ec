//! What `Control` and raft's tasks tell each other. Control never waits; raft's tasks do.
//!
//! Locks: `Control` and raft's tasks run on different threads; every holder only moves values.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use log_core::{DirectoryId, MetadataOffset};
use metadata_core::QuorumEvent;
use tokio::sync::watch;

use crate::machine::Image;

/// Called from any of raft's tasks when an event waits for `Control`.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// Who leads, as this node shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) term: u64,
    pub(crate) leader: Option<DirectoryId>,
    pub(crate) is_self: bool,
}

#[derive(Default)]
struct State {
    events: VecDeque<QuorumEvent>,
    image: Option<Image>,
    leadership: Leadership,
    poisoned: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    upto: Option<MetadataOffset>,
    closed: bool,
}

/// The quorum is being stopped: what was waited for will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the quorum is being stopped")]
pub(crate) struct Closed;

/// Events on their way to `Control`, and what it has applied.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    reached: watch::Sender<Reached>,
    wake: Wake,
}

impl Mailbox {
    pub(crate) fn new(applied: Option<MetadataOffset>, wake: Wake) -> Self {
        let reached = watch::Sender::new(Reached { upto: applied, closed: false });
        Self { state: Mutex::default(), reached, wake }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics: each only moves values")
    }

    pub(crate) fn post(&self, event: QuorumEvent) {
        self.state().events.push_back(event);
        (self.wake)();
    }

    pub(crate) fn take(&self) -> Option<QuorumEvent> {
        self.state().events.pop_front()
    }

    /// Says once that this node's storage failed.
    pub(crate) fn poison(&self) {
        if !std::mem::replace(&mut self.state().poisoned, true) {
            self.post(QuorumEvent::Poisoned);
        }
    }

    /// Shows who leads, if that is news.
    pub(crate) fn show(&self, seen: Leadership) {
        if std::mem::replace(&mut self.state().leadership, seen) != seen {
            let Leadership { term, leader, is_self } = seen;
            self.post(QuorumEvent::Leader { term, leader, is_self });
        }
    }

    pub(crate) fn leadership(&self) -> Leadership {
        self.state().leadership
    }

    /// `Control` has appended, fsynced and applied everything up to and including `upto`.
    pub(crate) fn applied(&self, upto: MetadataOffset) {
        self.reached.send_if_modified(|reached| {
            let moved = Some(upto) > reached.upto;
            reached.upto = reached.upto.max(Some(upto));
            moved
        });
    }

    /// Ends all waiting.
    pub(crate) fn close(&self) {
        self.reached.send_modify(|reached| reached.closed = true);
    }

    /// Waits until `Control` has applied everything up to and including `upto`.
    pub(crate) async fn applied_up_to(&self, upto: MetadataOffset) -> Result<(), Closed> {
        let mut reached = self.reached.subscribe();
        let waited = reached.wait_for(|reached| reached.closed || reached.upto >= Some(upto)).await;
        let reached = waited.expect("the sender lives in the mailbox, which the caller holds");
        if reached.upto >= Some(upto) { Ok(()) } else { Err(Closed) }
    }

    /// Keeps an image in place of an older one.
    pub(crate) fn keep_image(&self, image: Image) {
        let mut state = self.state();
        if state.image.as_ref().is_none_or(|kept| kept.meta.last_log_id <= image.meta.last_log_id) {
            state.image = Some(image);
        }
    }

    pub(crate) fn image(&self) -> Option<Image> {
        self.state().image.clone()
    }
}
