//! How a client's connection ended.

use std::io;

use broker_core::CloseReason;
use kafka_wire::FrameError;

/// How a client's connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The client has nothing more to say.
    #[error("closed by the client")]
    ByClient,
    /// The broker has closed it.
    #[error(transparent)]
    ByBroker(#[from] CloseReason),
    /// What the client sent is no frame that is taken here.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The carrier failed.
    #[error(transparent)]
    Carrier(#[from] io::Error),
}
