//! A shard: the connections and partitions of one thread, as a value.

mod core;
mod deliver;
mod dispatch;
mod idle;
mod image;
mod pending;
mod placement;
mod streams;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_wire::{Body, Encode, FileRanges, Rope};
use log_core::{MonoTime, Now, TopicPartition};
use log_store::{Disk, LogId};

pub(crate) use self::core::{Core, Stage, Timer};
pub(crate) use dispatch::Ask;
pub(crate) use pending::{Gather, Pending};
pub use placement::shard_of;
pub(crate) use streams::StreamUse;
use streams::Streams;

use crate::action::{CloseReason, ShardAction};
use crate::api::init_producer_id::ProducerIds;
use crate::config::ShardConfig;
use crate::connection::Connection;
use crate::door::{ConnectionId, Door, ShardId};
use crate::message::{AdminId, ShardMessage};
use crate::metrics::ShardMetrics;
use crate::partition::Partition;
use crate::peer::{CallId, Peer, PeerMessage, PendingId};

/// The connections and partitions of one thread of a broker.
///
/// It has four kinds of methods. `handle_*` says what the world did; hand in everything that is there before asking what
/// to do, since a burst is worked on as one: all its records of a partition in one write, one sync, one write of answers.
/// Then [`Shard::poll_action`] until it gives none, and [`Shard::poll_timeout`] for when [`Shard::handle_timeout`] is next
/// needed. Time is always an argument and never goes back.
///
/// Start and stop are told in [`crate::message`].
#[derive(Debug)]
pub struct Shard<D: Disk> {
    pub(crate) core: Core<D>,
    pub(crate) connections: BTreeMap<ConnectionId, Connection<D::File>>,
    /// Connections that may have an answer to send or a request to start.
    runnable: BTreeSet<ConnectionId>,
    pub(crate) partitions: BTreeMap<TopicPartition, Partition<D>>,
    logs: BTreeMap<LogId, TopicPartition>,
    streams: Streams,
    pending: BTreeMap<PendingId, Pending<D::File>>,
    /// When those of them that wait for a limited time wait no longer.
    deadlines: BTreeMap<PendingId, MonoTime>,
    next_pending: u64,
    /// Requests that wait for the cluster image to change.
    pub(crate) awaiting_image: BTreeSet<PendingId>,
    /// Administrative commands under way.
    admin: BTreeMap<AdminId, CallId>,
    next_admin: u64,
    pub(crate) producer_ids: ProducerIds,
    /// Waiting Fetches with the parts that moved.
    stale: BTreeMap<PendingId, BTreeSet<u32>>,
    next_idle_scan: Option<MonoTime>,
    /// Where the background work goes on.
    next_idle: Option<TopicPartition>,
    /// Partitions whose log the disk refused to open.
    unopened: BTreeSet<TopicPartition>,
    removals: image::Removals,
    stopped_clean: bool,
}

impl<D: Disk> Shard<D> {
    /// A shard without partitions, that waits for its first image.
    #[must_use]
    pub fn new(now: Now, config: ShardConfig, disk: D) -> Self {
        Self {
            core: Core::new(now, config, disk),
            connections: BTreeMap::new(),
            runnable: BTreeSet::new(),
            partitions: BTreeMap::new(),
            logs: BTreeMap::new(),
            streams: Streams::default(),
            pending: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            next_pending: 0,
            awaiting_image: BTreeSet::new(),
            admin: BTreeMap::new(),
            next_admin: 0,
            producer_ids: ProducerIds::default(),
            stale: BTreeMap::new(),
            next_idle_scan: None,
            next_idle: None,
            unopened: BTreeSet::new(),
            removals: image::Removals::default(),
            stopped_clean: true,
        }
    }

    /// A client came in.
    pub fn handle_connection_opened(&mut self, now: Now, connection: ConnectionId, door: Door) {
        self.core.metrics.connections_opened += 1;
        self.take_connection(now, connection, door);
    }

    /// A connection goes on here that another shard of this broker has handed on.
    pub fn handle_connection_moved(&mut self, now: Now, connection: ConnectionId, door: Door) {
        self.core.metrics.connections_moved += 1;
        self.take_connection(now, connection, door);
    }

    /// A connection goes on here that this shard has just wanted elsewhere.
    pub fn handle_connection_kept(&mut self, now: Now, connection: ConnectionId, door: Door) {
        self.take_connection(now, connection, door);
    }

    fn take_connection(&mut self, now: Now, connection: ConnectionId, door: Door) {
        self.core.now = now;
        let limits = self.core.config.limits.at(door.kind);
        self.connections.insert(connection, Connection::new(now.mono, door, limits));
        if matches!(self.core.stage, Stage::Stopping | Stage::Stopped) {
            self.close(connection, CloseReason::Stopping);
        }
        if self.next_idle_scan.is_none() {
            self.schedule_idle_scan();
        }
    }

    /// A whole frame came from a client, without its length prefix. A frame of a connection that is closed is dropped.
    pub fn handle_frame(&mut self, now: Now, connection: ConnectionId, frame: Bytes) {
        self.core.now = now;
        self.core.metrics.bytes_in += frame.len() as u64;
        if let Some(open) = self.connections.get_mut(&connection) {
            open.push(now.mono, frame);
            self.run_connection(connection);
        }
    }

    /// So many bytes more of what was sent have left for a client.
    pub fn handle_written(&mut self, now: Now, connection: ConnectionId, bytes: u64) {
        self.core.now = now;
        self.core.metrics.bytes_out += bytes;
        if let Some(open) = self.connections.get_mut(&connection) {
            open.written(now.mono, bytes);
            self.runnable.insert(connection);
        }
    }

    /// A client is gone. Its requests are carried out, their answers are dropped; a Fetch that waits is dropped itself.
    pub fn handle_connection_closed(&mut self, now: Now, connection: ConnectionId) {
        self.core.now = now;
        self.forget_connection(connection);
    }

    /// Control says something.
    pub fn handle_message(&mut self, now: Now, message: ShardMessage) {
        self.core.now = now;
        match message {
            ShardMessage::Image(image) => self.take_image(image),
            ShardMessage::Registered { broker_epoch } => self.take_registration(broker_epoch),
            ShardMessage::AdminAnswer { id, result } => self.take_admin_answer(id, result),
            ShardMessage::IsrAnswer { attempt, answer } => {
                self.with_partition(attempt.partition, |partition, core| {
                    partition.take_isr_answer(core, attempt, answer);
                });
            }
            ShardMessage::Stop => self.stop(),
        }
    }

    /// Another shard of this broker says something.
    pub fn handle_peer(&mut self, now: Now, _from: ShardId, message: PeerMessage<D::File>) {
        self.core.now = now;
        match message.0 {
            Peer::Call { origin, partition, call } => self.execute(origin, partition, call),
            Peer::Answer { call, answer } => self.take_answer(call, answer),
            Peer::Moved { call } => self.note_moved(call),
        }
    }

    /// The disk may have completions.
    pub fn handle_disk(&mut self, now: Now) {
        self.core.now = now;
        while let Some(completion) = self.core.disk.poll() {
            if completion.ticket.log == image::SHARD {
                self.take_own_completion(&completion);
            } else if let Some(partition) = self.logs.get(&completion.ticket.log).copied() {
                self.with_partition(partition, |partition, core| partition.take_completion(core, completion));
            }
        }
    }

    /// The time asked for has come.
    pub fn handle_timeout(&mut self, now: Now) {
        self.core.now = now;
        while let Some((at, timer)) = self.core.timers.first().copied().filter(|(at, _)| *at <= now.mono) {
            self.core.timers.remove(&(at, timer));
            match timer {
                Timer::Pending(pending) => self.expire_pending(pending),
                Timer::Partition(partition) => {
                    self.with_partition(partition, |partition, core| partition.take_timeout(core));
                }
                Timer::Idle => self.close_idle(),
                Timer::Open => self.open_again(),
                Timer::Remove => self.remove_again(),
            }
        }
    }

    /// When [`Shard::handle_timeout`] is next needed.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<MonoTime> {
        self.core.timers.first().map(|(at, _)| *at)
    }

    /// What to do next. The first call after a burst of `handle_*` works on the burst.
    pub fn poll_action(&mut self) -> Option<ShardAction<D::File>> {
        if self.core.actions.is_empty() {
            self.flush();
        }
        self.core.actions.pop_front()
    }

    /// The shard's counters and gauges.
    #[must_use]
    pub fn metrics(&self) -> &ShardMetrics {
        &self.core.metrics
    }

    /// Runs something on a partition, which then settles before the shard rests. Nothing if it is not here.
    fn with_partition(&mut self, id: TopicPartition, run: impl FnOnce(&mut Partition<D>, &mut Core<D>)) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            run(partition, &mut self.core);
            self.core.touched.insert(id);
        }
    }

    /// Answers a request.
    pub(crate) fn respond<B>(&mut self, ask: Ask, body: &B)
    where
        B: Body + Encode + FileRanges<D::File>,
    {
        match kafka_wire::encode_response(ask.version, ask.correlation_id, body) {
            Ok(rope) => self.finish_request(ask, Some(rope)),
            Err(error) => self.close(ask.connection, CloseReason::Unanswerable(error)),
        }
    }

    pub(crate) fn finish_request(&mut self, ask: Ask, rope: Option<Rope<D::File>>) {
        if let Some(connection) = self.connections.get_mut(&ask.connection) {
            connection.answer(ask.sequence, rope);
            self.runnable.insert(ask.connection);
        }
    }

    pub(crate) fn close(&mut self, connection: ConnectionId, reason: CloseReason) {
        if self.forget_connection(connection) {
            self.core.actions.push_back(ShardAction::Close { connection, reason });
        }
    }

    /// Whether it was still open. What waits for it may wait minutes, while any number of others come and go.
    fn forget_connection(&mut self, connection: ConnectionId) -> bool {
        let Some(gone) = self.connections.remove(&connection) else { return false };
        self.core.metrics.connections_closed += 1;
        gone.parked().for_each(|pending| self.drop_fetch(pending));
        true
    }

    fn schedule_idle_scan(&mut self) {
        let at = self.core.now.mono.after(self.core.config.limits.idle / 8);
        self.core.reschedule(Timer::Idle, self.next_idle_scan, Some(at));
        self.next_idle_scan = Some(at);
    }

    fn close_idle(&mut self) {
        self.next_idle_scan = None;
        let (now, idle) = (self.core.now.mono, self.core.config.limits.idle);
        let is_idle = |connection: &Connection<D::File>| now.since(connection.last_active) >= idle;
        let silent = self.connections.iter().filter(|(_, connection)| is_idle(connection));
        for connection in silent.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close(connection, CloseReason::Idle);
        }
        if !self.connections.is_empty() {
            self.schedule_idle_scan();
        }
    }
}
