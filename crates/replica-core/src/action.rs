//! What the machines want done. Their owner takes actions with `poll_action` until there is none, and does each
//! before it takes the next: a [`LeaderAction::Close`] stands before everything that must not overtake it (L10).

use alloc::vec::Vec;

use bytes::Bytes;
use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionEpoch, Session};

use crate::error::PushFault;
use crate::frames::{FollowerFrame, LeaderFrame, Push, StreamRefusal};
use crate::stream::{CloseReason, StreamId};

/// What a leader wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderAction {
    /// Close a stream and send nothing more on it, also nothing whose read is under way.
    Close {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: CloseReason,
    },
    /// Send a frame.
    Send {
        /// The stream.
        stream: StreamId,
        /// The frame.
        frame: LeaderFrame,
    },
    /// The high watermark rose: serve and answer up to it.
    HighWatermark(Offset),
    /// The low watermark rose: what lies below it is deleted, whoever leads (L11).
    LowWatermark(Offset),
    /// Read batches and send them; answered by `handle_pushed`. One is under way per stream.
    Push(PushOrder),
    /// Propose an ISR to the controller; answered by `handle_isr_answer` or not at all.
    RequestIsr {
        /// Names this attempt in the answer, together with the leader epoch: each epoch counts from 1.
        attempt: u64,
        /// What is proposed; the same bytes again where an earlier attempt is undecided (L6).
        proposal: IsrProposal,
    },
    /// This attempt was applied: it still led then. Whoever asked for a proof before the attempt was made has it.
    Confirmed {
        /// The attempt.
        attempt: u64,
    },
    /// Ask the controller for another leader; serve on until metadata names it.
    Resign(ResignReason),
    /// Tell the operator.
    Alarm(LeaderAlarm),
    /// A follower's log disagrees below the high watermark, or a batch reached it damaged: re-read the own log below
    /// the high watermark, and report this replica faulty if it is damaged there.
    ScrubBelowHighWatermark {
        /// Who found it.
        follower: BrokerId,
    },
}

/// An order to push: read from the log at `push.base_offset` at most `max_bytes` (at least one batch unless that is
/// zero), send [`Push::encode`] and the batches in one frame, and say so with `handle_pushed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushOrder {
    /// The stream.
    pub stream: StreamId,
    /// The frame's header.
    pub push: Push,
    /// Most bytes of batches; zero to send high watermark and log start alone.
    pub max_bytes: usize,
}

/// A change of the ISR as its leader proposes it, built from one read of its state (L4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsrProposal {
    /// The leader's broker epoch.
    pub broker_epoch: BrokerEpoch,
    /// The leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that it expects.
    pub partition_epoch: PartitionEpoch,
    /// The whole new ISR in the order of broker ids, each member under the broker epoch it was judged by.
    pub members: Vec<(BrokerId, BrokerEpoch)>,
    /// Who leaves, and why.
    pub leaving: Vec<(BrokerId, LeaveReason)>,
    /// Members that L4 holds for now: suspicion of them ends with this change (C5).
    pub proven: Vec<BrokerId>,
}

/// Why a member leaves the ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// Its durable end lagged too long (L5), or its broker is shutting down: it may enter the ELR.
    Lagging,
    /// Its handshake showed an end below the high watermark (L7), or it is faulty: it may not enter the ELR.
    Behind,
}

/// What is known of an ISR proposal. Only a hint: the change counts when its record is applied (L6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsrAnswer {
    /// It was applied somewhere.
    Applied,
    /// It was refused, or a duplicate of it was.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// Why a leader asks for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResignReason {
    /// Its own disk is too slow (L5).
    OwnLag,
}

/// What an operator should see of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderAlarm {
    /// An ISR member came back with less than it had acknowledged (L7).
    MemberBehind {
        /// The member.
        member: BrokerId,
        /// Its end.
        end: Offset,
        /// The high watermark that it should have reached.
        high_watermark: Offset,
    },
    /// A follower refused to cut below its own high watermark.
    Conflict {
        /// The follower.
        follower: BrokerId,
        /// Its high watermark.
        high_watermark: Offset,
        /// Where the lineage told it to cut.
        cut_to: Offset,
    },
    /// A batch reached a follower damaged.
    BadBatch {
        /// The follower.
        follower: BrokerId,
        /// Where.
        offset: Offset,
    },
    /// A follower broke the protocol.
    Protocol {
        /// The follower.
        follower: BrokerId,
    },
}

/// What a follower wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowerAction {
    /// Close a stream.
    Close {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: CloseReason,
    },
    /// Open a stream to the leader; answered by `handle_connected`, or by `handle_connect_failed`.
    Connect {
        /// The leader's broker.
        leader: BrokerId,
        /// The session that the stream will be.
        session: Session,
    },
    /// Send a frame.
    Send {
        /// The stream.
        stream: StreamId,
        /// The frame.
        frame: FollowerFrame,
    },
    /// Cut the log (D4); answered by `handle_cut_finished` or `handle_cut_refused`.
    Cut {
        /// The new end.
        to: Offset,
    },
    /// Drop the whole log and begin anew (D4's order); answered by `handle_cut_finished`.
    DropAll {
        /// The new log start and end.
        start_at: Offset,
    },
    /// Append batches, which are checked; answered by `handle_appended` or `handle_append_failed`.
    Append {
        /// Whole batches that continue the log.
        batches: Bytes,
        /// No batch has a greater epoch.
        stream_epoch: LeaderEpoch,
    },
    /// The high watermark rose.
    HighWatermark(Offset),
    /// The log start rose: delete below it.
    LogStart(Offset),
    /// Report this replica as damaged, so that it loses its seat and begins anew (ADR 0018).
    GiveUpSeat,
    /// Tell the operator.
    Alarm(FollowerAlarm),
}

/// What an operator should see of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowerAlarm {
    /// The leader's lineage demands a cut below the own high watermark: data and seat are kept (D4).
    Conflict {
        /// The leader.
        leader: BrokerId,
        /// The own high watermark.
        high_watermark: Offset,
        /// Where the cut would be.
        cut_to: Offset,
    },
    /// Pushed batches could not be accepted.
    BadPush {
        /// The leader.
        leader: BrokerId,
        /// What was wrong.
        fault: PushFault,
    },
    /// The leader refuses the stream for a reason that time alone may not mend.
    Refused {
        /// The leader.
        leader: BrokerId,
        /// Its reason.
        refusal: StreamRefusal,
    },
}
