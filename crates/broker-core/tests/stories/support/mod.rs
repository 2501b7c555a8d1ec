//! A cluster of brokers' shards without sockets, threads or clocks: a scripted control applies metadata records at once,
//! replication streams are queues, clients are frames.

#![allow(dead_code, reason = "each story uses a part of it")]

pub(crate) mod client;
mod control;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use coordinator_core::GroupConfig;
use highwater_broker_core::message::RecoveredPartition;
use highwater_broker_core::{
    CloseReason, ConnectionId, ControlRequest, Door, ExitCode, Limits, ReplicaKey, Shard, ShardAction,
    ShardConfig, ShardId, ShardMessage, shard_of,
};
use kafka_wire::{Rope, Segment};
use log_core::{
    BrokerId, ClusterId, Frame, MetadataOffset, MonoTime, Now, PartitionIndex, Timestamp, TopicId,
    TopicPartition,
};
use log_store::{Disk, MemoryDisk, MemoryFile};
use metadata_core::record;
use metadata_core::{Answer, ClusterImage, Entry, MetadataRecord, ProposalId, Refusal};
use replica_core::{LEADER_FRAME_LIMITS, StreamId};

pub(crate) const START_MS: i64 = 1_700_000_000_000;

pub(crate) fn crc(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// One broker: its shards, its disk, and what it said to its clients.
pub(crate) struct Node {
    pub(crate) id: BrokerId,
    pub(crate) shards: Vec<Shard<MemoryDisk>>,
    pub(crate) disk: MemoryDisk,
    pub(crate) alive: bool,
    pub(crate) received: BTreeMap<ConnectionId, BytesMut>,
    pub(crate) closed: BTreeMap<ConnectionId, CloseReason>,
    pub(crate) paused: BTreeSet<ConnectionId>,
    /// Connections that a shard handed on, and where to.
    pub(crate) moved: Vec<(ConnectionId, ShardId)>,
    /// Connections that a shard wants elsewhere stay.
    pub(crate) keeps: bool,
    /// Messages that its shards sent to each other.
    pub(crate) told: usize,
    pub(crate) exits: Vec<ExitCode>,
    pub(crate) stopped: Vec<bool>,
    pub(crate) files_sent: usize,
    reports: Vec<RecoveredPartition>,
    reported: usize,
    incarnation: u64,
    clean: bool,
}

pub(crate) struct Cluster {
    pub(crate) now: Now,
    pub(crate) image: ClusterImage,
    pub(crate) nodes: BTreeMap<i32, Node>,
    pub(crate) shards: u16,
    pub(crate) limits: Limits,
    pub(crate) groups: GroupConfig,
    /// Brokers that no stream reaches or leaves.
    pub(crate) cut_off: BTreeSet<i32>,
    /// Brokers that apply no more records for now.
    pub(crate) behind: BTreeSet<i32>,
    /// Nobody answers administrative commands and ISR proposals.
    pub(crate) controller_silent: bool,
    pub(crate) requests: Vec<(i32, ControlRequest)>,
    streams: BTreeMap<StreamId, End>,
    next_stream: u64,
    next_topic: u8,
    next_connection: u64,
    next_correlation: i32,
    next_offset: i64,
    waiting: VecDeque<(i32, ShardId, ControlRequest)>,
}

/// One end of a replication stream.
struct End {
    node: i32,
    shard: ShardId,
    peer: StreamId,
    buffer: BytesMut,
}

impl Cluster {
    pub(crate) fn new(brokers: i32) -> Self {
        Self::with(brokers, 1, &[])
    }

    /// A broker of two shards with a topic, and a partition of it on either of them.
    pub(crate) fn two_shards() -> (Self, [i32; 2]) {
        let mut cluster = Self::with(1, 2, &[]);
        let topic_id = cluster.create_topic("t", 8, 1, &[]);
        let on = |shard| {
            let is_there = |number: &i32| {
                let partition = TopicPartition { topic_id, partition: PartitionIndex(*number) };
                shard_of(partition, 2) == ShardId(shard)
            };
            (0..8).find(is_there).expect("one of eight is there")
        };
        (cluster, [on(0), on(1)])
    }

    pub(crate) fn with(brokers: i32, shards: u16, configs: &[(&str, &str)]) -> Self {
        let mut cluster = Self {
            now: Now { mono: MonoTime(1_000_000_000), wall: Timestamp(START_MS) },
            image: ClusterImage::new(),
            nodes: BTreeMap::new(),
            shards,
            limits: Limits::default(),
            groups: GroupConfig { initial_rebalance_delay: Duration::ZERO, ..GroupConfig::default() },
            cut_off: BTreeSet::new(),
            behind: BTreeSet::new(),
            controller_silent: false,
            requests: Vec::new(),
            streams: BTreeMap::new(),
            next_stream: 0,
            next_topic: 0,
            next_connection: 0,
            next_correlation: 0,
            next_offset: 0,
            waiting: VecDeque::new(),
        };
        let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (cluster_id, feature_level) = (ClusterId([7; 16]), record::FEATURE_LEVEL_MAX);
        let form = record::FormCluster { cluster_id, feature_level, configs };
        cluster.apply(MetadataRecord::FormCluster(form)).unwrap();
        for broker in 1..=brokers {
            cluster.start(broker, MemoryDisk::new(), false);
        }
        cluster.run();
        cluster
    }

    /// A broker's process begins on a disk.
    pub(crate) fn start(&mut self, broker: i32, disk: MemoryDisk, clean: bool) {
        let config = |shard| ShardConfig {
            broker: BrokerId(broker),
            shard: ShardId(shard),
            shards: self.shards,
            crc,
            codecs: compression::CODECS,
            seed: 42,
            limits: self.limits,
            groups: self.groups,
            replication: replica_core::Settings::default(),
            clean_start: clean,
            log_dir: "/data".into(),
            reserve_bytes: 64 << 10,
        };
        let shards = (0..self.shards)
            .map(|shard| Shard::new(self.now, config(shard), disk.another_handle()))
            .collect();
        let incarnation = self.nodes.get(&broker).map_or(1, |node| node.incarnation + 1);
        self.nodes.insert(
            broker,
            Node {
                id: BrokerId(broker),
                shards,
                disk,
                alive: true,
                received: BTreeMap::new(),
                closed: BTreeMap::new(),
                paused: BTreeSet::new(),
                moved: Vec::new(),
                keeps: false,
                told: 0,
                exits: Vec::new(),
                stopped: Vec::new(),
                files_sent: 0,
                reports: Vec::new(),
                reported: 0,
                incarnation,
                clean,
            },
        );
        self.send_image(broker);
    }

    /// The process of a broker ends without a word; the machine stays.
    pub(crate) fn kill(&mut self, broker: i32) {
        let node = self.nodes.get_mut(&broker).unwrap();
        node.alive = false;
        node.disk.kill_process();
        let dead: Vec<StreamId> =
            self.streams.iter().filter(|(_, end)| end.node == broker).map(|(id, _)| *id).collect();
        dead.into_iter().for_each(|stream| self.close_stream(stream));
    }

    /// The controller notices that a broker is silent.
    pub(crate) fn fence(&mut self, broker: i32) {
        let epoch = self.image.broker(BrokerId(broker)).unwrap().epoch;
        let brokers = vec![(BrokerId(broker), epoch)];
        self.apply(MetadataRecord::FenceBrokers(record::FenceBrokers { brokers })).unwrap();
        self.run();
    }

    /// The controller hears of a live broker again.
    pub(crate) fn unfence(&mut self, broker: i32) {
        let (broker, broker_epoch) = self.registration(broker);
        let unfence = record::UnfenceBroker { broker, broker_epoch };
        let _ = self.apply(MetadataRecord::UnfenceBroker(unfence));
        self.run();
    }

    pub(crate) fn restart(&mut self, broker: i32) {
        let disk = self.nodes[&broker].disk.another_handle();
        self.start(broker, disk, false);
        self.run();
    }

    pub(crate) fn broker(&mut self, broker: i32) -> &mut Node {
        self.nodes.get_mut(&broker).unwrap()
    }

    /// Applies a record on every broker, at once.
    pub(crate) fn apply(&mut self, record: MetadataRecord) -> Result<Answer, Refusal> {
        self.next_offset += 1;
        let entry = Entry {
            offset: MetadataOffset(self.next_offset),
            proposal: ProposalId::default(),
            time: self.now.wall,
            record,
        };
        let outcome = self.image.apply(&entry);
        for broker in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.send_image(broker);
        }
        outcome.result
    }

    /// A broker applies everything that it was behind.
    pub(crate) fn catch_up(&mut self, broker: i32) {
        if self.behind.remove(&broker) {
            self.send_image(broker);
        }
    }

    fn send_image(&mut self, broker: i32) {
        if self.behind.contains(&broker) {
            return;
        }
        let image = Arc::new(self.image.clone());
        let node = self.nodes.get_mut(&broker).unwrap();
        if node.alive {
            for shard in &mut node.shards {
                shard.handle_message(self.now, ShardMessage::Image(image.clone()));
            }
        }
    }

    pub(crate) fn create_topic(
        &mut self,
        name: &str,
        partitions: i32,
        replicas: i16,
        configs: &[(&str, &str)],
    ) -> TopicId {
        self.next_topic += 1;
        let topic_id = TopicId([self.next_topic; 16]);
        let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.apply(MetadataRecord::CreateTopic(record::CreateTopic {
            topic_id,
            name: name.to_owned(),
            partitions: Some(partitions),
            replication_factor: Some(replicas),
            assignment: Vec::new(),
            configs,
        }))
        .unwrap();
        self.run();
        topic_id
    }

    pub(crate) fn delete_topic(&mut self, topic_id: TopicId) {
        self.apply(MetadataRecord::DeleteTopic(record::DeleteTopic { topic_id })).unwrap();
        self.run();
    }

    pub(crate) fn leader(&self, id: TopicPartition) -> i32 {
        self.image.partition(id).unwrap().leader.expect("the partition is led").0
    }

    pub(crate) fn isr(&self, id: TopicPartition) -> Vec<i32> {
        let mut isr: Vec<i32> = self.image.partition(id).unwrap().isr.iter().map(|broker| broker.0).collect();
        isr.sort_unstable();
        isr
    }

    /// Lets time pass, with everything that is due in it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now.mono.after(time);
        self.run();
        while let Some(at) = self.next_timeout().filter(|at| *at <= until) {
            self.advance_to(at.max(self.now.mono));
            let now = self.now;
            let shards = self.nodes.values_mut().filter(|node| node.alive).flat_map(|node| &mut node.shards);
            shards.for_each(|shard| shard.handle_timeout(now));
            self.run();
        }
        self.advance_to(until);
        self.run();
    }

    fn next_timeout(&self) -> Option<MonoTime> {
        let shards = self.nodes.values().filter(|node| node.alive).flat_map(|node| &node.shards);
        shards.filter_map(Shard::poll_timeout).min()
    }

    fn advance_to(&mut self, at: MonoTime) {
        self.now.wall.0 += i64::try_from(at.since(self.now.mono).as_millis()).unwrap();
        self.now.mono = at;
    }

    /// Works until nothing is left to do at this time: a round without actions may have submitted what the next completes.
    pub(crate) fn run(&mut self) {
        let mut idle = 0;
        for _ in 0..100_000 {
            let mut worked = false;
            for broker in self.nodes.keys().copied().collect::<Vec<_>>() {
                for shard in 0..self.shards {
                    worked |= self.run_shard(broker, ShardId(shard));
                }
            }
            while let Some((broker, shard, request)) = self.waiting.pop_front() {
                worked = true;
                self.control(broker, shard, request);
            }
            idle = if worked { 0 } else { idle + 1 };
            if idle > 4 {
                return;
            }
        }
        panic!("the cluster does not come to rest");
    }

    fn run_shard(&mut self, broker: i32, shard: ShardId) -> bool {
        let now = self.now;
        let node = self.nodes.get_mut(&broker).unwrap();
        if !node.alive {
            return false;
        }
        let value = &mut node.shards[usize::from(shard.0)];
        value.handle_disk(now);
        let mut actions = Vec::new();
        while let Some(action) = value.poll_action() {
            actions.push(action);
        }
        let worked = !actions.is_empty();
        actions.into_iter().for_each(|action| self.act(broker, shard, action));
        worked
    }

    fn act(&mut self, broker: i32, shard: ShardId, action: ShardAction<MemoryFile>) {
        let now = self.now;
        let node = self.nodes.get_mut(&broker).unwrap();
        match action {
            ShardAction::Send { connection, rope } => {
                let bytes = flatten(node, rope);
                node.received.entry(connection).or_default().extend_from_slice(&bytes);
                if !node.paused.contains(&connection) {
                    node.shards[usize::from(shard.0)].handle_written(now, connection, bytes.len() as u64);
                }
            }
            ShardAction::PauseReading(connection) => {
                node.paused.insert(connection);
            }
            ShardAction::ResumeReading(connection) => {
                node.paused.remove(&connection);
            }
            ShardAction::Close { connection, reason } => {
                node.closed.insert(connection, reason);
            }
            ShardAction::Move { connection, door, to } => {
                node.moved.push((connection, to));
                if node.keeps {
                    node.shards[usize::from(shard.0)].handle_connection_kept(now, connection, door);
                } else {
                    node.shards[usize::from(to.0)].handle_connection_moved(now, connection, door);
                }
            }
            ShardAction::ToControl(request) => {
                self.requests.push((broker, request.clone()));
                self.waiting.push_back((broker, shard, request));
            }
            ShardAction::ToShard(to, message) => {
                node.told += 1;
                node.shards[usize::from(to.0)].handle_peer(now, shard, message);
            }
            ShardAction::ConnectReplica { key, broker: leader, shard: to, .. } => {
                self.connect(broker, shard, key, leader.0, to);
            }
            ShardAction::ReplicaSend { stream, rope } => {
                let bytes = flatten(node, rope);
                self.deliver(stream, &bytes);
            }
            ShardAction::CloseReplica { stream } => self.close_stream(stream),
            ShardAction::Stop(code) => node.exits.push(code),
        }
    }

    fn connect(&mut self, from: i32, from_shard: ShardId, key: ReplicaKey, leader: i32, to_shard: ShardId) {
        let now = self.now;
        let reachable = self.nodes.get(&leader).is_some_and(|node| node.alive)
            && !self.cut_off.contains(&from)
            && !self.cut_off.contains(&leader);
        let dialler = usize::from(from_shard.0);
        if !reachable {
            return self.nodes.get_mut(&from).unwrap().shards[dialler].handle_replica_refused(now, key);
        }
        let (near, far) = (StreamId(self.next_stream + 1), StreamId(self.next_stream + 2));
        self.next_stream += 2;
        let end = |node, shard, peer| End { node, shard, peer, buffer: BytesMut::new() };
        self.streams.insert(near, end(from, from_shard, far));
        self.streams.insert(far, end(leader, to_shard, near));
        let accepting = &mut self.nodes.get_mut(&leader).unwrap().shards[usize::from(to_shard.0)];
        accepting.handle_replica_accepted(now, far, BrokerId(from));
        self.nodes.get_mut(&from).unwrap().shards[dialler].handle_replica_connected(now, key, near);
    }

    fn deliver(&mut self, stream: StreamId, bytes: &[u8]) {
        let Some(peer) = self.streams.get(&stream).map(|end| end.peer) else { return };
        let Some(end) = self.streams.get_mut(&peer) else { return };
        if self.cut_off.contains(&end.node) {
            return;
        }
        end.buffer.extend_from_slice(bytes);
        let (node, shard) = (end.node, usize::from(end.shard.0));
        while let Some(end) = self.streams.get_mut(&peer)
            && let Some(frame) = Frame::take(&mut end.buffer, LEADER_FRAME_LIMITS).unwrap()
        {
            self.nodes.get_mut(&node).unwrap().shards[shard].handle_replica_frame(self.now, peer, &frame);
        }
    }

    fn close_stream(&mut self, stream: StreamId) {
        let Some(end) = self.streams.remove(&stream) else { return };
        if let Some(peer) = self.streams.remove(&end.peer)
            && let Some(node) = self.nodes.get_mut(&peer.node).filter(|node| node.alive)
        {
            node.shards[usize::from(peer.shard.0)].handle_replica_closed(self.now, end.peer);
        }
    }

    /// Cuts a broker off from the others: what is under way is lost.
    pub(crate) fn cut_off(&mut self, broker: i32) {
        self.cut_off.insert(broker);
        let of: Vec<StreamId> =
            self.streams.iter().filter(|(_, end)| end.node == broker).map(|(id, _)| *id).collect();
        for stream in of {
            let Some((near, shard)) = self.streams.get(&stream).map(|end| (end.node, end.shard)) else {
                continue;
            };
            self.close_stream(stream);
            let now = self.now;
            if self.broker(near).alive {
                self.broker(near).shards[usize::from(shard.0)].handle_replica_closed(now, stream);
            }
        }
    }

    /// Opens a client's connection.
    pub(crate) fn open(&mut self, broker: i32) -> ConnectionId {
        self.open_at(broker, ShardId(0), Door::MEMORY)
    }

    pub(crate) fn open_at(&mut self, broker: i32, shard: ShardId, door: Door) -> ConnectionId {
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        let now = self.now;
        self.broker(broker).shards[usize::from(shard.0)].handle_connection_opened(now, connection, door);
        connection
    }

    /// A client leaves the shard that it came in at.
    pub(crate) fn leave(&mut self, broker: i32, shard: ShardId, connection: ConnectionId) {
        let now = self.now;
        self.broker(broker).shards[usize::from(shard.0)].handle_connection_closed(now, connection);
    }

    /// Hands in one frame without its length, on every shard that knows the connection (one does).
    pub(crate) fn send_frame(&mut self, broker: i32, connection: ConnectionId, frame: &Bytes) {
        let now = self.now;
        for shard in &mut self.broker(broker).shards {
            shard.handle_frame(now, connection, frame.clone());
        }
    }

    pub(crate) fn next_correlation(&mut self) -> i32 {
        self.next_correlation += 1;
        self.next_correlation
    }

    /// The next whole response on a connection, without its length.
    pub(crate) fn take_response(&mut self, broker: i32, connection: ConnectionId) -> Option<Bytes> {
        let received = self.broker(broker).received.get_mut(&connection)?;
        let length = i32::from_be_bytes(received.get(..4)?.try_into().unwrap());
        let whole = 4 + usize::try_from(length).unwrap();
        (received.len() >= whole).then(|| received.split_to(whole).freeze().slice(4..))
    }
}

fn flatten(node: &mut Node, rope: Rope<MemoryFile>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rope.len());
    for segment in rope.into_segments() {
        match segment {
            Segment::Bytes(part) => bytes.extend_from_slice(&part),
            Segment::File(range) => {
                node.files_sent += 1;
                let mut part = vec![0; range.len as usize];
                let read = node.disk.read_at(&range.file, range.position, &mut part).unwrap();
                assert_eq!(read, part.len(), "a file range lies within its file");
                bytes.extend_from_slice(&part);
            }
        }
    }
    bytes
}
