//! Ctrl-C and the other signals that end a program, for whichever cluster runs: a process has one handler, and `ci` runs one
//! cluster after the other.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::Event;

/// The exit code of a program that a signal ended.
const INTERRUPTED: i32 = 130;

/// To whom a signal is told; none before the first cluster.
static LISTENER: Mutex<Option<Sender<Event>>> = Mutex::new(None);

/// From now on signals are told to `listener` and no longer to the one before.
pub(super) fn tell(listener: Sender<Event>) -> Result<()> {
    let before = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).replace(listener);
    if before.is_some() {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        let listener = LISTENER.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Between clusters nobody listens: then it ends the program, as it would without a handler.
        if listener.is_none_or(|listener| listener.send(Event::Interrupted).is_err()) {
            std::process::exit(INTERRUPTED);
        }
    })
    .context("signals cannot be handled")
}
