//! What the cluster image means for this shard: partitions are opened, change their roles, are removed; the start is
//! reported, the stop carried out.

use std::collections::BTreeSet;
use std::sync::Arc;

use log_core::mutation::{Mutation, on};
use log_core::{BrokerEpoch, MonoTime, TopicId, TopicPartition};
use log_store::{Completion, Disk, DiskError, LogError, LogId, Ticket};
use metadata_core::{ClusterImage, Topic};

use super::{Shard, Stage, Timer, shard_of};
use crate::action::{CloseReason, ShardAction};
use crate::message::{ControlRequest, ExitCode};
use crate::partition::{Partition, directory, topic_directory};
use crate::repeated::Repeats;

/// Stands in tickets for the shard itself; logs are numbered from 1.
pub(super) const SHARD: LogId = LogId(0);

/// How long the shard waits before it tries again to make a log that the disk refused.
const OPEN_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

/// How long the shard waits before it tries again to remove what the disk did not let go (a guess).
const REMOVE_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Deleted topics whose partitions of this shard are being removed.
#[derive(Debug, Default)]
pub(super) struct Removals {
    /// By the number of the sync that makes the removal durable.
    syncing: std::collections::BTreeMap<u64, TopicId>,
    done: BTreeSet<TopicId>,
    next: u64,
    /// When what could not be removed is tried again.
    again_at: Option<MonoTime>,
}

impl<D: Disk> Shard<D> {
    pub(super) fn take_image(&mut self, image: Arc<ClusterImage>) {
        let before = std::mem::replace(&mut self.core.image, image);
        if matches!(self.core.stage, Stage::Stopping | Stage::Stopped) {
            return;
        }
        let image = self.core.image.clone();
        let all = !before.brokers().eq(image.brokers())
            || before.feature_level() != image.feature_level()
            || before.settings() != image.settings()
            || self.core.stage == Stage::Empty;
        for topic in image.topics() {
            if all || !before.topic(topic.id).is_some_and(|old| std::ptr::eq(old, topic)) {
                self.take_topic(topic);
            }
        }
        self.remove_deleted(&image);
        self.forget_positions(&before, &image);
        if self.core.stage == Stage::Empty {
            self.core.stage = Stage::Opened;
        }
        self.report_recovered();
        self.wake_image_waiters();
    }

    fn take_topic(&mut self, topic: &Topic) {
        let own = self.core.broker();
        let (shard, shards) = (self.core.config.shard, self.core.config.shards);
        let here = topic
            .partitions()
            .filter(|(id, state)| state.replica(own).is_some() && shard_of(*id, shards) == shard);
        for (id, _) in here {
            if !self.partitions.contains_key(&id) {
                self.open(id);
            }
            self.reconcile(id);
        }
    }

    fn open(&mut self, id: TopicPartition) {
        let Some(topic) = self.core.image.topic_shared(id.topic_id) else { return };
        match Partition::open(&mut self.core, id, topic) {
            Ok(partition) => {
                self.core.metrics.logs_recovering += u64::from(!partition.is_recovered());
                self.logs.insert(partition.log_id(), id);
                self.partitions.insert(id, partition);
            }
            Err(error) => self.open_failed(id, error),
        }
    }

    fn open_failed(&mut self, id: TopicPartition, error: LogError) {
        if let Some(left_out) = self.core.repeated.is_due(self.core.now.mono, Repeats::Open) {
            tracing::error!(partition = ?id, %error, left_out, "a partition's log cannot be opened");
        }
        self.core.metrics.logs_not_opened += 1;
        if self.unopened.is_empty() {
            let at = self.core.now.mono.after(OPEN_AGAIN);
            self.core.reschedule(Timer::Open, None, Some(at));
        }
        self.unopened.insert(id);
    }

    pub(super) fn open_again(&mut self) {
        // Nobody would close what is opened now.
        if matches!(self.core.stage, Stage::Stopping | Stage::Stopped) {
            return;
        }
        for id in std::mem::take(&mut self.unopened) {
            if self.core.image.partition(id).is_some() && !self.partitions.contains_key(&id) {
                self.open(id);
                self.reconcile(id);
            }
        }
        self.report_recovered();
    }

    fn reconcile(&mut self, id: TopicPartition) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.reconcile(&mut self.core, &mut self.streams.by_id);
            self.core.touched.insert(id);
        }
    }

    pub(super) fn take_registration(&mut self, broker_epoch: BrokerEpoch) {
        if matches!(self.core.stage, Stage::Stopping | Stage::Stopped) {
            return;
        }
        self.core.stage = Stage::Registered(broker_epoch);
        for id in self.partitions.keys().copied().collect::<Vec<_>>() {
            self.reconcile(id);
        }
    }

    /// Once, when everything that start-up found is durable.
    pub(super) fn report_recovered(&mut self) {
        let whole = self.partitions.values().all(Partition::is_recovered) && self.unopened.is_empty();
        if self.core.stage != Stage::Opened || !whole {
            return;
        }
        self.core.stage = Stage::Recovered;
        let partitions = self.partitions.values_mut().map(Partition::recovered_state).collect();
        self.core.tell_control(ControlRequest::Recovered { partitions });
    }

    /// Destruction needs a committed record (C6): only what the image marks as deleted is removed.
    fn remove_deleted(&mut self, image: &ClusterImage) {
        self.removals.done.retain(|topic_id| image.deleted_topic(*topic_id).is_some());
        for topic_id in image.removals_of(self.core.broker()) {
            if !self.removals.done.contains(&topic_id)
                && !self.removals.syncing.values().any(|syncing| *syncing == topic_id)
                && let Err(error) = self.remove_topic(topic_id)
            {
                if let Some(left_out) = self.core.repeated.is_due(self.core.now.mono, Repeats::Remove) {
                    tracing::error!(%topic_id, %error, left_out, "a deleted topic cannot be removed now");
                }
                let at = self.core.now.mono.after(REMOVE_AGAIN);
                self.core.reschedule(Timer::Remove, self.removals.again_at, Some(at));
                self.removals.again_at = Some(at);
            }
        }
    }

    pub(super) fn remove_again(&mut self) {
        self.removals.again_at = None;
        if !matches!(self.core.stage, Stage::Stopping | Stage::Stopped) {
            let image = self.core.image.clone();
            self.remove_deleted(&image);
        }
    }

    /// Whether a partition is of a topic that is named like a deleted one.
    fn has_same_name(&self, id: &TopicPartition, deleted: TopicId) -> bool {
        let named = self.core.image.deleted_topic(deleted).map(|deleted| deleted.name.as_ref());
        named.is_some() && self.core.image.topic(id.topic_id).map(|topic| topic.name.as_ref()) == named
    }

    /// Confirmed is only what is durably gone: at once where there never was a directory, else after a sync. Any other
    /// error says nothing of what is there.
    fn remove_topic(&mut self, topic_id: TopicId) -> Result<(), DiskError> {
        let of_topic = |id: &TopicPartition| id.topic_id == topic_id;
        let doomed = self.partitions.keys().copied();
        let doomed =
            doomed.filter(|id| of_topic(id) || on(Mutation::C13) && self.has_same_name(id, topic_id));
        for id in doomed.collect::<Vec<_>>() {
            if let Some(partition) = self.forget(id) {
                partition.remove(&mut self.core, &mut self.streams.by_id)?;
            }
        }
        let above = topic_directory(topic_id);
        let left = match self.core.disk.list(&above) {
            Err(error) if error.is_not_found() => {
                self.confirm_removal(topic_id);
                return Ok(());
            }
            left => left?,
        };
        for entry in left {
            let partition = entry.name.parse().ok().map(log_core::PartitionIndex);
            let Some(partition) = partition else { continue };
            let id = TopicPartition { topic_id, partition };
            if shard_of(id, self.core.config.shards) == self.core.config.shard {
                self.core.disk.remove_dir_all(&directory(id))?;
            }
        }
        self.removals.next += 1;
        self.removals.syncing.insert(self.removals.next, topic_id);
        let ticket = Ticket { log: SHARD, sequence: self.removals.next };
        self.core.disk.submit_sync(ticket, &[], &[&above]);
        Ok(())
    }

    pub(super) fn take_own_completion(&mut self, completion: &Completion) {
        if let Some(topic_id) = self.removals.syncing.remove(&completion.ticket.sequence) {
            match &completion.result {
                Ok(_) => self.confirm_removal(topic_id),
                Err(_) => self.core.actions.push_back(ShardAction::Stop(ExitCode::DirectoryPoisoned)),
            }
        }
    }

    fn confirm_removal(&mut self, topic_id: TopicId) {
        self.removals.done.insert(topic_id);
        self.core.tell_control(ControlRequest::RemovalConfirmed { topic_id });
    }

    /// Positions in topics that are gone go with them.
    fn forget_positions(&mut self, before: &ClusterImage, image: &ClusterImage) {
        let gone = before.topics().filter(|topic| image.topic(topic.id).is_none());
        let names: Vec<Arc<str>> = gone.map(|topic| topic.name.clone()).collect();
        if names.is_empty() {
            return;
        }
        for (id, partition) in &mut self.partitions {
            names.iter().for_each(|name| partition.forget_topic(name));
            self.core.touched.insert(*id);
        }
    }

    /// Takes a partition out of the shard.
    pub(super) fn forget(&mut self, id: TopicPartition) -> Option<Partition<D>> {
        let partition = self.partitions.remove(&id)?;
        self.logs.remove(&partition.log_id());
        self.core.reschedule(Timer::Partition(id), partition.timer(), None);
        Some(partition)
    }

    pub(super) fn stop(&mut self) {
        self.core.stage = Stage::Stopping;
        for connection in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close(connection, CloseReason::Stopping);
        }
        for (id, partition) in &mut self.partitions {
            self.stopped_clean &= partition.begin_close(&mut self.core, &mut self.streams.by_id);
            self.core.touched.insert(*id);
        }
    }

    pub(super) fn check_stopped(&mut self) {
        if self.core.stage == Stage::Stopping && self.partitions.is_empty() {
            self.core.stage = Stage::Stopped;
            let clean = self.stopped_clean && self.unopened.is_empty();
            self.core.tell_control(ControlRequest::Stopped { clean });
        }
    }
}
