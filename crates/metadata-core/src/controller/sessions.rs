//! Sessions: who was heard when, who has expired, who may come back (C4, B2).

use std::collections::BTreeMap;
use std::time::Duration;

use log_core::mutation::{Mutation, mutated};
use log_core::{BrokerEpoch, BrokerId, DirectoryId, MetadataOffset, MonoTime};

use super::{CAUGHT_UP_ENTRIES, DEPOSED_GRACE, Heartbeat, PROPOSAL_RETRY, SESSION_TIMEOUT};
use crate::image::{Broker, ClusterImage, Standing};
use crate::record::{FenceBrokers, MetadataRecord, UnfenceBroker};

/// The sessions of all brokers that are not fenced, and proposals whose effect is awaited.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    live: BTreeMap<BrokerId, Session>,
    unfencing: BTreeMap<BrokerId, (BrokerEpoch, MonoTime)>,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    epoch: BrokerEpoch,
    heard: MonoTime,
    /// When the fencing was proposed last.
    fencing: Option<MonoTime>,
}

impl Sessions {
    /// All sessions as a new controller counts them. It has heard nobody, so all begin now; but the controller before it has
    /// answered its own heartbeats until it fell silent, which is why there is a new one.
    pub(super) fn counted_anew(
        now: MonoTime,
        image: &ClusterImage,
        before: Option<(DirectoryId, MonoTime)>,
    ) -> Self {
        let mut sessions = Self::default();
        image.brokers().for_each(|broker| sessions.open(now, broker));
        if let Some((directory, answered)) = before
            && let Some(broker) = image.broker_of_directory(directory)
            && let Some(session) = sessions.live.get_mut(&broker.id)
        {
            let spent = now.since(answered).min(SESSION_TIMEOUT.saturating_sub(DEPOSED_GRACE));
            session.heard = now.before(spent);
        }
        sessions
    }

    /// A registered incarnation was heard; gives the record that lets it back in, if it may come.
    pub(super) fn heard(
        &mut self,
        now: MonoTime,
        broker: &Broker,
        beat: &Heartbeat,
        applied: Option<MetadataOffset>,
    ) -> Option<MetadataRecord> {
        if let Some(session) = self.live.get_mut(&broker.id) {
            session.heard = now;
            session.fencing = None;
        }
        if !may_come_back(broker, beat, applied) || self.is_unfencing(now, broker) {
            return None;
        }
        self.unfencing.insert(broker.id, (broker.epoch, now));
        let (broker, broker_epoch) = (broker.id, broker.epoch);
        Some(MetadataRecord::UnfenceBroker(UnfenceBroker { broker, broker_epoch }))
    }

    /// A broker's registration or standing is another now. A registration counts as heard.
    pub(super) fn changed(&mut self, now: MonoTime, broker: BrokerId, image: &ClusterImage) {
        self.unfencing.remove(&broker);
        match image.broker(broker) {
            Some(found) if counts(found) => {
                let same = self.live.get(&broker).is_some_and(|session| session.epoch == found.epoch);
                if !same {
                    self.open(now, found);
                }
            }
            _ => {
                self.live.remove(&broker);
            }
        }
    }

    /// This controller itself stood still for that long, and heard nobody: nobody is blamed for it.
    pub(super) fn forgive(&mut self, stalled: Duration) {
        for session in self.live.values_mut() {
            session.heard = session.heard.after(stalled);
        }
    }

    /// All that have expired by now, in one record; one that was proposed shortly ago is not proposed again.
    pub(super) fn expire(&mut self, now: MonoTime) -> Option<MetadataRecord> {
        let expired = |session: &Session| now >= session.heard.after(SESSION_TIMEOUT);
        let due = |session: &Session| session.fencing.is_none_or(|at| now >= at.after(PROPOSAL_RETRY));
        if !self.live.values().any(|session| expired(session) && due(session)) {
            return None;
        }
        let mut brokers = Vec::new();
        for (broker, session) in self.live.iter_mut().filter(|(_, session)| expired(session)) {
            session.fencing = Some(now);
            brokers.push((*broker, session.epoch));
        }
        Some(MetadataRecord::FenceBrokers(FenceBrokers { brokers }))
    }

    pub(super) fn poll_timeout(&self) -> Option<MonoTime> {
        let due = |session: &Session| match session.fencing {
            Some(at) => at.after(PROPOSAL_RETRY),
            None => session.heard.after(SESSION_TIMEOUT),
        };
        self.live.values().map(due).min()
    }

    fn open(&mut self, now: MonoTime, broker: &Broker) {
        if counts(broker) {
            self.live.insert(broker.id, Session { epoch: broker.epoch, heard: now, fencing: None });
        }
    }

    fn is_unfencing(&self, now: MonoTime, broker: &Broker) -> bool {
        let recent =
            |(epoch, at): &(BrokerEpoch, MonoTime)| *epoch == broker.epoch && now < at.after(PROPOSAL_RETRY);
        self.unfencing.get(&broker.id).is_some_and(recent)
    }
}

/// Whether a session of it is counted: one that is fenced already has none.
const fn counts(broker: &Broker) -> bool {
    matches!(broker.standing, Standing::Registered | Standing::Active)
}

/// Only a broker that has applied its own registration, and most of what came since, is let in (B2).
fn may_come_back(broker: &Broker, beat: &Heartbeat, applied: Option<MetadataOffset>) -> bool {
    let waits = matches!(broker.standing, Standing::Registered | Standing::Fenced);
    let here = applied.map_or(0, |offset| offset.0);
    let there = beat.applied.map_or(-1, |offset| offset.0);
    let caught_up = there >= broker.epoch.0 && there.saturating_add(CAUGHT_UP_ENTRIES) >= here;
    let registered = beat.broker_epoch == Some(broker.epoch) && caught_up;
    waits && mutated(Mutation::B2, registered, true)
}
