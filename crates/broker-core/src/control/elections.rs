//! Elections that an operator asks for: the proposals, of the partition as this broker sees it now.

use log_core::{BrokerId, TopicPartition};
use log_store::Disk;
use metadata_core::record::{ElectPreferred, ElectUnclean, ShownEnd};
use metadata_core::{Condition, MetadataQuorum, MetadataRecord, Partition, Refusal};

use super::Control;
use super::admin::Plan;
use crate::message::{AdminError, Election, UncleanChoice};

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    pub(super) fn plan_election(&self, partition: TopicPartition, election: Election) -> Plan {
        let Some(found) = self.image.partition(partition) else {
            let (topic_id, partition) = (partition.topic_id, partition.partition);
            return Plan::Answer(Err(AdminError::Refused(Refusal::UnknownPartition { topic_id, partition })));
        };
        let planned = match election {
            Election::Preferred => {
                let partitions = vec![(partition, found.partition_epoch)];
                Ok(MetadataRecord::ElectPreferred(ElectPreferred { partitions }))
            }
            Election::Unclean(choice) => {
                self.unclean(partition, found, choice).map(MetadataRecord::ElectUnclean)
            }
        };
        planned.map_or_else(|error| Plan::Answer(Err(error)), Plan::Propose)
    }

    /// Without a choice only what is sure is proposed: who has a seat has what is committed, and who is alone has no less
    /// than anybody else. Between several others their ends decide, which this broker does not know (C5).
    fn unclean(
        &self,
        partition: TopicPartition,
        found: &Partition,
        choice: Option<UncleanChoice>,
    ) -> Result<ElectUnclean, AdminError> {
        if found.leader.is_some() {
            return Err(AdminError::Refused(Refusal::ElectionNotNeeded { partition }));
        }
        let partition_epoch = found.partition_epoch;
        let Some(choice) = choice else {
            let live: Vec<BrokerId> =
                found.replica_brokers().filter(|broker| self.may_lead(found, *broker)).collect();
            let candidates = live.len();
            if candidates > 1 && !live.iter().any(|broker| found.has_seat(*broker)) {
                return Err(AdminError::EndsUnknown { candidates });
            }
            return Ok(ElectUnclean { partition, partition_epoch, broker: None, shown: suspects(found) });
        };
        let (named, current) = (choice.leader_epoch, found.leader_epoch);
        if named != current {
            return Err(AdminError::Refused(Refusal::FencedLeaderEpoch { named, current }));
        }
        Ok(ElectUnclean { partition, partition_epoch, broker: Some(choice.leader), shown: choice.shown })
    }

    fn may_lead(&self, found: &Partition, broker: BrokerId) -> bool {
        self.image.broker(broker).is_some_and(metadata_core::Broker::is_active) && !found.is_faulty(broker)
    }
}

/// What the suspect members said of themselves when they registered.
fn suspects(found: &Partition) -> Vec<ShownEnd> {
    let end = |replica: &metadata_core::Replica| match replica.condition {
        Condition::Suspect { last_epoch, end } => {
            Some(ShownEnd { broker: replica.broker, last_epoch: Some(last_epoch), end: Some(end) })
        }
        Condition::Sound | Condition::Faulty => None,
    };
    found.replicas.iter().filter_map(end).collect()
}
