//! Changes of one partition's seats that its brokers ask for (C2, C3).

use std::collections::BTreeSet;

use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerEpoch, BrokerId};

use super::{Step, check_partition_epoch};
use crate::error::{Ineligible, Refusal};
use crate::image::{ClusterImage, Condition, Partition, Standing};
use crate::outcome::Answer;
use crate::record::{ChangeIsr, ReportFaulty, ResetReplica};

impl ClusterImage {
    pub(super) fn change_isr(&mut self, step: &mut Step, fields: &ChangeIsr) -> Result<Answer, Refusal> {
        self.checked_isr(fields)?;
        let wished: Vec<BrokerId> = fields.isr.iter().map(|(broker, _)| *broker).collect();
        self.edit_partition(step, fields.partition, |seats| {
            let added = wished.iter().copied().filter(|broker| !seats.partition.isr.contains(broker));
            let added: Vec<BrokerId> = added.collect();
            seats.partition.isr.extend(added);
            seats.partition.elr.retain(|broker| !wished.contains(broker));
            seats.leave(
                |broker| !wished.contains(&broker),
                |broker| mutated(Mutation::C20, !fields.behind.contains(&broker), true),
            );
            for broker in fields.proven.iter().filter(|broker| wished.contains(broker)) {
                if seats.partition.is_suspect(*broker) {
                    seats.set_condition(*broker, Condition::Sound);
                }
            }
            seats.normalise();
            seats.touch();
        });
        let partition_epoch = self.existing_partition(fields.partition)?.partition_epoch;
        Ok(Answer::IsrChanged { partition_epoch })
    }

    fn checked_isr(&self, fields: &ChangeIsr) -> Result<(), Refusal> {
        self.existing_partition(fields.partition)?;
        let checked = self.check_isr(fields);
        if mutated(Mutation::C15, true, false) { checked } else { Ok(()) }
    }

    /// C2: from the current leader of the current epoch under its current registration, and every member fit.
    fn check_isr(&self, fields: &ChangeIsr) -> Result<(), Refusal> {
        let partition = self.existing_partition(fields.partition)?;
        let broker = fields.leader;
        if partition.leader != Some(broker) {
            return Err(Refusal::NotLeader { broker });
        }
        if partition.leader_epoch != fields.leader_epoch {
            let (named, current) = (fields.leader_epoch, partition.leader_epoch);
            return Err(Refusal::FencedLeaderEpoch { named, current });
        }
        let current =
            self.replica_epoch(fields.partition, broker).ok_or(Refusal::UnknownBroker { broker })?;
        if current != mutated(Mutation::C3, fields.leader_broker_epoch, current) {
            return Err(Refusal::StaleBrokerEpoch { broker, named: fields.leader_broker_epoch, current });
        }
        check_partition_epoch(partition, fields.partition_epoch)?;
        let distinct: BTreeSet<BrokerId> = fields.isr.iter().map(|(member, _)| *member).collect();
        if distinct.len() != fields.isr.len() || !distinct.contains(&broker) {
            return Err(Refusal::InvalidIsr);
        }
        fields.isr.iter().try_for_each(|(member, named)| {
            let checked = self.check_member(fields, partition, *member, *named);
            checked.map_err(|why| Refusal::IneligibleReplica { broker: *member, why })
        })
    }

    fn check_member(
        &self,
        fields: &ChangeIsr,
        partition: &Partition,
        member: BrokerId,
        named: BrokerEpoch,
    ) -> Result<(), Ineligible> {
        if partition.replica(member).is_none() {
            return Err(Ineligible::NoReplica);
        }
        if !self.is_known_as(fields, member, named) {
            return Err(Ineligible::StaleEpoch);
        }
        if partition.is_faulty(member) {
            return Err(Ineligible::Faulty);
        }
        let added = !partition.isr.contains(&member);
        match self.broker(member).map(|found| mutated(Mutation::C2, found.standing, Standing::Active)) {
            Some(Standing::Active) => Ok(()),
            Some(Standing::Registered) if !added => Ok(()),
            Some(Standing::ShuttingDown) => Err(Ineligible::ShuttingDown),
            Some(Standing::Registered | Standing::Fenced) => Err(Ineligible::Fenced),
            None => Err(Ineligible::StaleEpoch),
        }
    }

    fn is_known_as(&self, fields: &ChangeIsr, member: BrokerId, named: BrokerEpoch) -> bool {
        let same = self.replica_epoch(fields.partition, member) == Some(named);
        mutated(Mutation::C3, same, true)
    }

    pub(super) fn report_faulty(
        &mut self,
        step: &mut Step,
        fields: &ReportFaulty,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        self.current_broker(broker, fields.broker_epoch)?;
        let partition = self.existing_partition(fields.partition)?;
        self.check_replica(partition, broker)?;
        if partition.is_faulty(broker) {
            return Err(Refusal::FaultyAlready { broker });
        }
        check_partition_epoch(partition, fields.partition_epoch)?;
        self.edit_partition(step, fields.partition, |seats| {
            seats.set_condition(broker, Condition::Faulty);
            seats.lose_seat(broker);
            seats.elect();
        });
        Ok(Answer::Done)
    }

    /// From here on the replica is known under a new epoch, so that no older word about it counts.
    pub(super) fn reset_replica(
        &mut self,
        step: &mut Step,
        fields: &ResetReplica,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        self.current_broker(broker, fields.broker_epoch)?;
        let partition = self.existing_partition(fields.partition)?;
        self.check_replica(partition, broker)?;
        check_partition_epoch(partition, fields.partition_epoch)?;
        if !partition.is_faulty(broker) || partition.has_seat(broker) {
            return Err(Refusal::NotResettable { broker });
        }
        let reset = Some(BrokerEpoch(step.offset.0));
        self.edit_partition(step, fields.partition, |seats| {
            if let Some(replica) =
                seats.partition.replicas.iter_mut().find(|replica| replica.broker == broker)
            {
                replica.condition = Condition::Sound;
                replica.reset = reset;
            }
        });
        Ok(Answer::Done)
    }

    fn check_replica(&self, partition: &Partition, broker: BrokerId) -> Result<(), Refusal> {
        let replica = partition.replica(broker).map(|_| ());
        replica.ok_or(Refusal::IneligibleReplica { broker, why: Ineligible::NoReplica })
    }
}
