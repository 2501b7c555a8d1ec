//! The lock of a broker's directory, held until everything that writes there is gone.

use std::cell::Cell;
use std::rc::Rc;

use disk::DirectoryLock;

/// Holds the lock, once there is one; the last clone that is dropped lets it go.
#[derive(Clone, Default)]
pub(crate) struct Hold(Rc<Cell<Option<DirectoryLock>>>);

impl Hold {
    pub(crate) fn keep(&self, lock: DirectoryLock) {
        self.0.set(Some(lock));
    }

    /// Only the end of the process lets it go: something may write there until then.
    pub(crate) fn never_let_go(&self) {
        std::mem::forget(self.0.take());
    }
}
