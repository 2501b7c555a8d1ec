//! What Control asks its driver to do, and the names of those it speaks with.

use std::sync::Arc;

use log_core::{BrokerId, DirectoryId};
use metadata_core::{ClusterImage, ControlFrame};

use super::status::ControlStatus;
use crate::door::ShardId;
use crate::message::{AdminAnswer, AdminError, AdminId, ExitCode, ShardMessage};

/// What Control asks its driver to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ControlAction {
    /// Deliver a message to a shard of this broker.
    ToShard(ShardId, ShardMessage),
    /// Send a frame on the control stream to a peer, dialled if there is none. A stream that cannot be opened is
    /// reported by `handle_peer_closed`; a frame may be lost.
    SendPeer {
        /// Whom to.
        peer: Peer,
        /// What.
        frame: ControlFrame,
    },
    /// Send a frame back on a stream that a peer dialled.
    Reply {
        /// The stream.
        stream: PeerStreamId,
        /// What.
        frame: ControlFrame,
    },
    /// The answer to a command that the driver gave itself.
    Answer {
        /// Names the command.
        id: AdminId,
        /// What came of it.
        result: Result<AdminAnswer, AdminError>,
    },
    /// What the metadata log says now, for drivers that show or use it (addresses of peers).
    Image(Arc<ClusterImage>),
    /// The broker stands differently now.
    Status(ControlStatus),
    /// End the process with this code. Nothing follows.
    Stop {
        /// Why.
        code: ExitCode,
        /// Whether every bound equals its appended end, so that the clean mark may be written (D8).
        clean: bool,
    },
}

/// Another broker's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its log directory, which is its name in the quorum.
    pub directory: DirectoryId,
    /// The broker; its certificate must name it.
    pub broker: BrokerId,
    /// Where it is reached: host and port, to be tried in order.
    pub addresses: Vec<(String, u16)>,
}

/// A control stream that a peer dialled; named by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerStreamId(pub u64);

/// Where a frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSource {
    /// The stream that this broker dialled to that node.
    Dialled(DirectoryId),
    /// A stream that a peer dialled.
    Accepted(PeerStreamId),
}

/// Who gave an administrative command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A shard, for a client.
    Shard(ShardId, AdminId),
    /// The driver itself.
    Driver(AdminId),
}
