//! Connections: which there are, what they are for, how they come to be usable, and which answers they owe.
//!
//! Answers of one connection come strictly in the order of its requests, and a request that waits at the broker (a
//! fetch at the end of a log, a produce short of replicas, a join) holds up all behind it. So each kind of traffic has
//! its own connection to a broker: its *channel*.
//!
//! ```text
//! Connecting --connected--> Negotiating --versions--> Ready --closed, deadline, bad bytes--> gone
//! ```

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::api_versions::ApiVersion;
use kafka_wire::{ApiKey, Body, Encode, encode_request, response_correlation_id};
use log_core::{MonoTime, Now};

use crate::action::{Action, ConnectionId, ConsumerHandle};
use crate::address::Address;
use crate::backoff::Backoff;
use crate::core::{Core, earliest};
use crate::error::{ClientError, Damage, NetworkCause, NetworkError, Phase};
use crate::purpose::Purpose;

mod versions;

/// The version of `ApiVersions` that is tried first; brokers that do not know it say which they know.
const VERSIONS_FIRST: i16 = 4;

/// When any broker will do and one does not let us in for this long, another one is tried beside it.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(500);

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Channel {
    /// Metadata, offsets and admin: short questions.
    General,
    /// Produce requests.
    Produce,
    /// Fetches of one consumer; two lanes, so that partitions which become ready need not wait for a fetch on its way.
    Fetch(ConsumerHandle, u8),
    /// A group member's talk with its coordinator.
    Group(ConsumerHandle),
}

/// Who is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// An address of the bootstrap list, by its place in it.
    Seed(usize),
    /// A broker that metadata names.
    Broker(i32),
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Network {
    seeds: Vec<Address>,
    brokers: BTreeMap<i32, Address>,
    connections: BTreeMap<ConnectionId, Connection>,
    by_use: BTreeMap<(Target, Channel), ConnectionId>,
    troubles: BTreeMap<Target, Trouble>,
    /// Targets that somebody wanted while they were in trouble: looked at again when the trouble is over.
    wanted: BTreeSet<Target>,
    next_connection: u64,
    next_seed: usize,
    last_error: Option<NetworkError>,
}

/// One connection.
#[derive(Debug)]
struct Connection {
    target: Target,
    channel: Channel,
    address: Address,
    begun: MonoTime,
    stage: Stage,
    /// What the broker speaks, by key.
    versions: BTreeMap<i16, ApiVersion>,
    in_flight: VecDeque<InFlight>,
    next_correlation: i32,
    quiet_until: MonoTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting { deadline: MonoTime },
    Negotiating { deadline: MonoTime },
    Ready,
}

/// A request whose answer is awaited.
#[derive(Debug)]
struct InFlight {
    correlation: i32,
    version: i16,
    deadline: MonoTime,
    purpose: Purpose,
}

/// Failures in a row of one target.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    failures: u32,
    until: MonoTime,
}

/// An answer that has come.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) connection: ConnectionId,
    pub(crate) purpose: Purpose,
    pub(crate) version: i16,
    pub(crate) frame: Bytes,
}

/// Requests whose answers will never come, with the reason.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) purposes: Vec<Purpose>,
    pub(crate) error: NetworkError,
}

impl Network {
    pub(crate) const fn new(seeds: Vec<Address>) -> Self {
        Self {
            seeds,
            brokers: BTreeMap::new(),
            connections: BTreeMap::new(),
            by_use: BTreeMap::new(),
            troubles: BTreeMap::new(),
            wanted: BTreeSet::new(),
            next_connection: 0,
            next_seed: 0,
            last_error: None,
        }
    }

    /// The last thing that went wrong with any connection.
    pub(crate) const fn last_error(&self) -> Option<&NetworkError> {
        self.last_error.as_ref()
    }

    /// Where a connection leads.
    pub(crate) fn address(&self, connection: ConnectionId) -> Option<&Address> {
        self.connections.get(&connection).map(|found| &found.address)
    }

    /// The version to use for an API on a usable connection, at most `highest`; none if there is no common one.
    pub(crate) fn version(&self, connection: ConnectionId, key: ApiKey, highest: i16) -> Option<i16> {
        let told = self.connections.get(&connection)?.versions.get(&key.number())?;
        let capped = ApiVersion { max_version: told.max_version.min(highest), ..told.clone() };
        key.common_version(&capped)
    }

    /// Requests on their way over a connection.
    pub(crate) fn in_flight(&self, connection: ConnectionId) -> usize {
        self.connections.get(&connection).map_or(0, |found| found.in_flight.len())
    }

    /// Whether every bootstrap address has failed this many times in a row.
    pub(crate) fn all_seeds_failed(&self, times: u32) -> bool {
        let failures = |index| self.troubles.get(&Target::Seed(index)).map_or(0, |trouble| trouble.failures);
        (0..self.seeds.len()).all(|index| failures(index) >= times)
    }

    /// The brokers that metadata names.
    pub(crate) fn broker_ids(&self) -> impl Iterator<Item = i32> {
        self.brokers.keys().copied()
    }

    pub(crate) fn is_known(&self, broker: i32) -> bool {
        self.brokers.contains_key(&broker)
    }

    /// The transport that the user chose, which brokers named by metadata are reached by as well.
    pub(crate) fn transport(&self) -> crate::address::Transport {
        self.seeds.first().map(|seed| seed.transport).unwrap_or_default()
    }

    fn usable(&self, now: Now, connection: ConnectionId) -> bool {
        let found = self.connections.get(&connection);
        found.is_some_and(|found| found.stage == Stage::Ready && found.quiet_until <= now.mono)
    }

    /// Whether the connection is not usable yet although it was begun a while ago.
    fn lets_wait(&self, now: Now, connection: ConnectionId) -> bool {
        let found = self.connections.get(&connection);
        found.is_none_or(|found| {
            found.stage != Stage::Ready && now.mono.since(found.begun) >= NEXT_ADDRESS_AFTER
        })
    }

    fn address_of(&self, target: Target) -> Option<&Address> {
        match target {
            Target::Seed(index) => self.seeds.get(index),
            Target::Broker(id) => self.brokers.get(&id),
        }
    }

    fn is_in_trouble(&self, now: Now, target: Target) -> bool {
        self.troubles.get(&target).is_some_and(|trouble| trouble.until > now.mono)
    }

    /// Whether the broker is there, as far as is known, and did not refuse a connection a moment ago.
    pub(crate) fn may_be_reached(&self, now: Now, broker: i32) -> bool {
        self.is_known(broker) && !self.is_in_trouble(now, Target::Broker(broker))
    }

    /// The brokers that could not be reached a moment ago.
    pub(crate) fn brokers_in_trouble(&self, now: Now) -> BTreeSet<i32> {
        let recent = self.troubles.iter().filter(|(_, trouble)| trouble.until > now.mono);
        let broker = |target: &Target| match target {
            Target::Broker(id) => Some(*id),
            Target::Seed(_) => None,
        };
        recent.filter_map(|(target, _)| broker(target)).collect()
    }

    /// Whom to try next when any broker will do: brokers and seeds in turn.
    fn next_target(&mut self, now: Now) -> Option<Target> {
        let brokers = self.brokers.keys().map(|id| Target::Broker(*id));
        let all: Vec<Target> = brokers.chain((0..self.seeds.len()).map(Target::Seed)).collect();
        for step in 0..all.len() {
            let index = (self.next_seed + step) % all.len();
            let target = all.get(index).copied()?;
            if self.by_use.contains_key(&(target, Channel::General)) {
                continue;
            }
            if !self.is_in_trouble(now, target) {
                self.next_seed = index + 1;
                return Some(target);
            }
            self.wanted.insert(target);
        }
        None
    }
}

impl Core {
    /// A usable connection to a broker for this kind of traffic. If there is none, one is made and `None` given now.
    pub(crate) fn connection(&mut self, now: Now, broker: i32, channel: Channel) -> Option<ConnectionId> {
        self.connection_to(now, Target::Broker(broker), channel)
    }

    /// A usable connection for short questions to any broker, the one with the least on its way.
    pub(crate) fn any_connection(&mut self, now: Now) -> Option<ConnectionId> {
        let general = self.network.by_use.iter().filter(|((_, channel), _)| *channel == Channel::General);
        let all: Vec<ConnectionId> = general.map(|(_, connection)| *connection).collect();
        let usable = all.iter().copied().filter(|connection| self.network.usable(now, *connection));
        if let Some(best) = usable.min_by_key(|connection| self.network.in_flight(*connection)) {
            return Some(best);
        }
        // The next address is tried when those before have failed or let us wait: not all at once, that would be a storm.
        if all.iter().all(|connection| self.network.lets_wait(now, *connection)) {
            let target = self.network.next_target(now)?;
            self.connection_to(now, target, Channel::General);
        }
        None
    }

    /// Sends a request. Its answer, or the loss of it, comes back with `purpose`.
    pub(crate) fn send<B: Body + Encode>(
        &mut self,
        now: Now,
        connection: ConnectionId,
        version: i16,
        body: &B,
        purpose: Purpose,
        patience: Duration,
    ) {
        let correlation = self.write(connection, version, body);
        let (Some(correlation), Some(found)) = (correlation, self.network.connections.get_mut(&connection))
        else {
            return;
        };
        let deadline = now.mono.after(patience);
        found.in_flight.push_back(InFlight { correlation, version, deadline, purpose });
        self.metrics.requests_in_flight += 1;
    }

    /// Sends a request that has no answer.
    pub(crate) fn send_unanswered<B: Body + Encode>(
        &mut self,
        connection: ConnectionId,
        version: i16,
        body: &B,
    ) {
        self.write(connection, version, body);
    }

    /// The broker has asked for silence on this connection (KIP-219). It gets as much as a request has for its answer:
    /// a broker that means more is silent itself, and a number out of a damaged answer must not stop the client for days.
    pub(crate) fn throttle(&mut self, now: Now, connection: ConnectionId, throttle_time_ms: i32) {
        let asked = Duration::from_millis(u64::try_from(throttle_time_ms).unwrap_or(0));
        let quiet = asked.min(self.options.request_timeout);
        if quiet.is_zero() {
            return;
        }
        self.metrics.throttle_time += quiet;
        if let Some(found) = self.network.connections.get_mut(&connection) {
            found.quiet_until = found.quiet_until.max(now.mono.after(quiet));
        }
    }

    /// The cluster's brokers as metadata names them. Connections to those that moved or are gone are closed; a
    /// connection made by a bootstrap address becomes its broker's if the address is the same.
    pub(crate) fn set_brokers(&mut self, brokers: BTreeMap<i32, Address>) -> Vec<Lost> {
        let adopted: Vec<(ConnectionId, Target)> = self
            .network
            .connections
            .iter()
            .filter(|(_, connection)| matches!(connection.target, Target::Seed(_)))
            .filter_map(|(id, connection)| {
                let broker = brokers.iter().find(|(_, address)| **address == connection.address);
                broker.map(|(broker, _)| (*id, Target::Broker(*broker)))
            })
            .collect();
        for (id, target) in adopted {
            self.adopt(id, target);
        }
        let moved: Vec<ConnectionId> = self
            .network
            .connections
            .iter()
            .filter(|(_, connection)| match connection.target {
                Target::Broker(broker) => brokers.get(&broker) != Some(&connection.address),
                Target::Seed(_) => false,
            })
            .map(|(id, _)| *id)
            .collect();
        self.network.brokers = brokers;
        let close = |id| self.drop_connection(id, NetworkCause::Closed, true);
        moved.into_iter().filter_map(close).collect()
    }

    /// Closes what one consumer used.
    pub(crate) fn close_channels(&mut self, consumer: ConsumerHandle) {
        let own = |channel| match channel {
            Channel::Fetch(handle, _) | Channel::Group(handle) => handle == consumer,
            Channel::General | Channel::Produce => false,
        };
        let ids: Vec<ConnectionId> =
            self.network.by_use.iter().filter(|((_, channel), _)| own(*channel)).map(|(_, id)| *id).collect();
        for id in ids {
            // Nobody is left who would miss the answers.
            drop(self.drop_connection(id, NetworkCause::Closed, true));
        }
    }

    pub(crate) fn on_connected(&mut self, now: Now, connection: ConnectionId) {
        let Some(found) = self.network.connections.get_mut(&connection) else { return };
        let Stage::Connecting { deadline } = found.stage else { return };
        found.stage = Stage::Negotiating { deadline };
        self.ask_versions(now, connection, VERSIONS_FIRST);
    }

    /// The connection is gone. `None` if it was not known any more.
    pub(crate) fn on_gone(
        &mut self,
        now: Now,
        connection: ConnectionId,
        cause: NetworkCause,
    ) -> Option<Lost> {
        let (target, was_idle) = {
            let found = self.network.connections.get(&connection)?;
            (found.target, found.stage == Stage::Ready && found.in_flight.is_empty())
        };
        // Brokers close idle connections; that is no failure.
        if !was_idle {
            self.note_trouble(now, target);
        }
        self.drop_connection(connection, cause, false)
    }

    /// A frame has come: the answer to the connection's oldest request.
    pub(crate) fn on_frame(
        &mut self,
        now: Now,
        connection: ConnectionId,
        frame: Bytes,
    ) -> Result<Option<Received>, Lost> {
        self.metrics.bytes_received += frame.len() as u64 + 4;
        let Some(found) = self.network.connections.get_mut(&connection) else { return Ok(None) };
        let oldest = found.in_flight.front().map(|request| request.correlation);
        let answered = response_correlation_id(&frame);
        match (oldest, answered) {
            (Some(expected), Ok(correlation)) if expected == correlation => {}
            (expected, Ok(correlation)) => {
                let damage = Damage::Correlation { expected: expected.unwrap_or(-1), found: correlation };
                return Err(self.refuse(now, connection, damage));
            }
            (_, Err(error)) => return Err(self.refuse(now, connection, Damage::Answer(error))),
        }
        let request = found.in_flight.pop_front().expect("the oldest request was just seen");
        self.metrics.requests_in_flight = self.metrics.requests_in_flight.saturating_sub(1);
        match request.purpose {
            Purpose::Versions => match self.on_versions(now, connection, request.version, &frame) {
                Ok(()) => Ok(None),
                Err(damage) => Err(self.refuse(now, connection, damage)),
            },
            purpose => Ok(Some(Received { connection, purpose, version: request.version, frame })),
        }
    }

    /// Bytes of a broker are not what they should be: the connection is of no use any more.
    pub(crate) fn refuse(&mut self, now: Now, connection: ConnectionId, damage: Damage) -> Lost {
        if let Some(found) = self.network.connections.get(&connection) {
            let target = found.target;
            self.note_trouble(now, target);
        }
        let cause = NetworkCause::Protocol(damage);
        self.drop_connection(connection, cause, true).expect("the connection is known to the caller")
    }

    /// Gives up connections whose time is over.
    pub(crate) fn expire_connections(&mut self, now: Now) -> Vec<Lost> {
        let late: Vec<(ConnectionId, Target, NetworkCause)> = self
            .network
            .connections
            .iter()
            .filter_map(|(id, connection)| {
                let limit = match connection.stage {
                    Stage::Ready => self.options.request_timeout,
                    Stage::Connecting { .. } | Stage::Negotiating { .. } => self.options.connect_timeout,
                };
                let late = connection.deadline().is_some_and(|deadline| deadline <= now.mono);
                late.then_some((*id, connection.target, NetworkCause::TimedOut(limit)))
            })
            .collect();
        let mut lost = Vec::new();
        for (id, target, cause) in late {
            self.note_trouble(now, target);
            lost.extend(self.drop_connection(id, cause, true));
        }
        lost
    }

    /// When connections have to be looked at again.
    pub(crate) fn network_timeout(&self, now: Now) -> Option<MonoTime> {
        let connections = self.network.connections.values();
        let deadlines = connections.clone().filter_map(Connection::deadline).min();
        let quiet =
            connections.clone().map(|found| found.quiet_until).filter(|until| *until > now.mono).min();
        let slow = connections.clone().filter(|found| found.stage != Stage::Ready);
        let slow = slow.map(|found| found.begun.after(NEXT_ADDRESS_AFTER)).filter(|at| *at > now.mono).min();
        let deadlines = earliest(deadlines, slow);
        let wanted = self.network.wanted.iter().filter_map(|target| self.network.troubles.get(target));
        let over = wanted.map(|trouble| trouble.until).filter(|until| *until > now.mono).min();
        earliest(earliest(deadlines, quiet), over)
    }

    fn connection_to(&mut self, now: Now, target: Target, channel: Channel) -> Option<ConnectionId> {
        if let Some(connection) = self.network.by_use.get(&(target, channel)) {
            let connection = *connection;
            return self.network.usable(now, connection).then_some(connection);
        }
        if self.network.is_in_trouble(now, target) {
            self.network.wanted.insert(target);
            return None;
        }
        self.network.wanted.remove(&target);
        let address = self.network.address_of(target)?.clone();
        let connection = ConnectionId(self.network.next_connection);
        self.network.next_connection += 1;
        let deadline = now.mono.after(self.options.connect_timeout);
        let made = Connection {
            target,
            channel,
            address: address.clone(),
            begun: now.mono,
            stage: Stage::Connecting { deadline },
            versions: BTreeMap::new(),
            in_flight: VecDeque::new(),
            next_correlation: 0,
            quiet_until: MonoTime(0),
        };
        self.network.connections.insert(connection, made);
        self.network.by_use.insert((target, channel), connection);
        self.emit(Action::Connect { connection, address });
        None
    }

    fn write<B: Body + Encode>(&mut self, connection: ConnectionId, version: i16, body: &B) -> Option<i32> {
        let found = self.network.connections.get_mut(&connection)?;
        let correlation = found.next_correlation;
        found.next_correlation = correlation.wrapping_add(1) & i32::MAX;
        let client_id = Arc::clone(&self.options.client_id);
        let frame = encode_request(version, correlation, Some(&client_id), body)
            .expect("requests are within the limits of the protocol and in a version that was agreed on");
        self.metrics.requests += 1;
        self.metrics.bytes_sent += frame.len() as u64;
        self.emit(Action::Send { connection, frame });
        Some(correlation)
    }

    fn adopt(&mut self, connection: ConnectionId, target: Target) {
        let Some(found) = self.network.connections.get_mut(&connection) else { return };
        if self.network.by_use.contains_key(&(target, found.channel)) {
            return;
        }
        self.network.by_use.remove(&(found.target, found.channel));
        self.network.by_use.insert((target, found.channel), connection);
        found.target = target;
    }

    fn note_trouble(&mut self, now: Now, target: Target) {
        let failures = self.network.troubles.get(&target).map_or(0, |trouble| trouble.failures) + 1;
        let until = now.mono.after(Backoff::CONNECT.delay(failures, &mut self.random));
        self.network.troubles.insert(target, Trouble { failures, until });
        self.metrics.connection_failures += 1;
    }

    /// Forgets a connection, and tells the face to close it if that is not what the face has told.
    fn drop_connection(&mut self, id: ConnectionId, cause: NetworkCause, close: bool) -> Option<Lost> {
        let gone = self.network.connections.remove(&id)?;
        if self.network.by_use.get(&(gone.target, gone.channel)) == Some(&id) {
            self.network.by_use.remove(&(gone.target, gone.channel));
        }
        if close {
            self.emit(Action::Close { connection: id });
        }
        if gone.stage == Stage::Ready {
            self.metrics.connections = self.metrics.connections.saturating_sub(1);
        }
        let unanswered = gone.in_flight.len() as u64;
        self.metrics.requests_in_flight = self.metrics.requests_in_flight.saturating_sub(unanswered);
        let phase = match gone.stage {
            Stage::Connecting { .. } => Phase::Connect,
            Stage::Negotiating { .. } => Phase::Negotiate,
            Stage::Ready => Phase::Exchange,
        };
        let error = NetworkError { address: gone.address, phase, cause };
        self.network.last_error = Some(error.clone());
        let purposes = gone.in_flight.into_iter().map(|request| request.purpose).collect();
        Some(Lost { purposes, error })
    }

    /// The error of a broker that lacks an API which something needs.
    pub(crate) fn unsupported(&self, connection: ConnectionId, key: ApiKey) -> ClientError {
        let address = self.network.address(connection).or(self.network.seeds.first());
        let address = address.expect("a client has a bootstrap address").clone();
        ClientError::Unsupported { feature: key.name(), address }
    }
}

impl Connection {
    fn deadline(&self) -> Option<MonoTime> {
        match self.stage {
            Stage::Connecting { deadline } | Stage::Negotiating { deadline } => Some(deadline),
            Stage::Ready => self.in_flight.front().map(|request| request.deadline),
        }
    }
}
