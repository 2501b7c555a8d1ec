//! The operator: makes the topics that should be there, lets new disks join, and looks from time to time whether
//! everything is well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use broker_core::message::{AdminCommand, AdminId, ConfigChange, ConfigOperation, ConfigResource, NewTopic};
use log_core::{BrokerId, DirectoryId, Timestamp, TopicId};
use metadata_core::record::TokenHash;
use metadata_core::{ClusterImage, Standing};

use super::machine::{START_MS, endpoints};
use super::queue::Event;
use super::{Phase, World};
use crate::plan::{MS, Plan, TopicPlan};

/// How often the operator looks.
const LOOK: u64 = 250 * MS;

/// How long forming may take before faults begin anyway.
const FORMING_MAX: u64 = 30_000 * MS;

/// What the operator has in mind.
#[derive(Debug, Default)]
pub(crate) struct Operator {
    commands: u64,
    /// Topics that should not be there now.
    unwanted: Vec<usize>,
    /// Topics that should have another min ISR.
    min_isr: BTreeMap<usize, i32>,
    /// Whether some topic's records may ever have had a single copy.
    pub(crate) single_copies: bool,
    names: Vec<String>,
    /// Topics of which records may be lost for good.
    mourned: BTreeSet<TopicId>,
    /// How long a broker that was asked to stop stays down.
    down: BTreeMap<usize, (u64, u64)>,
}

impl Operator {
    pub(crate) fn new(plan: &Plan) -> Self {
        let names = plan.topics.iter().map(|topic| topic.name.clone()).collect();
        let single_copies = plan.topics.iter().any(|topic| topic.min_isr < 2 || topic.replicas < 3);
        Self { names, single_copies, ..Self::default() }
    }

    pub(crate) fn want_all(&mut self) {
        self.unwanted.clear();
    }

    pub(crate) fn unwant(&mut self, topic: usize) {
        self.unwanted.push(topic);
    }

    pub(crate) fn want(&mut self, topic: usize) {
        self.unwanted.retain(|other| *other != topic);
    }

    pub(crate) fn set_min_isr(&mut self, topic: usize, value: i32) {
        self.single_copies |= value < 2;
        self.min_isr.insert(topic, value);
    }

    pub(crate) fn stays_down(&mut self, broker: usize, down: u64) {
        self.down.insert(broker, (down, down));
    }

    pub(crate) fn take_down_time(&mut self, broker: usize) -> Option<(u64, u64)> {
        self.down.remove(&broker)
    }

    /// A wanted topic that is not there.
    pub(crate) fn missing(&self, head: &ClusterImage) -> Option<&str> {
        let missing = |(index, name): &(usize, &String)| {
            !self.unwanted.contains(index) && head.topic_by_name(name).is_none()
        };
        self.names.iter().enumerate().find(missing).map(|(_, name)| name.as_str())
    }

    /// Records of these topics may be lost for good.
    pub(crate) fn mourn(&mut self, topics: impl IntoIterator<Item = TopicId>) {
        self.mourned.extend(topics);
    }

    const fn next_command(&mut self) -> AdminId {
        self.commands += 1;
        AdminId(self.commands)
    }
}

impl World {
    pub(super) fn operate(&mut self) {
        self.plan(self.now + LOOK, Event::Operate);
        self.form();
        self.keep_topics();
        self.let_join();
        self.oracle_look_at_damage();
        match self.phase {
            Phase::Faults { since } if self.now - since >= self.plan.fault_time => self.begin_healing(),
            Phase::Healing { .. } => self.check_healed(),
            _ => {}
        }
    }

    /// Once all brokers live and all topics are there, faults begin.
    fn form(&mut self) {
        if self.phase != Phase::Forming {
            return;
        }
        let lives = |index: usize| {
            let broker = self.head.broker(self.machine(index).id);
            broker.is_some_and(|broker| broker.standing == Standing::Active)
        };
        let all = (0..self.machines.len()).all(lives);
        if all {
            self.agreement.formed();
        }
        let led = self.head.all_partitions().all(|(_, partition)| partition.leader.is_some());
        if all && led && self.operator.missing(&self.head).is_none() {
            return self.begin_faults();
        }
        if self.now > FORMING_MAX {
            self.oracle.violate("forming", "the cluster does not form without faults".to_owned());
        }
    }

    fn keep_topics(&mut self) {
        let registered = self.head.brokers().filter(|broker| broker.is_active()).count();
        if self.phase == Phase::Forming && registered < self.machines.len() {
            return;
        }
        for (index, topic) in self.plan.topics.clone().into_iter().enumerate() {
            let wanted = !self.operator.unwanted.contains(&index);
            match self.head.topic_by_name(&topic.name).map(|found| found.id) {
                None if wanted => self.command(AdminCommand::CreateTopic(new_topic(&topic))),
                Some(topic_id) if !wanted || self.is_lost(topic_id) => {
                    self.command(AdminCommand::DeleteTopic { topic_id })
                }
                Some(topic_id) => self.keep_min_isr(index, topic_id),
                None => {}
            }
        }
    }

    /// Whether a partition has nobody left who could be elected, and a reason for it.
    fn is_lost(&self, topic: TopicId) -> bool {
        let mut partitions = self.head.topic(topic).into_iter().flat_map(metadata_core::Topic::partitions);
        self.operator.mourned.contains(&topic)
            && partitions.any(|(_, found)| found.isr.is_empty() && found.elr.is_empty())
    }

    fn keep_min_isr(&mut self, index: usize, topic_id: TopicId) {
        let Some(wanted) = self.operator.min_isr.get(&index).copied() else { return };
        let present = self.head.topic(topic_id).map(|topic| topic.settings.min_insync_replicas);
        if present == Some(wanted) {
            return;
        }
        self.coverage.count("min ISR changes asked for");
        let operation = ConfigOperation::Set(wanted.to_string());
        self.command(AdminCommand::AlterConfigs {
            resource: ConfigResource::Topic(topic_id),
            changes: vec![ConfigChange { key: "min.insync.replicas".to_owned(), operation }],
            replace: false,
            validate_only: false,
        });
    }

    /// A new directory is let in, once its broker's old registration is fenced; once more, if an earlier wish to let in
    /// another directory of the same broker was agreed late.
    fn let_join(&mut self) {
        for broker in 0..self.machines.len() {
            let machine = self.machine(broker);
            let (id, directory) = (machine.id, machine.directory);
            if !machine.joining {
                if self.head.reservations().any(|(of, kept)| of == id && kept.directory != directory) {
                    self.ask_to_join(broker, id, directory);
                }
                continue;
            }
            if machine.process.is_some() {
                continue;
            }
            if self.head.reservations().any(|(_, kept)| kept.directory == directory) {
                let machine = self.machine_mut(broker);
                machine.joining = false;
                machine.starting = true;
                self.plan_within((MS, 500 * MS), Event::Start(broker));
                continue;
            }
            if self.head.broker(id).is_none_or(|found| found.standing != Standing::Active) {
                self.ask_to_join(broker, id, directory);
            }
        }
    }

    fn ask_to_join(&mut self, broker: usize, id: BrokerId, directory: DirectoryId) {
        let hash = token_of(directory);
        let expires = Timestamp(START_MS + 3_600_000);
        self.command(AdminCommand::CreateJoinToken { hash, expires });
        let endpoints = endpoints(broker);
        self.command(AdminCommand::Join { hash, directory, broker: Some(id), endpoints });
    }

    /// Gives a command to some broker that runs.
    pub(super) fn command(&mut self, command: AdminCommand) {
        let up: Vec<_> = self.machines.iter().filter(|machine| machine.is_up(self.now)).collect();
        let up: Vec<_> = up.iter().filter_map(|machine| Some(machine.process.as_ref()?.id)).collect();
        if up.is_empty() {
            return;
        }
        let process = self.dice.pick(&up);
        let id = self.operator.next_command();
        self.trace.note(self.now, || format!("operator asks broker {}: {command:?}", process.broker));
        self.with(process, |running, now| {
            let deadline = now.mono.after(Duration::from_secs(2));
            running.control.handle_command(now, id, deadline, command);
        });
    }
}

fn new_topic(plan: &TopicPlan) -> NewTopic {
    let mut configs = vec![
        ("min.insync.replicas".to_owned(), plan.min_isr.to_string()),
        ("segment.bytes".to_owned(), plan.segment_bytes.to_string()),
    ];
    if let Some(bytes) = plan.retention_bytes {
        configs.push(("retention.bytes".to_owned(), bytes.to_string()));
    }
    NewTopic {
        name: plan.name.clone(),
        partitions: Some(plan.partitions),
        replication_factor: Some(plan.replicas),
        configs,
        ..NewTopic::default()
    }
}

fn token_of(directory: DirectoryId) -> TokenHash {
    let mut hash = [0; 32];
    hash.iter_mut().zip(directory.0).for_each(|(byte, of_directory)| *byte = of_directory);
    hash
}
