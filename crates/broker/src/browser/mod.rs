//! What is special about pages in browsers as clients: which of them may connect, and what proves the broker to them.

mod certificate;
mod keeper;
mod origin;
mod shown;

use std::time::Duration;

pub(crate) use keeper::Keeper;
pub(crate) use origin::{Origins, Visit};
pub(crate) use shown::Shown;

/// The rules of every door by which pages come in; shared by all threads.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The pages that may connect.
    pub(crate) origins: Origins,
    /// A session without an open stream is closed after this long.
    pub(crate) idle: Duration,
}
