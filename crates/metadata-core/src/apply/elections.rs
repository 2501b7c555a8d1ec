//! Elections that somebody asks for: of the preferred leader, and unclean ones (C5).

use log_core::{BrokerEpoch, BrokerId, PartitionEpoch, TopicPartition};

use super::{Step, check_partition_epoch};
use crate::error::{Ineligible, Refusal};
use crate::image::{ClusterEventKind, ClusterImage, Condition, Partition, Standing};
use crate::outcome::{Answer, Elected};
use crate::record::{ElectPreferred, ElectUnclean, ResignLeader, SALVAGE_LEVEL, ShownEnd};

impl ClusterImage {
    pub(super) fn elect_preferred(
        &mut self,
        step: &mut Step,
        fields: &ElectPreferred,
    ) -> Result<Answer, Refusal> {
        let elected = fields.partitions.iter().map(|(key, named)| {
            let result = self.preferred_to_elect(*key, *named).map(|preferred| {
                self.edit_partition(step, *key, |seats| seats.seat_leader(preferred));
                self.elected(*key, preferred)
            });
            (*key, result)
        });
        Ok(Answer::Elected(elected.collect()))
    }

    fn preferred_to_elect(&self, key: TopicPartition, named: PartitionEpoch) -> Result<BrokerId, Refusal> {
        let partition = self.existing_partition(key)?;
        let unavailable = Refusal::PreferredLeaderNotAvailable { partition: key };
        let preferred = partition.preferred().ok_or(unavailable.clone())?;
        if partition.leader == Some(preferred) {
            return Err(Refusal::ElectionNotNeeded { partition: key });
        }
        check_partition_epoch(partition, named)?;
        let sound = partition.replica(preferred).is_some_and(|replica| replica.condition == Condition::Sound);
        let ready = sound && partition.isr.contains(&preferred) && self.lives(preferred);
        if ready { Ok(preferred) } else { Err(unavailable) }
    }

    /// Another active sound member of the ISR leads, if there is one; the one that resigned stays a member.
    pub(super) fn resign_leader(
        &mut self,
        step: &mut Step,
        fields: &ResignLeader,
    ) -> Result<Answer, Refusal> {
        let (key, broker) = (fields.partition, fields.leader);
        let partition = self.existing_partition(key)?;
        if partition.leader != Some(broker) {
            return Err(Refusal::NotLeader { broker });
        }
        if partition.leader_epoch != fields.leader_epoch {
            let (named, current) = (fields.leader_epoch, partition.leader_epoch);
            return Err(Refusal::FencedLeaderEpoch { named, current });
        }
        let sound = |other: &BrokerId| {
            partition.isr.contains(other) && self.lives(*other) && !partition.is_suspect(*other)
        };
        let other = partition.replica_brokers().filter(|other| *other != broker).find(sound);
        let leader = other.ok_or(Refusal::NoEligibleLeader { partition: key })?;
        self.edit_partition(step, key, |seats| seats.seat_leader(leader));
        Ok(Answer::Elected(vec![(key, Ok(self.elected(key, leader)))]))
    }

    pub(super) fn elect_unclean(
        &mut self,
        step: &mut Step,
        fields: &ElectUnclean,
    ) -> Result<Answer, Refusal> {
        let key = fields.partition;
        let partition = self.existing_partition(key)?;
        if partition.leader.is_some() {
            return Err(Refusal::ElectionNotNeeded { partition: key });
        }
        check_partition_epoch(partition, fields.partition_epoch)?;
        let leader = self.unclean_candidate(fields, partition)?;
        // What was said of a damaged replica before counts no more: it is cut before the damage (ADR 0016).
        let reset = partition.is_faulty(leader).then_some(BrokerEpoch(step.offset.0));
        self.edit_partition(step, key, |seats| {
            let former = seats.partition.isr.iter().chain(&seats.partition.elr).copied().collect();
            let shown = fields.shown.clone();
            seats.event(ClusterEventKind::UncleanElection { partition: key, leader, former, shown });
            seats.set_condition(leader, Condition::Sound);
            if reset.is_some() {
                seats.set_reset(leader, reset);
            }
            seats.partition.isr = vec![leader];
            seats.partition.elr.clear();
            seats.seat_leader(leader);
        });
        Ok(Answer::Elected(vec![(key, Ok(self.elected(key, leader)))]))
    }

    /// The replica named, damaged or not, else the live sound one with the greatest end shown, those with a seat first.
    fn unclean_candidate(&self, fields: &ElectUnclean, partition: &Partition) -> Result<BrokerId, Refusal> {
        let can_lead = |broker: BrokerId| self.lives(broker) && !partition.is_faulty(broker);
        if let Some(broker) = fields.broker {
            let why = match partition.replica(broker).map(|replica| replica.condition) {
                None => Some(Ineligible::NoReplica),
                Some(Condition::Faulty) if self.feature_level < SALVAGE_LEVEL => Some(Ineligible::Faulty),
                Some(_) => (!self.lives(broker)).then_some(Ineligible::Fenced),
            };
            return why.map_or(Ok(broker), |why| Err(Refusal::IneligibleReplica { broker, why }));
        }
        let shown = |broker: BrokerId| fields.shown.iter().find(|end| end.broker == broker);
        let rank = |broker: &BrokerId| {
            let end = |end: &ShownEnd| (end.last_epoch, end.end);
            (partition.has_seat(*broker), shown(*broker).map(end))
        };
        // Reversed, since of equals the last is taken and the first preferred.
        let live: Vec<BrokerId> = partition.replica_brokers().filter(|broker| can_lead(*broker)).collect();
        let best = live.into_iter().rev().max_by_key(rank);
        best.ok_or(Refusal::NoEligibleLeader { partition: fields.partition })
    }

    fn lives(&self, broker: BrokerId) -> bool {
        self.broker(broker).is_some_and(|found| found.standing == Standing::Active)
    }

    fn elected(&self, key: TopicPartition, leader: BrokerId) -> Elected {
        let leader_epoch = self.partition(key).map(|partition| partition.leader_epoch).unwrap_or_default();
        Elected { leader, leader_epoch }
    }
}
