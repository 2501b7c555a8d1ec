//! The world: machines, network, agreement, clients and time, in one thread. It hands each thing that happens to whom it
//! happens to, carries out what they want, and shows every step to the oracles.

mod act;
mod faults;
mod machine;
mod metadata;
mod moments;
mod net;
mod operator;
mod queue;
mod streams;
mod tails;

use log_core::TopicPartition;
use metadata_core::{ClusterImage, Members};

pub(crate) use machine::{Machine, crc, index_of};
pub(crate) use net::{End, Parcel, Stream};
pub(crate) use queue::{Event, ProcessId};

use crate::client::{Client, Deletions};
use crate::coverage::Coverage;
use crate::dice::Dice;
use crate::oracle::{Oracle, Violation};
use crate::plan::{MS, Plan, US};
use crate::quorum::Agreement;
use crate::trace::Trace;
use metadata::Controlling;
use moments::Moments;
use net::Net;
use operator::Operator;
use queue::Queue;

/// More events than any run needs: one that takes more does not come to rest.
const EVENTS_MAX: u64 = 3_000_000;

/// How long healing may take.
const HEALING_MAX: u64 = 60_000 * MS;

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Brokers start, topics are made.
    Forming,
    /// Faults happen.
    Faults {
        /// Since when.
        since: u64,
    },
    /// Faults have stopped; everything must become well.
    Healing {
        /// Since when.
        since: u64,
    },
    /// It has.
    Done,
}

/// See the module.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: u64,
    pub(crate) phase: Phase,
    pub(crate) dice: Dice,
    queue: Queue,
    pub(crate) machines: Vec<Machine>,
    pub(crate) net: Net,
    pub(crate) agreement: Agreement,
    pub(crate) controlling: Controlling,
    /// What everything that is agreed says.
    pub(crate) head: ClusterImage,
    pub(crate) operator: Operator,
    moments: Moments,
    pub(crate) clients: Vec<Client>,
    pub(crate) deletions: Deletions,
    pub(crate) oracle: Oracle,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    events: u64,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) violation: Option<Violation>,
    pub(crate) coverage: Coverage,
    pub(crate) hash: u64,
    pub(crate) words: Vec<String>,
}

impl World {
    pub(crate) fn new(plan: Plan, in_words: bool) -> Self {
        let machines: Vec<Machine> = (0..plan.brokers).map(Machine::new).collect();
        let nodes = machines.iter().map(|machine| (machine.directory, machine.member()));
        let mut members = Members { nodes: nodes.collect(), ..Members::default() };
        let voters = if plan.brokers < 5 { 3 } else { 5 };
        members.voters = members.nodes.keys().copied().take(voters).collect();
        let agreement = Agreement::of(members);
        let clients = crate::client::of_plan(&plan);
        let mut world = Self {
            now: 0,
            phase: Phase::Forming,
            dice: Dice::new(plan.seed, 3),
            queue: Queue::default(),
            machines,
            net: Net::new(),
            agreement,
            controlling: Controlling::default(),
            head: ClusterImage::new(),
            operator: Operator::new(&plan),
            moments: Moments::default(),
            clients,
            deletions: Deletions::default(),
            oracle: Oracle::default(),
            coverage: Coverage::default(),
            trace: Trace::new(in_words),
            events: 0,
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        let first = self.machines.first().map(|machine| machine.directory).expect("there are brokers");
        self.elect(first);
        for broker in 0..self.machines.len() {
            self.plan(broker as u64 * US, Event::Start(broker));
        }
        self.plan(0, Event::Tick);
        self.plan(MS, Event::Operate);
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Ended {
        while self.phase != Phase::Done && self.oracle.violation.is_none() {
            let Some((at, event)) = self.queue.next() else { break };
            self.now = self.now.max(at);
            self.events += 1;
            if self.events > EVENTS_MAX {
                self.oracle.violate("rest", "the world does not come to rest".to_owned());
            }
            self.trace.count(self.now);
            self.happen(event);
        }
        self.coverage.add("events", self.events);
        self.coverage.add("simulated seconds", self.now / (1_000 * MS));
        Ended {
            violation: self.oracle.violation,
            coverage: self.coverage,
            hash: self.trace.hash(),
            words: self.trace.into_words(),
        }
    }

    pub(crate) fn plan(&mut self, at: u64, event: Event) {
        self.queue.plan(at.max(self.now), event);
    }

    /// Plans something after a time between two.
    pub(crate) fn plan_within(&mut self, (soonest, latest): (u64, u64), event: Event) {
        let at = self.now + self.dice.between(soonest, latest);
        self.plan(at, event);
    }

    fn happen(&mut self, event: Event) {
        if let Some(process) = process_of(&event) {
            let Some(machine) = self.machines.get(process.broker) else { return };
            if machine.process.as_ref().is_none_or(|running| running.id != process) {
                return self.nobody(event);
            }
            if machine.is_paused(self.now) {
                let at = machine.paused_until;
                return self.plan(at, event);
            }
        }
        match event {
            Event::Wake(process) => self.wake(process),
            Event::Idle(process) => self.idle(process),
            Event::Disk(process) => self.complete(process),
            Event::ToControl(process, shard, request) => {
                self.with(process, |running, now| running.control.handle_request(now, shard, request));
            }
            Event::ToShard(process, shard, message) => {
                self.with_shard(process, shard, |shard, now| shard.handle_message(now, message));
            }
            Event::Peer(process, from, to, message) => {
                self.with_shard(process, to, |shard, now| shard.handle_peer(now, from, message));
            }
            Event::Arrive { stream, lane } => self.arrive(stream, lane),
            Event::Dial { from, shard, key, to, to_shard } => self.dial(from, shard, key, to, to_shard),
            Event::Dialled { from, shard, key, stream } => self.dialled(from, shard, key, stream),
            Event::PeerClosed(process, directory) => {
                self.with(process, |running, now| running.control.handle_peer_closed(now, directory));
            }
            Event::Gone { at, shard, stream } => {
                self.with_shard(at, shard, |shard, now| shard.handle_replica_closed(now, stream));
            }
            Event::Commit { term, proposal } => self.commit(term, proposal),
            Event::Show { broker, upto } => self.show(broker, upto),
            Event::Tick => self.tick(),
            Event::Start(broker) => self.start(broker),
            Event::Fault(number) => self.fault(number),
            Event::Mend(mend) => self.mend(mend),
            Event::Operate => self.operate(),
            Event::Client(client) => self.client_time(client),
        }
    }

    /// What was meant for a process that is gone.
    fn nobody(&mut self, event: Event) {
        if let Event::Dialled { stream: Some(stream), .. } = event {
            self.break_stream(stream);
        }
    }

    pub(crate) fn machine(&self, broker: usize) -> &Machine {
        self.machines.get(broker).expect("brokers are counted from 0")
    }

    pub(crate) fn machine_mut(&mut self, broker: usize) -> &mut Machine {
        self.machines.get_mut(broker).expect("brokers are counted from 0")
    }

    /// The broker whose directory that is now.
    pub(crate) fn broker_of(&self, directory: log_core::DirectoryId) -> Option<usize> {
        self.machines.iter().position(|machine| machine.directory == directory)
    }

    /// Faults begin.
    pub(crate) fn begin_faults(&mut self) {
        self.phase = Phase::Faults { since: self.now };
        let planned: Vec<u64> = self.plan.faults.iter().map(|planned| planned.at).collect();
        for (number, at) in planned.into_iter().enumerate() {
            self.plan(self.now + at, Event::Fault(number));
        }
        for client in 0..self.clients.len() {
            self.plan(self.now + client as u64 * MS, Event::Client(client));
        }
    }

    /// Faults stop: from now on everything must become well.
    pub(crate) fn begin_healing(&mut self) {
        self.phase = Phase::Healing { since: self.now };
        self.trace.note(self.now, || "faults stop".to_owned());
        self.net.mend_all();
        self.controlling.mend();
        self.moments = Moments::default();
        self.plan.weather.commit = self.plan.weather.commit.min((2 * MS, 60 * MS));
        for broker in 0..self.machines.len() {
            self.hurry_disk(broker);
            let machine = self.machine_mut(broker);
            machine.slow_metadata = false;
            machine.no_metadata_until = 0;
            machine.metadata_upto = None;
            machine.disk.set_capacity(u64::MAX);
            machine.disk.cancel_failures();
            if machine.process.is_none() && !machine.starting && !machine.joining {
                machine.starting = true;
                self.plan_within((MS, 50 * MS), Event::Start(broker));
            }
        }
        self.operator.want_all();
    }

    pub(crate) const fn is_healing(&self) -> bool {
        matches!(self.phase, Phase::Healing { .. })
    }

    /// Whether everything is well; judged by the operator from time to time.
    pub(crate) fn check_healed(&mut self) {
        let Phase::Healing { since } = self.phase else { return };
        match self.unhealed() {
            None => {
                self.oracle_end();
                self.phase = Phase::Done;
            }
            Some(why) if self.now - since > HEALING_MAX => {
                self.oracle.violate("healing", format!("a minute after the last fault {why}"));
            }
            Some(_) => {}
        }
    }

    /// What is not well yet.
    fn unhealed(&self) -> Option<String> {
        for machine in &self.machines {
            let standing = self.head.broker(machine.id).map(|broker| broker.standing);
            if machine.process.is_none() || standing != Some(metadata_core::Standing::Active) {
                return Some(format!("broker {} stands {standing:?}: {}", machine.id, machine.describe()));
            }
        }
        if let Some(topic) = self.operator.missing(&self.head) {
            return Some(format!("topic {topic} is not there"));
        }
        for (key, partition) in self.head.all_partitions() {
            let full = partition.isr.len() == partition.replicas.len();
            let sound = partition.sound_isr() == partition.isr.len();
            if partition.leader.is_none() || !full || !partition.elr.is_empty() || !sound {
                return Some(format!("{} is {partition:?}", words(key)));
            }
        }
        self.clients.iter().find_map(|client| client.unfinished(self))
    }
}

pub(crate) fn words(key: TopicPartition) -> String {
    format!("{}-{}", key.topic_id, key.partition)
}

const fn process_of(event: &Event) -> Option<ProcessId> {
    match event {
        Event::Wake(process)
        | Event::Idle(process)
        | Event::Disk(process)
        | Event::ToControl(process, ..)
        | Event::ToShard(process, ..)
        | Event::Peer(process, ..)
        | Event::Dial { from: process, .. }
        | Event::Dialled { from: process, .. }
        | Event::PeerClosed(process, _)
        | Event::Gone { at: process, .. } => Some(*process),
        _ => None,
    }
}
