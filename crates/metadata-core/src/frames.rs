//! What the Controls of two brokers say to each other. The bytes are `frames/wire.rs`; the page is
//! `docs/format/metadata.md`.
//!
//! ```text
//! broker                                        controller
//!   Heartbeat ---------------------------------->
//!         <---------------------------------- HeartbeatAnswer, or NotController from one that is not
//!   Propose  ----------------------------------->            (answered by nothing: the broker sees the entry applied)
//!         <---------------------------------- ProposeRefused  from one that is not the controller
//! ```

mod wire;

use bytes::Bytes;
use log_core::{DirectoryId, Frame, FrameLimits};

use crate::controller::{Heartbeat, HeartbeatAnswer};
use crate::error::DecodeError;
use crate::record::ProposalId;

pub use wire::{CONTROL_FRAME_VERSION, CONTROL_HEADER_BYTES_MAX};

/// The largest entry that is proposed, in bytes (a guess: a registration with 10,000 faulty partitions takes 250 KiB).
pub const PROPOSAL_BYTES_MAX: usize = 4 << 20;

/// What a reader of control frames accepts.
pub const CONTROL_FRAME_LIMITS: FrameLimits =
    FrameLimits { header_bytes_max: CONTROL_HEADER_BYTES_MAX, payload_bytes_max: PROPOSAL_BYTES_MAX };

/// A frame between the Controls of two brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlFrame {
    /// A broker lives.
    Heartbeat(Heartbeat),
    /// The controller's answer.
    HeartbeatAnswer(HeartbeatAnswer),
    /// The receiver of a heartbeat is not the controller.
    NotController {
        /// Who is, as far as it knows.
        leader: Option<DirectoryId>,
    },
    /// An entry to be agreed.
    Propose {
        /// Whose it is; also in the bytes.
        id: ProposalId,
        /// The bytes of the entry.
        entry: Bytes,
    },
    /// The receiver of a proposal is not the controller: nothing was proposed.
    ProposeRefused {
        /// Which proposal.
        id: ProposalId,
        /// Who is the controller, as far as it knows.
        leader: Option<DirectoryId>,
    },
}

impl ControlFrame {
    /// The whole frame as it goes over a stream.
    ///
    /// # Panics
    ///
    /// If a proposal is longer than 4 GiB: entries are made by our own code.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        wire::encode(self)
    }

    /// Reads a frame.
    ///
    /// # Errors
    ///
    /// If its header is none that this build knows, or its payload is not of that kind.
    pub fn decode(frame: &Frame) -> Result<Self, DecodeError> {
        wire::decode(frame)
    }
}
