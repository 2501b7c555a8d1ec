//! Why a WebSocket is closed, with the code and the reason that the client sees (RFC 6455, section 7.4).

use broker_core::CloseReason;
use kafka_wire::FrameError;

use crate::carrier::Ended;

/// What a client's WebSocket frames break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    /// A text message.
    #[error("text is not taken here: send binary messages with frames of the Kafka protocol")]
    Text,
    /// A frame that is not masked.
    #[error("a client must mask its frames")]
    Unmasked,
    /// A reserved bit, though no extension was agreed on.
    #[error("a reserved bit is set, but no extension was agreed on")]
    Reserved,
    /// An unknown kind of frame.
    #[error("frames of kind {0} are not known")]
    Opcode(u8),
    /// A message within a message, or a continuation of nothing.
    #[error("a message begins within another one, or goes on without having begun")]
    Fragments,
    /// A control frame that is in pieces or too long.
    #[error("a control frame is in pieces or over 125 bytes long")]
    Control,
}

/// Why a WebSocket is closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closing {
    /// The client closed it, with this code.
    #[error("")]
    ByClient(u16),
    /// The client broke the WebSocket protocol.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// Its bytes are no frame of the Kafka protocol that is taken here.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The broker ends the connection.
    #[error(transparent)]
    Broker(#[from] CloseReason),
    /// It does not answer.
    #[error("no answer to pings")]
    Silent,
}

impl Closing {
    pub(super) const fn code(&self) -> u16 {
        match self {
            Self::ByClient(code) => *code,
            Self::Violation(Violation::Text) => 1003,
            Self::Violation(_) => 1002,
            Self::Frame(FrameError::TooLong { .. }) => 1009,
            Self::Frame(_) => 1007,
            Self::Broker(reason) => code_of(*reason),
            Self::Silent => 1001,
        }
    }

    pub(super) fn ended(self) -> Ended {
        match self {
            Self::ByClient(_) => Ended::ByClient,
            Self::Frame(error) => error.into(),
            Self::Broker(reason) => reason.into(),
            Self::Violation(violation) => std::io::Error::other(violation).into(),
            Self::Silent => std::io::Error::from(std::io::ErrorKind::TimedOut).into(),
        }
    }
}

const fn code_of(reason: CloseReason) -> u16 {
    match reason {
        CloseReason::Malformed(_) => 1007,
        CloseReason::FetchAsReplica => 1008,
        CloseReason::Idle | CloseReason::Stopping => 1001,
        // Unanswerable, UnacknowledgedFailed, and what is added later: the broker cannot go on with this client.
        _ => 1011,
    }
}
