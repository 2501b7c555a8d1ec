//! One led partition: the high watermark, the ISR, and the streams of its followers (L1 to L11).
//!
//! A leader leads one epoch. When it applies a record that ends it, it closes its streams and is of no more use (L10).
//!
//! ```text
//!            view of another leader, epoch or registration; leave()
//!   leads ------------------------------------------------------------> left
//! ```

mod confirm;
mod isr;
pub(crate) mod low_watermark;
pub(crate) mod progress;
mod serve;
mod streams;
#[cfg(test)]
pub(crate) mod tests;

use alloc::collections::{BTreeMap, VecDeque};

use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, MonoTime, Offset};

use self::confirm::Confirmation;
use self::isr::Pending;
use self::progress::{Lag, Progress};
pub use self::serve::{ClientEpochRefusal, ReadBound};
use crate::action::{IsrAnswer, LeaderAction, ResignReason};
use crate::backoff::Backoff;
use crate::error::NotLeading;
use crate::mutation::{Mutation, on};
use crate::stream::{CloseReason, StreamId};
use crate::view::{LogFacts, PartitionView, Settings};

/// What a leader begins with.
#[derive(Clone, Debug)]
pub struct LeaderStart {
    /// This broker.
    pub own: BrokerId,
    /// The epoch that its replica is known under (see [`ReplicaView`](crate::ReplicaView)), once it has applied the
    /// registration of this incarnation; a restarted broker leads nothing before (L1).
    pub own_epoch: Option<BrokerEpoch>,
    /// The partition as the applied metadata shows it.
    pub view: PartitionView,
    /// Where the own log stands.
    pub log: LogFacts,
    /// Times and sizes.
    pub settings: Settings,
    /// Makes the jitter of retries.
    pub seed: u64,
}

/// One led partition.
#[derive(Clone, Debug)]
pub struct Leader {
    pub(crate) identity: LeaderIdentity,
    pub(crate) settings: Settings,
    pub(crate) view: PartitionView,
    pub(crate) log: LogFacts,
    pub(crate) followers: BTreeMap<BrokerId, Progress>,
    pub(crate) streams: BTreeMap<StreamId, BrokerId>,
    pub(crate) pending: Option<Pending>,
    confirmation: Confirmation,
    pub(crate) left: bool,
    /// The time of the last call; the only clock that lag is judged by.
    now: MonoTime,
    /// The high watermark as the owner was last told.
    told_high_watermark: Offset,
    /// Below it everything is deleted for good (L11).
    pub(crate) low_watermark: Offset,
    told_low_watermark: Offset,
    own_lag: Lag,
    /// No resignation is repeated before.
    resign_after: MonoTime,
    /// No proposal is made before: the last one was refused.
    propose_after: MonoTime,
    isr_backoff: Backoff,
    attempts: u64,
    actions: VecDeque<LeaderAction>,
}

/// What does not change while an epoch is led.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaderIdentity {
    pub(crate) own: BrokerId,
    pub(crate) own_epoch: BrokerEpoch,
    pub(crate) epoch: LeaderEpoch,
    /// The appended end when the epoch began.
    pub(crate) epoch_start: Offset,
    /// The log start on the own disk when the epoch began: leaders before may have said that all below is gone (L11).
    pub(crate) first_log_start: Offset,
}

impl Leader {
    /// Begins to lead (L1). All ends of followers are unknown.
    ///
    /// Errors: why this broker may not lead now; to be tried again after the next applied record or finished cut.
    pub fn new(now: MonoTime, start: LeaderStart) -> Result<Self, NotLeading> {
        let own_epoch = may_lead(&start)?;
        let LeaderStart { own, view, log, settings, seed, .. } = start;
        let (epoch, epoch_start, first_log_start) =
            (view.leader_epoch, log.appended_end, log.durable_log_start);
        let identity = LeaderIdentity { own, own_epoch, epoch, epoch_start, first_log_start };
        let mut own_lag = Lag::unknown(now, log.appended_end);
        own_lag.on_durable(now, log.durable_end, log.appended_end);
        let mut leader = Self {
            identity,
            settings,
            view,
            log,
            followers: BTreeMap::new(),
            streams: BTreeMap::new(),
            pending: None,
            confirmation: Confirmation::none(now),
            left: false,
            now,
            told_high_watermark: log.high_watermark,
            low_watermark: Offset::ZERO,
            told_low_watermark: Offset::ZERO,
            own_lag,
            resign_after: now,
            propose_after: now,
            isr_backoff: Backoff::new(seed),
            attempts: 0,
            actions: VecDeque::new(),
        };
        leader.meet_replicas(now);
        leader.settle(now);
        Ok(leader)
    }

    /// A metadata record that touches the partition is applied.
    pub fn handle_view(&mut self, now: MonoTime, view: PartitionView) {
        if self.left {
            return;
        }
        let own_epoch = view.replica(self.identity.own).map(|own| own.broker_epoch);
        let leads = view.leader == Some(self.identity.own)
            && view.leader_epoch == self.identity.epoch
            && (own_epoch == Some(self.identity.own_epoch) || on(Mutation::B1));
        if !leads {
            self.leave(CloseReason::EpochLeft);
            return;
        }
        let entered = view.isr.iter().copied().filter(|member| !self.view.in_isr(*member));
        for broker in entered {
            if let Some(progress) = self.followers.get_mut(&broker) {
                progress.lag = Lag::unknown(now, self.log.appended_end);
                if let Some(durable) = progress.durable {
                    progress.lag.on_durable(now, durable, self.log.appended_end);
                }
            }
        }
        let applied = view.partition_epoch;
        self.view = view;
        self.decide(now, applied);
        self.meet_replicas(now);
        self.settle(now);
    }

    /// Batches are appended to the own log.
    pub fn handle_appended(&mut self, now: MonoTime, end: Offset) {
        self.log.appended_end = end;
        self.own_lag.on_appended(now, end);
        self.followers.values_mut().for_each(|progress| progress.lag.on_appended(now, end));
        self.settle(now);
    }

    /// The own log is durable up to `end`.
    pub fn handle_durable(&mut self, now: MonoTime, end: Offset) {
        self.log.durable_end = end;
        self.own_lag.on_durable(now, end, self.log.appended_end);
        self.settle(now);
    }

    /// The own log now begins at `start`, which the batch at `first_batch` holds, if that is known: what lies below is deleted.
    /// Followers are told, and delete below it (L9).
    pub fn handle_log_start(&mut self, now: MonoTime, start: Offset, first_batch: Option<Offset>) {
        (self.log.log_start, self.log.first_batch) = (start, first_batch);
        self.close_streams_below_log_start();
        self.settle(now);
    }

    /// What is known of a proposal that was made under `epoch`. Only a hint (L6). An answer to an earlier leadership of
    /// this broker may come late: it says nothing of this one, which may be over.
    pub fn handle_isr_answer(&mut self, now: MonoTime, epoch: LeaderEpoch, attempt: u64, answer: IsrAnswer) {
        if epoch != self.identity.epoch {
            return;
        }
        self.note_confirmation(now, attempt, answer);
        self.on_answer(now, attempt, answer);
        self.settle(now);
    }

    /// [`Leader::poll_timeout`] has passed.
    pub fn handle_timeout(&mut self, now: MonoTime) {
        if self.left {
            return;
        }
        self.retry(now);
        self.settle(now);
    }

    /// Ends the leadership: closes all streams, so that no push of them can still be built (L10). Also for an owner
    /// that stops or whose log fails.
    pub fn leave(&mut self, reason: CloseReason) {
        self.left = true;
        self.pending = None;
        self.actions.clear();
        let breached = on(Mutation::L10);
        let streams = if breached { BTreeMap::new() } else { core::mem::take(&mut self.streams) };
        self.actions.extend(streams.into_keys().map(|stream| LeaderAction::Close { stream, reason }));
        self.followers.values_mut().filter(|_| !breached).for_each(|progress| progress.stream = None);
    }

    /// What to do next; `None` when there is nothing left to do.
    pub fn poll_action(&mut self) -> Option<LeaderAction> {
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        if self.told_high_watermark < self.log.high_watermark && !self.left {
            self.told_high_watermark = self.log.high_watermark;
            return Some(LeaderAction::HighWatermark(self.told_high_watermark));
        }
        if let Some(low_watermark) = self.next_low_watermark() {
            return Some(LeaderAction::LowWatermark(low_watermark));
        }
        self.next_push().map(LeaderAction::Push)
    }

    /// When [`Leader::handle_timeout`] is due. An idle partition whose replicas are caught up needs none.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        if self.left {
            return None;
        }
        let lag_max = self.settings.lag_max;
        let lagging = |broker| self.followers.get(broker).and_then(|progress| progress.lag.deadline(lag_max));
        let isr = match &self.pending {
            Some(pending) => Some(pending.next_try),
            None if self.propose_after > self.now => Some(self.propose_after),
            None => {
                let proof = self.confirmation.poll_timeout(self.now);
                self.view.isr.iter().filter_map(lagging).chain(proof).filter(|at| *at > self.now).min()
            }
        };
        let own = self.own_lag.deadline(lag_max).map(|deadline| deadline.max(self.resign_after));
        isr.into_iter().chain(own).min()
    }

    /// Looks at the state once more after it changed: the high watermark, the ISR, the own lag.
    pub(crate) fn settle(&mut self, now: MonoTime) {
        self.now = now;
        if self.left {
            return;
        }
        self.advance_high_watermark();
        self.advance_low_watermark();
        self.propose(now);
        if self.own_lag.is_overdue(now, self.settings.lag_max) && now >= self.resign_after {
            self.resign_after = now.after(self.settings.lag_max);
            self.actions.push_back(LeaderAction::Resign(ResignReason::OwnLag));
        }
        #[cfg(debug_assertions)]
        crate::invariants::check_leader(self);
    }

    /// L2: the smallest durable end of the maximal ISR, while the committed ISR has enough members. Never back.
    fn advance_high_watermark(&mut self) {
        if !self.view.has_min_isr() && !on(Mutation::H3) {
            return;
        }
        let own_end = if on(Mutation::H6) { self.log.appended_end } else { self.log.durable_end };
        let mut smallest = own_end;
        for (broker, progress) in &self.followers {
            if !self.holds_high_watermark(*broker) {
                continue;
            }
            let Some(durable) = progress.durable else { return };
            smallest = smallest.min(durable);
        }
        self.log.high_watermark = self.log.high_watermark.max(smallest);
    }
}

/// L1, the conditions.
fn may_lead(start: &LeaderStart) -> Result<BrokerEpoch, NotLeading> {
    let view = &start.view;
    let named = view.replica(start.own).filter(|_| view.leader == Some(start.own));
    let replica = named.ok_or(NotLeading::NotNamed { leader: view.leader })?;
    if on(Mutation::B1) {
        return Ok(replica.broker_epoch);
    }
    let own = start.own_epoch.ok_or(NotLeading::NotRegistered)?;
    if own != replica.broker_epoch {
        return Err(NotLeading::OtherRegistration { own, applied: replica.broker_epoch });
    }
    if replica.fenced {
        return Err(NotLeading::Fenced);
    }
    if replica.faulty {
        return Err(NotLeading::Faulty);
    }
    if start.log.cutting && !on(Mutation::L1b) {
        return Err(NotLeading::Cutting);
    }
    Ok(own)
}
