//! Registration, fencing, shutting down, removal (C3, C4).

use std::collections::BTreeSet;
use std::sync::Arc;

use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicPartition};

use super::Step;
use super::seats::Seats;
use crate::error::Refusal;
use crate::image::{Broker, ClusterImage, Condition, Standing};
use crate::outcome::{Answer, Change};
use crate::record::{
    AnnounceBrowserDoor, BrokerShuttingDown, FenceBrokers, REGISTERED_LIVES_LEVEL, RegisterBroker,
    SuspectReport, UnfenceBroker, UnregisterBroker,
};

impl ClusterImage {
    pub(super) fn register_broker(
        &mut self,
        step: &mut Step,
        fields: &RegisterBroker,
    ) -> Result<Answer, Refusal> {
        self.check_registration(fields)?;
        let broker = fields.broker;
        let known = self
            .broker(broker)
            .is_some_and(|found| mutated(Mutation::C16, found.directory == fields.directory, true));
        let broker_epoch = BrokerEpoch(step.offset.0);
        Arc::make_mut(&mut self.brokers).insert(broker, Arc::new(registered(broker_epoch, fields)));
        if self.reserved.contains_key(&broker) {
            Arc::make_mut(&mut self.reserved).remove(&broker);
        }
        step.changes.push(Change::Broker(broker));
        if !known {
            // Its certificates are gone with the directory.
            self.forget_browser_door(step, broker);
        }
        let findings = Findings::new(fields);
        self.edit_partitions(
            step,
            |partition| partition.replica(broker).is_some(),
            |seats| {
                if !known {
                    begin_anew(seats, broker);
                }
                // Also of a new directory: an earlier start with it may have gone by without a registration.
                findings.judge(seats, broker);
                seats.elect();
            },
        );
        Ok(Answer::Registered { broker_epoch })
    }

    fn check_registration(&self, fields: &RegisterBroker) -> Result<(), Refusal> {
        let broker = fields.broker;
        if broker.0 < 0 {
            return Err(Refusal::InvalidBrokerId { broker });
        }
        if fields.feature_level_max < self.feature_level {
            let (asked, level) = (fields.feature_level_max, self.feature_level);
            return Err(Refusal::FeatureLevelRefused { asked, level, broker });
        }
        if self.reserved.get(&broker).is_some_and(|kept| kept.directory != fields.directory) {
            return Err(Refusal::ReservedBroker { broker });
        }
        let Some(found) = self.broker(broker) else { return Ok(()) };
        if found.incarnation >= fields.incarnation {
            return Err(Refusal::StaleIncarnation { broker, current: found.incarnation });
        }
        if self.holds_its_id(found) && found.directory != fields.directory {
            return Err(Refusal::DuplicateBroker { broker });
        }
        Ok(())
    }

    /// Whether a broker counts as live against another directory with its id (C3). One that has just registered does: its
    /// session runs, and all its seats are kept for it.
    pub(super) fn holds_its_id(&self, found: &Broker) -> bool {
        let registered = found.standing == Standing::Registered;
        found.is_active() || registered && self.feature_level >= REGISTERED_LIVES_LEVEL
    }

    pub(super) fn unregister_broker(
        &mut self,
        step: &mut Step,
        fields: &UnregisterBroker,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        let found = match fields.broker_epoch {
            Some(named) => self.current_broker(broker, named)?,
            None => self.broker(broker).ok_or(Refusal::UnknownBroker { broker })?,
        };
        if matches!(found.standing, Standing::Active | Standing::Registered) {
            return Err(Refusal::BrokerLives { broker });
        }
        Arc::make_mut(&mut self.brokers).remove(&broker);
        step.changes.push(Change::Broker(broker));
        self.forget_browser_door(step, broker);
        self.edit_partitions(
            step,
            |partition| partition.replica(broker).is_some(),
            |seats| {
                begin_anew(seats, broker);
                seats.elect();
            },
        );
        let holding: Vec<_> = self.removals_of(broker).collect();
        self.drop_holder(step, broker, &holding);
        Ok(Answer::Done)
    }

    pub(super) fn fence_brokers(
        &mut self,
        step: &mut Step,
        fields: &FenceBrokers,
    ) -> Result<Answer, Refusal> {
        let expired = |(broker, named): &(BrokerId, BrokerEpoch)| {
            let found = self.broker(*broker).filter(|found| found.epoch == *named)?;
            matches!(found.standing, Standing::Active | Standing::Registered).then_some(*broker)
        };
        let expired: BTreeSet<BrokerId> = fields.brokers.iter().filter_map(expired).collect();
        self.stand_down(step, &expired, Standing::Fenced);
        Ok(Answer::Fenced(expired.into_iter().collect()))
    }

    pub(super) fn unfence_broker(
        &mut self,
        step: &mut Step,
        fields: &UnfenceBroker,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        match self.current_broker(broker, fields.broker_epoch)?.standing {
            Standing::Active => return Err(Refusal::BrokerStands { broker }),
            Standing::ShuttingDown => return Err(Refusal::BrokerShuttingDown { broker }),
            Standing::Registered | Standing::Fenced => {}
        }
        self.edit_broker(step, broker, |found| found.standing = Standing::Active);
        self.edit_partitions(
            step,
            |partition| partition.leader.is_none() && partition.replica(broker).is_some(),
            |seats| seats.elect(),
        );
        Ok(Answer::Done)
    }

    pub(super) fn shut_down_broker(
        &mut self,
        step: &mut Step,
        fields: &BrokerShuttingDown,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        if self.current_broker(broker, fields.broker_epoch)?.standing == Standing::ShuttingDown {
            return Err(Refusal::BrokerStands { broker });
        }
        self.stand_down(step, &BTreeSet::from([broker]), Standing::ShuttingDown);
        Ok(Answer::Done)
    }

    pub(super) fn announce_browser_door(
        &mut self,
        step: &mut Step,
        fields: &AnnounceBrowserDoor,
    ) -> Result<Answer, Refusal> {
        let broker = fields.broker;
        self.current_broker(broker, fields.broker_epoch)?;
        Arc::make_mut(&mut self.browser_doors).insert(broker, fields.door.clone());
        step.changes.push(Change::BrowserDoor(broker));
        Ok(Answer::Done)
    }

    fn forget_browser_door(&mut self, step: &mut Step, broker: BrokerId) {
        if self.browser_doors.contains_key(&broker) {
            Arc::make_mut(&mut self.browser_doors).remove(&broker);
            step.changes.push(Change::BrowserDoor(broker));
        }
    }

    /// Some brokers lead no more and are in no ISR, all in one step, so that each who leaves while too few remain enters
    /// the ELR whatever their order (C4).
    fn stand_down(&mut self, step: &mut Step, leaving: &BTreeSet<BrokerId>, standing: Standing) {
        for broker in leaving {
            self.edit_broker(step, *broker, |found| found.standing = standing);
        }
        self.edit_partitions(
            step,
            |partition| partition.isr.iter().chain(&partition.leader).any(|broker| leaving.contains(broker)),
            |seats| {
                seats.leave(|broker| leaving.contains(&broker), |_| true);
                seats.elect();
            },
        );
    }
}

fn registered(epoch: BrokerEpoch, fields: &RegisterBroker) -> Broker {
    Broker {
        id: fields.broker,
        epoch,
        directory: fields.directory,
        incarnation: fields.incarnation,
        rack: fields.rack.clone(),
        endpoints: fields.endpoints.clone(),
        shards: fields.shards,
        feature_level_max: fields.feature_level_max,
        clean_start: fields.report.clean,
        standing: Standing::Registered,
    }
}

/// What the broker acknowledged is gone with its directory: it loses every seat, even the last (C3).
fn begin_anew(seats: &mut Seats<'_>, broker: BrokerId) {
    if let Some(replica) = seats.partition.replicas.iter_mut().find(|replica| replica.broker == broker) {
        replica.condition = Condition::Sound;
        replica.reset = None;
    }
    let last = seats.partition.isr.iter().chain(&seats.partition.elr).all(|member| *member == broker);
    if mutated(Mutation::C17, true, !last) {
        seats.lose_seat(broker);
    }
}

/// What a start found, by partition.
struct Findings {
    suspect: std::collections::BTreeMap<TopicPartition, (LeaderEpoch, Offset)>,
    faulty: BTreeSet<TopicPartition>,
}

impl Findings {
    fn new(fields: &RegisterBroker) -> Self {
        let found = |report: &SuspectReport| (report.partition, (report.last_epoch, report.end));
        Self {
            suspect: fields.report.suspect.iter().map(found).collect(),
            faulty: fields.report.faulty.iter().copied().collect(),
        }
    }

    /// A replica that is verified keeps its seat (what it acknowledged is on its disk), and an earlier suspicion: only a
    /// leader's word or its own election ends that. A faulty one loses its seat and stays faulty until it is emptied.
    fn judge(&self, seats: &mut Seats<'_>, broker: BrokerId) {
        let key = seats.key;
        if self.faulty.contains(&key) || seats.partition.is_faulty(broker) {
            seats.set_condition(broker, Condition::Faulty);
            seats.lose_seat(broker);
        } else if let Some((last_epoch, end)) = self.suspect.get(&key) {
            seats.set_condition(broker, Condition::Suspect { last_epoch: *last_epoch, end: *end });
        }
    }
}
