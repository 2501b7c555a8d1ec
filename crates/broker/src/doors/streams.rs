//! The open streams of one QUIC connection, and whether it is idle: a connection without one costs a place for nothing.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// Counts the open streams of one connection.
#[derive(Debug, Default)]
pub(super) struct OpenStreams {
    open: Cell<usize>,
    opened: Notify,
    emptied: Notify,
}

/// One open stream.
#[derive(Debug)]
pub(super) struct OpenStream(Rc<OpenStreams>);

impl OpenStreams {
    pub(super) fn open(self: &Rc<Self>) -> OpenStream {
        self.open.set(self.open.get() + 1);
        self.opened.notify_one();
        OpenStream(self.clone())
    }

    /// Waits until no stream was open for so long. One task waits here.
    pub(super) async fn idle_for(&self, idle: Duration) {
        loop {
            while self.open.get() > 0 {
                self.emptied.notified().await;
            }
            if timeout(idle, self.opened.notified()).await.is_err() && self.open.get() == 0 {
                return;
            }
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
        self.0.emptied.notify_one();
    }
}
