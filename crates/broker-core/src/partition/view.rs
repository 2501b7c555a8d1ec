//! What the machines of replication are told of the partition: the cluster image in their words, and the own log.

use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, TopicPartition};
use log_store::{Disk, PartitionLog};
use metadata_core::record::LOG_START_LEVEL;
use metadata_core::{ClusterImage, Condition, Standing};
use replica_core::{LogFacts, PartitionView, ReplicaView};

use super::{Partition, Role};
use crate::message::IsrAnswer;
use crate::peer::LogSize;
use crate::standing::{LeaderStanding, ReplicaRole, ReplicaStanding};

/// The partition as the image shows it; none if it is not in it.
pub(super) fn partition_view(image: &ClusterImage, id: TopicPartition) -> Option<PartitionView> {
    let topic = image.topic(id.topic_id)?;
    let state = topic.partition(id.partition)?;
    let replicas = state.replicas.iter().map(|replica| {
        let broker = image.broker(replica.broker);
        ReplicaView {
            broker: replica.broker,
            broker_epoch: broker.map_or(BrokerEpoch(-1), |broker| replica.epoch(broker.epoch)),
            fenced: broker
                .is_none_or(|broker| matches!(broker.standing, Standing::Registered | Standing::Fenced)),
            shutting_down: broker.is_some_and(|broker| broker.standing == Standing::ShuttingDown),
            faulty: replica.condition == Condition::Faulty,
            suspect: matches!(replica.condition, Condition::Suspect { .. }),
        }
    });
    Some(PartitionView {
        partition: id,
        leader: state.leader,
        leader_epoch: state.leader_epoch,
        partition_epoch: state.partition_epoch,
        isr: state.isr.clone(),
        elr: state.elr.clone(),
        effective_min_isr: topic.effective_min_isr(state),
        confirms_log_starts: image.feature_level() >= LOG_START_LEVEL,
        replicas: replicas.collect(),
    })
}

impl<D: Disk> Partition<D> {
    pub(super) fn size(&self) -> LogSize {
        let offsets = self.log.offsets();
        let lag = (offsets.high_watermark().0 - offsets.log_end().0).max(0);
        LogSize { bytes: self.log.size_bytes(), lag }
    }

    pub(crate) fn standing(&self) -> ReplicaStanding {
        let role = match &self.role {
            Role::Idle => ReplicaRole::Idle,
            Role::Leader(leader) => {
                let view = leader.machine.view();
                // Counted here and not by the machine: whoever looks from outside holds it against this.
                let sound =
                    |member: &&BrokerId| view.replica(**member).is_some_and(|replica| !replica.suspect);
                ReplicaRole::Leader(LeaderStanding {
                    epoch: leader.machine.epoch(),
                    maximal_isr: leader.machine.maximal_isr(),
                    sound_isr: view.isr.iter().filter(sound).count(),
                    min_isr: view.effective_min_isr,
                })
            }
            Role::Follower(_) => ReplicaRole::Follower,
            Role::Damaged(_) => ReplicaRole::Damaged,
            Role::Closing => ReplicaRole::Closing,
        };
        ReplicaStanding {
            partition: self.id,
            role,
            offsets: *self.log.offsets(),
            settled: self.log.is_settled(),
        }
    }
}

/// Where the own log stands.
pub(super) fn log_facts<D: Disk>(log: &PartitionLog<D>) -> LogFacts {
    let offsets = log.offsets();
    LogFacts {
        log_start: offsets.log_start(),
        // Who leads asks the log.
        first_batch: Some(offsets.log_start()),
        durable_log_start: log.durable_log_start(),
        high_watermark: offsets.high_watermark(),
        appended_end: offsets.log_end(),
        durable_end: offsets.durable_end(),
        last_epoch: Some(log.last_epoch()).filter(|epoch| *epoch != LeaderEpoch::NONE),
        cutting: !log.is_settled(),
    }
}

pub(super) const fn isr_answer(answer: IsrAnswer) -> replica_core::IsrAnswer {
    match answer {
        IsrAnswer::Applied => replica_core::IsrAnswer::Applied,
        IsrAnswer::Refused => replica_core::IsrAnswer::Refused,
        IsrAnswer::Unknown => replica_core::IsrAnswer::Unknown,
    }
}
