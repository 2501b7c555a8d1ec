//! Proposals of this broker that are not answered yet. Each is answered when this broker's own copy applies the entry that
//! carries its id, or becomes *unknown* at its deadline.
//!
//! A proposal that was given to a controller may still be agreed after that one is gone. Those that can be agreed twice
//! without harm are sent again to the next controller, byte for byte, so the first that is applied is the answer.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use log_core::{DirectoryId, MonoTime};
use log_store::Disk;
use metadata_core::{
    Answer, ControlFrame, Entry, MetadataQuorum, MetadataRecord, Outcome, Proposal, ProposalId,
};

use super::{Caller, Control, ControlAction};
use crate::door::ShardId;
use crate::message::{AdminError, IsrAnswer, IsrAttempt, IsrChange, LeaveReason, ShardMessage};

/// How long an ISR proposal waits for its record before the leader is told that nobody knows.
const ISR_DEADLINE: Duration = Duration::from_secs(2);
/// How long the broker's own proposals wait; they are made again while they are still wanted.
const OWN_DEADLINE: Duration = Duration::from_secs(1);
/// How long a refused proposal waits before it is sent again.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Proposals {
    origin: DirectoryId,
    next: u64,
    pending: BTreeMap<u64, Pending>,
}

#[derive(Debug)]
struct Pending {
    purpose: Purpose,
    deadline: MonoTime,
    entry: Bytes,
    sent: Sent,
    /// Whether it may be given to another controller too.
    repeatable: bool,
}

/// How far a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// Nobody has it: no controller is known.
    No,
    /// Nobody has it: it was refused, and is sent again at that time.
    Refused(MonoTime),
    /// That node has it, or it is lost.
    To(DirectoryId),
}

/// Whom the outcome is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An administrative command.
    Admin(Caller),
    /// A leader's ISR change.
    Isr(ShardId, IsrAttempt),
    /// The broker itself, which sees the outcome in the image.
    Own,
}

impl Proposals {
    pub(super) const fn new(origin: DirectoryId, first: u64) -> Self {
        Self { origin, next: first, pending: BTreeMap::new() }
    }

    /// The receiver was not the controller: nothing was proposed, and it may be sent again.
    pub(super) fn refused(&mut self, now: MonoTime, id: ProposalId) {
        if let Some(pending) = self.pending.get_mut(&id.number).filter(|_| id.origin == self.origin) {
            pending.sent = Sent::Refused(now.after(REFUSED_PAUSE));
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        let due = |pending: &Pending| match pending.sent {
            Sent::Refused(at) => at.min(pending.deadline),
            Sent::No | Sent::To(_) => pending.deadline,
        };
        self.pending.values().map(due).min()
    }
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    /// Proposes a record of the broker itself.
    pub(super) fn propose_own(&mut self, record: MetadataRecord) {
        self.propose(Purpose::Own, self.now.mono.after(OWN_DEADLINE), record);
    }

    pub(super) fn propose(&mut self, purpose: Purpose, deadline: MonoTime, record: MetadataRecord) {
        let number = self.proposals.next;
        self.proposals.next += 1;
        let proposal = ProposalId { origin: self.config.directory, number };
        let repeatable = is_repeatable(&record);
        let entry = Entry { offset: log_core::MetadataOffset(0), proposal, time: self.now.wall, record };
        let entry: Bytes = entry.encode().into();
        let pending = Pending { purpose, deadline, entry, sent: Sent::No, repeatable };
        self.proposals.pending.insert(number, pending);
        self.flush_proposals();
    }

    /// Sends what waits for a controller, and what an earlier one may have lost.
    pub(super) fn flush_proposals(&mut self) {
        let now = self.now.mono;
        let Some(controller) = self.controller() else { return };
        let due: Vec<(u64, Bytes)> = self
            .proposals
            .pending
            .iter_mut()
            .filter(|(_, pending)| match pending.sent {
                Sent::No => true,
                Sent::Refused(at) => now >= at,
                Sent::To(other) => pending.repeatable && other != controller,
            })
            .map(|(number, pending)| {
                pending.sent = Sent::To(controller);
                (*number, pending.entry.clone())
            })
            .collect();
        for (number, entry) in due {
            self.send_proposal(controller, ProposalId { origin: self.config.directory, number }, entry);
        }
    }

    fn send_proposal(&mut self, controller: DirectoryId, id: ProposalId, entry: Bytes) {
        if controller == self.config.directory {
            self.quorum.propose(Proposal { id, bytes: entry });
        } else if let Some(peer) = self.peer(&self.quorum.status(), controller) {
            self.actions
                .push_back(ControlAction::SendPeer { peer, frame: ControlFrame::Propose { id, entry } });
        }
    }

    /// Another broker proposes through this one.
    pub(super) fn take_proposal(&mut self, source: super::FrameSource, id: ProposalId, entry: Bytes) {
        if self.leads_quorum() {
            self.quorum.propose(Proposal { id, bytes: entry });
            return;
        }
        let leader = self.finder.known().filter(|leader| *leader != self.config.directory);
        self.reply(source, ControlFrame::ProposeRefused { id, leader });
    }

    /// An entry of this broker was applied.
    pub(super) fn answer_proposal(&mut self, number: u64, outcome: Outcome) {
        let Some(pending) = self.proposals.pending.remove(&number) else { return };
        match pending.purpose {
            Purpose::Own => self.note_own_outcome(&outcome.result),
            Purpose::Admin(caller) => {
                let result = outcome.result.map_err(AdminError::Refused);
                self.answer_admin(caller, result.and_then(super::admin::answer));
            }
            Purpose::Isr(shard, attempt) => {
                let applied = matches!(outcome.result, Ok(Answer::IsrChanged { .. }));
                let answer = if applied { IsrAnswer::Applied } else { IsrAnswer::Refused };
                self.answer_isr(shard, attempt, answer);
            }
        }
    }

    /// Proposals whose deadline has passed are unknown; those that nobody ever had were not made.
    pub(super) fn time_out_proposals(&mut self) {
        let now = self.now.mono;
        for pending in self.proposals.pending.values_mut() {
            if matches!(pending.sent, Sent::Refused(at) if now >= at) {
                pending.sent = Sent::No;
            }
        }
        self.flush_proposals();
        let late = self.proposals.pending.iter().filter(|(_, pending)| now >= pending.deadline);
        let late: Vec<u64> = late.map(|(number, _)| *number).collect();
        for number in late {
            if let Some(pending) = self.proposals.pending.remove(&number) {
                self.answer_late(&pending);
            }
        }
    }

    fn answer_late(&mut self, pending: &Pending) {
        match pending.purpose {
            Purpose::Own => {}
            Purpose::Isr(shard, attempt) => self.answer_isr(shard, attempt, IsrAnswer::Unknown),
            Purpose::Admin(caller) => {
                let unsent = !matches!(pending.sent, Sent::To(_));
                let error = if unsent { AdminError::NoController } else { AdminError::TimedOut };
                self.answer_admin(caller, Err(error));
            }
        }
    }

    pub(super) fn propose_isr(&mut self, shard: ShardId, change: IsrChange) {
        let behind = change.leaving.iter().filter(|(_, reason)| *reason == LeaveReason::Behind);
        let record = metadata_core::record::ChangeIsr {
            partition: change.attempt.partition,
            leader: self.config.broker,
            leader_broker_epoch: change.broker_epoch,
            leader_epoch: change.attempt.leader_epoch,
            partition_epoch: change.partition_epoch,
            behind: behind.map(|(broker, _)| *broker).collect(),
            isr: change.members,
            proven: change.proven,
        };
        let deadline = self.now.mono.after(ISR_DEADLINE);
        let purpose = Purpose::Isr(shard, change.attempt);
        self.propose(purpose, deadline, MetadataRecord::ChangeIsr(record));
    }

    fn answer_isr(&mut self, shard: ShardId, attempt: IsrAttempt, answer: IsrAnswer) {
        let message = ShardMessage::IsrAnswer { attempt, answer };
        self.actions.push_back(ControlAction::ToShard(shard, message));
    }

    /// Whom proposals go to now: this node itself while it leads the quorum.
    fn controller(&self) -> Option<DirectoryId> {
        if self.leads_quorum() { Some(self.config.directory) } else { self.finder.known() }
            .filter(|known| self.leads_quorum() || *known != self.config.directory)
    }
}

/// Whether a record that is agreed twice does the same as once: its second application is refused, or takes ids that
/// nobody uses.
const fn is_repeatable(record: &MetadataRecord) -> bool {
    matches!(
        record,
        MetadataRecord::CreateTopic(_)
            | MetadataRecord::DeleteTopic(_)
            | MetadataRecord::AddPartitions(_)
            | MetadataRecord::AllocateProducerIds(_)
            | MetadataRecord::CreateJoinToken(_)
            | MetadataRecord::UseJoinToken(_)
            | MetadataRecord::UnregisterBroker(_)
            | MetadataRecord::ElectPreferred(_)
            | MetadataRecord::ElectUnclean(_)
    )
}
