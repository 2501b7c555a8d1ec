//! The picture of the cluster: brokers, topics, leaders. When it is asked for, and what an answer changes.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::metadata::{
    MetadataPartition, MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataTopic,
};
use kafka_wire::{ApiKey, DecodeError, ErrorCode, Uuid, decode_response};
use log_core::{MonoTime, Now};

use crate::address::{Address, Transport};
use crate::backoff::Backoff;
use crate::core::Core;
use crate::error::{ClientError, Place};
use crate::network::Lost;
use crate::purpose::Purpose;

/// How long the answer may take: everything else waits for it, and another broker can give it as well. A broker that has
/// vanished without a word is found out by that.
const PATIENCE_MAX: Duration = Duration::from_secs(5);

/// So many questions without the answer that is wanted are asked in short order, within about nine seconds: a fail-over takes less. Who
/// waits for longer asks more seldom, since thousands of others may wait as well.
const HASTY_QUESTIONS: u32 = 40;

/// What is known, and what somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) cluster_id: Option<Arc<str>>,
    pub(crate) controller: Option<i32>,
    topics: BTreeMap<Arc<str>, Topic>,
    /// Topics that producers and consumers use; the value says whether brokers may create them.
    interest: BTreeMap<Arc<str>, bool>,
    /// Grows with each answer.
    pub(crate) version: u64,
    wanted: bool,
    in_flight: bool,
    /// The last question was about topics that brokers may create, and about no others.
    asked_to_create: bool,
    failures: u32,
    not_before: MonoTime,
    updated: Option<MonoTime>,
}

/// A topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    pub(crate) partitions: BTreeMap<u32, Leader>,
    /// What is known of the replicas of those that nobody leads.
    leaderless: BTreeMap<u32, Arc<str>>,
    /// Why there are no partitions.
    error: Option<ErrorCode>,
    /// Since when brokers say that they do not know it.
    unknown_since: Option<MonoTime>,
    given_up: bool,
}

/// Who leads a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) broker: Option<i32>,
    pub(crate) epoch: i32,
}

/// The state of a topic for someone who wants to use it.
#[derive(Clone, Debug)]
pub(crate) enum TopicState<'a> {
    Unknown,
    Ready(&'a Topic),
    Failed(ClientError),
}

impl Cluster {
    /// Someone uses this topic from now on. If it had failed for others, it is asked for anew.
    pub(crate) fn add_interest(&mut self, topic: &Arc<str>, auto_create: bool) {
        if self.topics.get(topic).is_some_and(|known| known.given_up) {
            self.topics.remove(topic);
            self.wanted = true;
        }
        match self.interest.get_mut(topic) {
            Some(allowed) => *allowed |= auto_create,
            None => {
                self.interest.insert(Arc::clone(topic), auto_create);
                self.wanted = true;
            }
        }
    }

    /// What is known is wrong or missing.
    pub(crate) const fn want_update(&mut self) {
        self.wanted = true;
    }

    /// Whether any answer has come yet.
    pub(crate) const fn is_known(&self) -> bool {
        self.updated.is_some()
    }

    pub(crate) fn topic(&self, name: &Arc<str>) -> TopicState<'_> {
        let Some(topic) = self.topics.get(name) else { return TopicState::Unknown };
        match topic.error {
            None if !topic.partitions.is_empty() => TopicState::Ready(topic),
            Some(code) if topic.given_up => {
                TopicState::Failed(ClientError::broker(code, None, Place::topic(name)))
            }
            _ => TopicState::Unknown,
        }
    }

    /// Nobody uses the topic any more, or it has failed: whoever comes next makes it be asked for anew.
    pub(crate) fn drop_interest(&mut self, name: &Arc<str>) {
        self.topics.remove(name);
        self.interest.remove(name);
    }

    /// The topic was deleted: what was known of it is of no use.
    pub(crate) fn forget_topic(&mut self, name: &Arc<str>) {
        if self.topics.remove(name).is_some() {
            self.wanted = true;
        }
    }

    pub(crate) fn leader(&self, topic: &Arc<str>, partition: u32) -> Option<Leader> {
        self.topics.get(topic)?.partitions.get(&partition).copied()
    }

    /// Why a partition has no leader, if brokers say that it has none: the cause for whoever waits for one in vain.
    pub(crate) fn leaderless(&self, topic: &Arc<str>, partition: u32) -> Option<ClientError> {
        let why = self.topics.get(topic)?.leaderless.get(&partition)?;
        let place = Place::partition(topic, partition);
        Some(ClientError::broker(ErrorCode::LeaderNotAvailable, Some(Arc::clone(why)), place))
    }

    pub(crate) fn topic_id(&self, topic: &Arc<str>) -> Uuid {
        self.topics.get(topic).map_or(Uuid::NONE, |topic| topic.id)
    }

    pub(crate) fn topic_name(&self, id: Uuid) -> Option<Arc<str>> {
        let mut named = self.topics.iter();
        named.find(|(_, topic)| topic.id == id).map(|(name, _)| Arc::clone(name))
    }

    /// Whether one of these brokers leads a partition that somebody uses.
    fn is_led_by_any(&self, brokers: &BTreeSet<i32>) -> bool {
        let topics = self.interest.keys().filter_map(|name| self.topics.get(name));
        let mut leaders = topics.flat_map(|topic| topic.partitions.values()).filter_map(|found| found.broker);
        !brokers.is_empty() && leaders.any(|leader| brokers.contains(&leader))
    }

    /// What to ask next: the topics, and whether a broker may create them. The permission is one for a whole question, so where
    /// not every topic has it, those that are missing and may be created are asked for by themselves, every other time.
    fn next_question(&self) -> (Vec<&str>, bool) {
        let mixed = self.interest.values().any(|allowed| *allowed != self.may_create_any());
        if mixed && !self.asked_to_create {
            let missing = self.interest.iter().filter(|(name, allowed)| **allowed && self.is_missing(name));
            let missing: Vec<&str> = missing.map(|(name, _)| &**name).collect();
            if !missing.is_empty() {
                return (missing, true);
            }
        }
        (self.interest.keys().map(|name| &**name).collect(), !mixed && self.may_create_any())
    }

    fn may_create_any(&self) -> bool {
        self.interest.values().any(|allowed| *allowed)
    }

    /// Whether brokers say that there is no such topic.
    fn is_missing(&self, name: &Arc<str>) -> bool {
        let known = self.topics.get(name);
        known.is_some_and(|topic| topic.error == Some(ErrorCode::UnknownTopicOrPartition) && !topic.given_up)
    }

    fn is_due(&self, now: Now, age_max: Duration) -> bool {
        let old = self.updated.is_none_or(|updated| now.mono.since(updated) >= age_max);
        (self.wanted || (old && !self.interest.is_empty())) && !self.in_flight && self.not_before <= now.mono
    }

    /// What is due already waits for a connection, not for a time.
    fn next_check(&self, now: Now, age_max: Duration) -> Option<MonoTime> {
        let by_age = self.updated.map(|updated| updated.after(age_max).max(self.not_before));
        let at = if self.wanted { Some(self.not_before) } else { by_age };
        at.filter(|at| *at > now.mono && !self.in_flight)
    }

    fn update_topic(
        &mut self,
        now: Now,
        unknown_wait: Duration,
        answer: &MetadataTopic<'_>,
        live: &BTreeSet<i32>,
    ) -> bool {
        let Some(name) = answer.name.as_deref().map(Arc::<str>::from) else { return true };
        if !self.interest.contains_key(&name) {
            return true;
        }
        let before = self.topics.remove(&name);
        let mut topic = Topic {
            id: answer.topic_id,
            partitions: BTreeMap::new(),
            leaderless: BTreeMap::new(),
            error: (!answer.error_code.is_ok()).then_some(answer.error_code),
            unknown_since: None,
            given_up: false,
        };
        if let Some(code) = topic.error {
            let since = before.as_ref().and_then(|before| before.unknown_since).unwrap_or(now.mono);
            topic.unknown_since = Some(since);
            topic.given_up = !code.is_retriable() || now.mono.since(since) >= unknown_wait;
            // A topic that was there a moment ago is not gone because one broker lags behind.
            if let Some(before) = before.filter(|before| before.error.is_none() && !topic.given_up) {
                topic = Topic { unknown_since: Some(since), ..before };
            }
            let settled = topic.given_up;
            self.topics.insert(name, topic);
            return settled;
        }
        let same = before.filter(|before| before.id == topic.id);
        let mut settled = true;
        for partition in &answer.partitions {
            let Ok(index) = u32::try_from(partition.partition_index) else { continue };
            let old = same.as_ref().and_then(|before| before.partitions.get(&index));
            let leader = newest(old, partition);
            settled &= leader.broker.is_some();
            if leader.broker.is_none() {
                topic.leaderless.insert(index, why_leaderless(partition, live).into());
            }
            topic.partitions.insert(index, leader);
        }
        self.topics.insert(name, topic);
        settled
    }
}

/// What to believe of a partition: a broker that lags behind may name a leader of an older epoch.
fn newest(old: Option<&Leader>, answer: &MetadataPartition) -> Leader {
    let broker = (answer.leader_id >= 0).then_some(answer.leader_id);
    let told = Leader { broker, epoch: answer.leader_epoch };
    match old {
        Some(old) if told.epoch >= 0 && told.epoch < old.epoch => *old,
        _ => told,
    }
}

/// What the answer tells of the replicas of a partition that nobody leads. One that is offline though its broker is there is
/// damaged, or on a disk that cannot be read.
fn why_leaderless(answer: &MetadataPartition, live: &BTreeSet<i32>) -> String {
    let named = |nodes: Vec<i32>, what: &str| {
        let ids = nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let noun = if nodes.len() == 1 { "node" } else { "nodes" };
        (!nodes.is_empty()).then(|| format!("{what} {noun} {ids}"))
    };
    let offline = answer.offline_replicas.iter().copied();
    let (damaged, down) = offline.partition(|node| live.contains(node));
    let told: Vec<String> =
        [named(damaged, "damaged on"), named(down, "not there on")].into_iter().flatten().collect();
    if told.is_empty() {
        return "the partition has no leader".to_owned();
    }
    format!("the partition has no leader; its replicas: {}", told.join(", "))
}

impl Core {
    /// Asks for metadata if it is time to.
    pub(crate) fn drive_metadata(&mut self, now: Now) {
        if !self.cluster.is_due(now, self.options.metadata_age_max) {
            return;
        }
        let Some(connection) = self.any_connection(now) else { return };
        let Some(version) = self.network.version(connection, ApiKey::Metadata, i16::MAX) else { return };
        let (topics, may_create) = self.cluster.next_question();
        let named =
            |name: &str| MetadataRequestTopic { topic_id: Uuid::NONE, name: Some(name.to_owned().into()) };
        let request = MetadataRequest {
            // In version 0 an empty list means all topics; they are not kept.
            topics: Some(topics.iter().map(|name| named(name)).collect()),
            allow_auto_topic_creation: may_create,
            ..MetadataRequest::default()
        };
        self.cluster.asked_to_create = may_create && topics.len() < self.cluster.interest.len();
        self.cluster.in_flight = true;
        self.cluster.wanted = false;
        let patience = self.options.request_timeout.min(PATIENCE_MAX);
        self.send(now, connection, version, &request, Purpose::Metadata, patience);
    }

    pub(crate) fn metadata_timeout(&self, now: Now) -> Option<MonoTime> {
        self.cluster.next_check(now, self.options.metadata_age_max)
    }

    pub(crate) fn on_metadata_lost(&mut self, now: Now) {
        self.cluster.in_flight = false;
        self.cluster.wanted = true;
        self.cluster.failures += 1;
        let failures = self.cluster.failures;
        self.cluster.not_before = self.ask_again_at(now, failures);
    }

    /// When metadata may be asked for again after so many answers in a row that did not help.
    fn ask_again_at(&mut self, now: Now, failures: u32) -> MonoTime {
        let backoff = if failures <= HASTY_QUESTIONS { Backoff::LEADERS } else { Backoff::REQUEST };
        now.mono.after(backoff.delay(failures, &mut self.random))
    }

    /// Takes an answer in. Gives the requests that were lost because brokers have moved.
    pub(crate) fn on_metadata(
        &mut self,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<Vec<Lost>, DecodeError> {
        let (_, answer) = decode_response::<MetadataResponse<'_>>(frame, version)?;
        self.cluster.in_flight = false;
        let transport = self.network.transport();
        let brokers: BTreeMap<i32, Address> = answer
            .brokers
            .iter()
            .filter_map(|broker| {
                Some((broker.node_id, broker_address(transport, &broker.host, broker.port)?))
            })
            .collect();
        if let Some(id) = answer.cluster_id.as_deref() {
            self.cluster.cluster_id = Some(id.into());
        }
        self.cluster.controller = (answer.controller_id >= 0).then_some(answer.controller_id);
        let mut settled = !brokers.is_empty();
        let live: BTreeSet<i32> = answer.brokers.iter().map(|broker| broker.node_id).collect();
        let answered: BTreeSet<&str> =
            answer.topics.iter().filter_map(|topic| topic.name.as_deref()).collect();
        settled &= self.cluster.interest.keys().all(|name| answered.contains(&**name));
        for topic in &answer.topics {
            settled &= self.cluster.update_topic(now, self.options.unknown_topic_wait, topic, &live);
        }
        // A leader that cannot be reached is about to be another one: the news is waited for, not just the leader.
        settled &= !self.cluster.is_led_by_any(&self.network.brokers_in_trouble(now));
        self.cluster.version += 1;
        self.cluster.updated = Some(now.mono);
        self.metrics.metadata_updates += 1;
        self.cluster.failures = if settled { 0 } else { self.cluster.failures + 1 };
        self.cluster.wanted |= !settled;
        // Even good news is not asked for more often than this.
        let failures = self.cluster.failures.max(1);
        self.cluster.not_before = self.ask_again_at(now, failures);
        // A cluster without a broker is a broker that has just begun to live: keep the picture there was.
        Ok(if brokers.is_empty() { Vec::new() } else { self.set_brokers(brokers) })
    }
}

/// Where a broker is, if what it says of itself can be. A broker in the same process has no port: 0.
pub(crate) fn broker_address(transport: Transport, host: &str, port: i32) -> Option<Address> {
    let port = u16::try_from(port).ok()?;
    (!host.is_empty()).then(|| Address { transport, host: host.into(), port })
}
