//! Controls of several brokers in one thread: virtual time, simulated disks, a model quorum, shards played by the test.

mod admin;
mod copies;
mod failing;
mod forming;
mod levels;
mod living;
mod walking;

use std::collections::{BTreeMap, BTreeSet};

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, Incarnation, MonoTime, Now, Timestamp, TopicPartition,
};
use log_store::MemoryDisk;
use metadata_core::controller::FEATURE_LEVEL_CALM;
use metadata_core::record::FEATURE_LEVEL_MAX;
use metadata_core::{
    Broker, ClusterImage, Endpoint, Listener, ModelCluster, ModelQuorum, Partition, Standing,
};

use super::{Control, ControlAction, ControlConfig, ControlPhase, FrameSource, PeerStreamId};
use crate::door::ShardId;
use crate::message::{
    AdminAnswer, AdminCommand, AdminError, AdminId, ControlRequest, ExitCode, IsrAnswer, IsrAttempt,
    NewTopic, RecoveredPartition, ShardMessage,
};

const STEP_MS: u64 = 50;
const SHARDS: u16 = 2;

type TestControl = Control<MemoryDisk, ModelQuorum>;

/// A cluster of brokers without data: only their Controls are real.
pub(super) struct Net {
    pub(super) cluster: ModelCluster,
    pub(super) nodes: BTreeMap<i32, Node>,
    /// Brokers that reach no peer and no quorum.
    cut: BTreeSet<i32>,
    /// What brokers that are started for the first time know.
    feature_level_max: u16,
    now_ms: u64,
    commands: u64,
}

/// One broker.
pub(super) struct Node {
    pub(super) disk: MemoryDisk,
    config: ControlConfig,
    pub(super) control: Option<TestControl>,
    /// What a start finds on its disk, as the first shard reports it.
    pub(super) found: Vec<RecoveredPartition>,
    pub(super) closes_cleanly: bool,
    /// Messages to the last shard, in short.
    pub(super) told: Vec<Told>,
    answers: BTreeMap<u64, Result<AdminAnswer, AdminError>>,
    pub(super) stopped: Option<(ExitCode, bool)>,
    sees: Option<std::sync::Arc<ClusterImage>>,
}

/// A message to a shard, in short.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Image { own: Option<Standing> },
    Registered(BrokerEpoch),
    Isr(IsrAttempt, IsrAnswer),
    Admin(AdminId, Result<AdminAnswer, AdminError>),
    Stop,
}

pub(super) fn b(broker: i32) -> BrokerId {
    BrokerId(broker)
}

pub(super) fn dir(number: i32) -> DirectoryId {
    DirectoryId([u8::try_from(number).unwrap(); 16])
}

fn config(broker: i32, directory: i32, forms: bool) -> ControlConfig {
    ControlConfig {
        broker: b(broker),
        directory: dir(directory),
        cluster_id: ClusterId([9; 16]),
        forms,
        incarnation: Incarnation(0),
        clean: false,
        rack: None,
        endpoints: vec![Endpoint { listener: Listener::Replica, host: "h".into(), port: 9093 }],
        shards: SHARDS,
        feature_level_max: FEATURE_LEVEL_MAX,
        feature_level_calm: FEATURE_LEVEL_CALM,
        cluster_configs: Vec::new(),
        seed: [u8::try_from(broker).unwrap(); 16],
        crc: crc32c::crc32c_append,
    }
}

impl Net {
    pub(super) fn new() -> Self {
        let (cluster, nodes, cut) = (ModelCluster::new(), BTreeMap::new(), BTreeSet::new());
        Self { cluster, nodes, cut, feature_level_max: FEATURE_LEVEL_MAX, now_ms: 1_000, commands: 0 }
    }

    /// Brokers 1 to `count`, formed by the first, all let in, with as many voters as there should be.
    pub(super) fn of(count: i32) -> Self {
        let mut net = Self::new();
        net.form(count);
        net
    }

    fn form(&mut self, count: i32) {
        self.start(1, true);
        self.run(1_000);
        for broker in 2..=count {
            self.start(broker, false);
            self.join(broker, broker);
        }
        self.run(3_000);
        assert!((1..=count).all(|broker| self.phase(broker) == ControlPhase::Active));
    }

    /// Starts a broker on an empty disk, from the directory of its own number.
    pub(super) fn start(&mut self, broker: i32, forms: bool) {
        self.start_from(broker, broker, forms);
    }

    pub(super) fn start_from(&mut self, broker: i32, directory: i32, forms: bool) {
        let node = Node {
            disk: MemoryDisk::new(),
            config: ControlConfig {
                feature_level_max: self.feature_level_max,
                ..config(broker, directory, forms)
            },
            control: None,
            found: Vec::new(),
            closes_cleanly: true,
            told: Vec::new(),
            answers: BTreeMap::new(),
            stopped: None,
            sees: None,
        };
        self.nodes.insert(broker, node);
        self.restart(broker);
    }

    /// Starts a broker on the disk that it has.
    pub(super) fn restart(&mut self, broker: i32) {
        self.cut(broker, false);
        self.restart_alone(broker);
    }

    /// Starts a broker, cut off if it was.
    pub(super) fn restart_alone(&mut self, broker: i32) {
        let (now, cluster) = (self.now(), self.cluster.clone());
        let node = self.nodes.get_mut(&broker).unwrap();
        node.config.incarnation = Incarnation(self.now_ms * 1_000);
        (node.told, node.stopped, node.sees) = (Vec::new(), None, None);
        let directory = node.config.directory;
        let (disk, config) = (node.disk.another_handle(), node.config.clone());
        node.control =
            Some(Control::open(now, config, disk, |applied| cluster.node(directory, applied)).unwrap());
        self.pump();
    }

    /// The process dies; what it wrote stays in the page cache.
    pub(super) fn kill(&mut self, broker: i32) {
        let node = self.nodes.get_mut(&broker).unwrap();
        node.control = None;
        node.disk.kill_process();
        self.cut(broker, true);
    }

    /// A broker reaches nobody, or everybody again.
    pub(super) fn cut(&mut self, broker: i32, cut: bool) {
        let directory = self.nodes[&broker].config.directory;
        if cut {
            self.cut.insert(broker);
        } else {
            self.cut.remove(&broker);
        }
        self.cluster.cut_off(directory, cut);
    }

    /// Lets a started broker join through broker 1, with a token made for it.
    pub(super) fn join(&mut self, broker: i32, directory: i32) {
        let through = self.controller();
        let hash = [u8::try_from(directory).unwrap(); 32];
        let expires = Timestamp(i64::try_from(self.now_ms).unwrap() + 60_000);
        let made = self.command(through, AdminCommand::CreateJoinToken { hash, expires });
        assert_eq!(made, Ok(AdminAnswer::Done));
        let endpoints = self.nodes[&broker].config.endpoints.clone();
        let (directory, asked) = (dir(directory), Some(b(broker)));
        let joined = self.command(through, AdminCommand::Join { hash, directory, broker: asked, endpoints });
        assert!(matches!(joined, Ok(AdminAnswer::Joined { .. })), "{joined:?}");
    }

    /// The broker that is the controller.
    pub(super) fn controller(&self) -> i32 {
        let leads = |(broker, node): (&i32, &Node)| {
            node.control.as_ref().is_some_and(|control| control.status().is_controller).then_some(*broker)
        };
        self.nodes.iter().find_map(leads).unwrap()
    }

    /// Gives a command and runs until it is answered.
    pub(super) fn command(&mut self, broker: i32, command: AdminCommand) -> Result<AdminAnswer, AdminError> {
        let id = self.give(broker, command);
        for _ in 0..200 {
            if let Some(answer) = self.answer(broker, id) {
                return answer;
            }
            self.run(STEP_MS);
        }
        panic!("no answer");
    }

    /// Gives a command with 5 s to go.
    pub(super) fn give(&mut self, broker: i32, command: AdminCommand) -> u64 {
        self.commands += 1;
        let (now, id) = (self.now(), AdminId(self.commands));
        let deadline = now.mono.after(std::time::Duration::from_secs(5));
        self.control(broker).handle_command(now, id, deadline, command);
        self.pump();
        id.0
    }

    pub(super) fn answer(&self, broker: i32, id: u64) -> Option<Result<AdminAnswer, AdminError>> {
        self.nodes[&broker].answers.get(&id).cloned()
    }

    /// The last shard, whose messages are noted, asks Control.
    pub(super) fn ask(&mut self, broker: i32, request: ControlRequest) {
        let now = self.now();
        self.control(broker).handle_request(now, ShardId(SHARDS - 1), request);
        self.pump();
    }

    pub(super) fn stop(&mut self, broker: i32) {
        let now = self.now();
        self.control(broker).handle_stop(now);
        self.pump();
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(STEP_MS) {
            self.now_ms += STEP_MS;
            let now = self.now();
            for node in self.nodes.values_mut() {
                if let Some(control) = &mut node.control
                    && control.poll_timeout().is_some_and(|at| at <= now.mono)
                {
                    control.handle_timeout(now);
                }
            }
            self.pump();
        }
    }

    /// Delivers everything until nothing is left to do.
    pub(super) fn pump(&mut self) {
        let brokers: Vec<i32> = self.nodes.keys().copied().collect();
        let mut busy = true;
        let mut rounds = 0;
        while busy {
            busy = false;
            rounds += 1;
            assert!(rounds < 1_000, "the controls never come to rest");
            for broker in &brokers {
                busy |= self.pump_one(*broker);
            }
        }
    }

    fn pump_one(&mut self, broker: i32) -> bool {
        let now = self.now();
        let node = self.nodes.get_mut(&broker).unwrap();
        let Some(control) = &mut node.control else { return false };
        control.handle_quorum(now);
        control.handle_disk(now);
        let actions: Vec<ControlAction> = std::iter::from_fn(|| control.poll_action()).collect();
        let busy = !actions.is_empty();
        actions.into_iter().for_each(|action| self.carry_out(broker, action));
        busy
    }

    fn carry_out(&mut self, broker: i32, action: ControlAction) {
        let now = self.now();
        let own = self.nodes[&broker].config.directory;
        match action {
            ControlAction::ToShard(shard, message) => self.tell(broker, shard, message),
            ControlAction::SendPeer { peer, frame } => {
                let live = |node: &Node| node.config.directory == peer.directory && node.control.is_some();
                let there = self.nodes.iter().find(|(_, node)| live(node)).map(|(other, _)| *other);
                let reached = there.filter(|other| !self.cut.contains(other) && !self.cut.contains(&broker));
                match reached {
                    Some(other) => {
                        let source = FrameSource::Accepted(PeerStreamId(u64::try_from(broker).unwrap()));
                        self.control(other).handle_peer_frame(now, source, b(broker), frame);
                    }
                    None => self.control(broker).handle_peer_closed(now, peer.directory),
                }
            }
            ControlAction::Reply { stream, frame } => {
                let other = i32::try_from(stream.0).unwrap();
                if !self.cut.contains(&other) && self.nodes[&other].control.is_some() {
                    self.control(other).handle_peer_frame(now, FrameSource::Dialled(own), b(broker), frame);
                }
            }
            ControlAction::Answer { id, result } => {
                self.nodes.get_mut(&broker).unwrap().answers.insert(id.0, result);
            }
            ControlAction::Image(image) => self.nodes.get_mut(&broker).unwrap().sees = Some(image),
            ControlAction::Status(_) => {}
            ControlAction::Stop { code, clean } => {
                self.nodes.get_mut(&broker).unwrap().stopped = Some((code, clean));
            }
        }
    }

    /// Plays a shard: it recovers at the first image and closes when told to.
    fn tell(&mut self, broker: i32, shard: ShardId, message: ShardMessage) {
        let now = self.now();
        let node = self.nodes.get_mut(&broker).unwrap();
        let first_image = !node.told.iter().any(|told| matches!(told, Told::Image { .. }));
        let found = if shard == ShardId(0) { node.found.clone() } else { Vec::new() };
        let clean = node.closes_cleanly || shard == ShardId(0);
        let told = match message {
            ShardMessage::Image(image) => {
                Told::Image { own: image.broker(b(broker)).map(|own| own.standing) }
            }
            ShardMessage::Registered { broker_epoch } => Told::Registered(broker_epoch),
            ShardMessage::IsrAnswer { attempt, answer } => Told::Isr(attempt, answer),
            ShardMessage::AdminAnswer { id, result } => Told::Admin(id, result),
            ShardMessage::Stop => Told::Stop,
            #[allow(unreachable_patterns, reason = "messages that Control does not send yet")]
            _ => return,
        };
        let (image, stop) = (matches!(told, Told::Image { .. }), told == Told::Stop);
        if shard == ShardId(SHARDS - 1) {
            node.told.push(told);
        }
        let control = node.control.as_mut().unwrap();
        if image && first_image {
            control.handle_request(now, shard, ControlRequest::Recovered { partitions: found });
        }
        if stop {
            control.handle_request(now, shard, ControlRequest::Stopped { clean });
        }
    }

    pub(super) fn control(&mut self, broker: i32) -> &mut TestControl {
        self.nodes.get_mut(&broker).unwrap().control.as_mut().unwrap()
    }

    pub(super) fn now(&self) -> Now {
        let wall = Timestamp(i64::try_from(self.now_ms).unwrap());
        Now { mono: MonoTime(self.now_ms * 1_000_000), wall }
    }

    pub(super) fn phase(&self, broker: i32) -> ControlPhase {
        self.nodes[&broker].control.as_ref().unwrap().status().phase
    }

    pub(super) fn image(&self, broker: i32) -> &ClusterImage {
        self.nodes[&broker].control.as_ref().unwrap().image()
    }

    /// A broker as another one sees it.
    pub(super) fn seen(&self, by: i32, broker: i32) -> &Broker {
        self.image(by).broker(b(broker)).unwrap()
    }

    pub(super) fn partition(&self, by: i32, partition: TopicPartition) -> &Partition {
        self.image(by).partition(partition).unwrap()
    }

    /// Makes a topic with one partition on these brokers; gives the partition.
    pub(super) fn topic(&mut self, name: &str, replicas: &[i32], min_isr: i32) -> TopicPartition {
        let topic = NewTopic {
            name: name.into(),
            assignments: vec![replicas.iter().map(|broker| b(*broker)).collect()],
            configs: vec![("min.insync.replicas".into(), min_isr.to_string())],
            ..NewTopic::default()
        };
        let through = *self.nodes.keys().next().unwrap();
        match self.command(through, AdminCommand::CreateTopic(topic)) {
            Ok(AdminAnswer::TopicCreated { topic_id, .. }) => {
                metadata_core::record::topic_partition(topic_id, 0)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Every live broker has the same image, and it is what its shards have.
    pub(super) fn assert_agreed(&self) {
        let live = self
            .nodes
            .values()
            .filter_map(|node| Some((node.control.as_ref()?.image(), node.sees.as_ref()?)));
        let all: Vec<_> = live.collect();
        assert!(all.iter().all(|(image, _)| **image == *all[0].0));
        for (image, seen) in all {
            let mut seen = seen.as_ref().clone();
            if seen.applied() != image.applied() {
                seen.skip(image.applied().unwrap());
            }
            assert_eq!(&seen, image);
        }
    }
}
