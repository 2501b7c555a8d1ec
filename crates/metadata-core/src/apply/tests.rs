//! Each rule of the controller, C1 to C6, as a test that the mutation of the same name would fail.

mod brokers;
mod elections;
mod isr;
mod ledger;
mod topics;
mod walk;

use log_core::{
    BrokerEpoch, BrokerId, ClusterId, DirectoryId, Incarnation, LeaderEpoch, MetadataOffset, Offset,
    PartitionEpoch, ProducerId, Timestamp, TopicId, TopicPartition,
};

use crate::record::*;
use crate::{Answer, ClusterEventKind, ClusterImage, Ineligible, Outcome, Partition, Refusal, Standing};

/// A cluster in a test: applies records and looks at one partition.
pub(crate) struct World {
    pub(crate) image: ClusterImage,
    pub(crate) now_ms: i64,
    incarnation: u64,
}

pub(crate) const TOPIC: TopicId = TopicId([7; 16]);

pub(crate) fn b(broker: i32) -> BrokerId {
    BrokerId(broker)
}

pub(crate) fn dir(number: u8) -> DirectoryId {
    DirectoryId([number; 16])
}

/// Partition 0 of the test's topic.
pub(crate) fn p0() -> TopicPartition {
    topic_partition(TOPIC, 0)
}

pub(crate) fn registration(broker: i32, directory: u8, incarnation: u64) -> RegisterBroker {
    RegisterBroker {
        broker: b(broker),
        directory: dir(directory),
        incarnation: Incarnation(incarnation),
        rack: None,
        endpoints: vec![Endpoint { listener: Listener::Kafka, host: "127.0.0.1".into(), port: 9092 }],
        shards: 2,
        feature_level_max: FEATURE_LEVEL_MAX,
        report: DirectoryReport::default(),
    }
}

impl World {
    /// A formed cluster without brokers.
    pub(crate) fn formed() -> Self {
        Self::formed_at(FEATURE_LEVEL_MAX)
    }

    /// A cluster of that feature level, without brokers.
    pub(crate) fn formed_at(feature_level: u16) -> Self {
        let mut world = Self { image: ClusterImage::new(), now_ms: 1_000_000, incarnation: 0 };
        world.ok(MetadataRecord::FormCluster(FormCluster {
            cluster_id: ClusterId([9; 16]),
            feature_level,
            configs: Vec::new(),
        }));
        world
    }

    /// A cluster of live brokers, broker i on directory i.
    pub(crate) fn brokers(count: i32) -> Self {
        Self::brokers_at(FEATURE_LEVEL_MAX, count)
    }

    pub(crate) fn brokers_at(feature_level: u16, count: i32) -> Self {
        let mut world = Self::formed_at(feature_level);
        for broker in 1..=count {
            world.register(broker);
            world.unfence(broker);
        }
        world
    }

    /// Live brokers and a topic whose partition 0 has these replicas, all in sync, the first leading.
    pub(crate) fn partition(replicas: &[i32], min_isr: i32) -> Self {
        Self::partition_at(FEATURE_LEVEL_MAX, replicas, min_isr)
    }

    pub(crate) fn partition_at(feature_level: u16, replicas: &[i32], min_isr: i32) -> Self {
        let mut world = Self::brokers_at(feature_level, *replicas.iter().max().unwrap());
        world.ok(MetadataRecord::CreateTopic(CreateTopic {
            topic_id: TOPIC,
            name: "orders".into(),
            partitions: None,
            replication_factor: None,
            assignment: vec![replicas.iter().map(|broker| b(*broker)).collect()],
            configs: vec![("min.insync.replicas".into(), min_isr.to_string())],
        }));
        world
    }

    pub(crate) fn apply(&mut self, record: MetadataRecord) -> Outcome {
        let offset = MetadataOffset(self.image.applied().map_or(0, |offset| offset.0 + 1));
        let time = Timestamp(self.now_ms);
        let outcome = self.image.apply(&Entry { offset, proposal: ProposalId::default(), time, record });
        assert_eq!(self.image.broken_law(), None);
        outcome
    }

    pub(crate) fn ok(&mut self, record: MetadataRecord) -> Answer {
        self.apply(record).result.unwrap()
    }

    /// Applies a record that must be refused, and checks that it changed nothing.
    pub(crate) fn refused(&mut self, record: MetadataRecord) -> Refusal {
        let mut before = self.image.clone();
        let outcome = self.apply(record);
        before.skip(self.image.applied().unwrap());
        assert_eq!((&before, outcome.changes.as_slice()), (&self.image, [].as_slice()));
        outcome.result.unwrap_err()
    }

    pub(crate) fn next_incarnation(&mut self) -> u64 {
        self.incarnation += 1;
        self.incarnation
    }

    /// Registers broker i from directory i.
    pub(crate) fn register(&mut self, broker: i32) -> BrokerEpoch {
        self.register_from(broker, u8::try_from(broker).unwrap())
    }

    pub(crate) fn register_from(&mut self, broker: i32, directory: u8) -> BrokerEpoch {
        let incarnation = self.next_incarnation();
        self.register_as(registration(broker, directory, incarnation))
    }

    pub(crate) fn register_suspect(&mut self, broker: i32, last_epoch: i32, end: i64) {
        let mut fields = registration(broker, u8::try_from(broker).unwrap(), self.next_incarnation());
        let (last_epoch, end) = (LeaderEpoch(last_epoch), Offset(end));
        fields.report.suspect = vec![SuspectReport { partition: p0(), last_epoch, end }];
        self.register_as(fields);
    }

    pub(crate) fn register_faulty(&mut self, broker: i32) {
        let mut fields = registration(broker, u8::try_from(broker).unwrap(), self.next_incarnation());
        fields.report.faulty = vec![p0()];
        self.register_as(fields);
    }

    /// The record with which a broker says how pages reach it.
    pub(crate) fn announcement(&self, broker: i32, webtransport: &str) -> MetadataRecord {
        let certificate =
            BrowserCertificate { sha256: [6; 32], not_before: Timestamp(1), not_after: Timestamp(2) };
        let door = BrowserDoor {
            webtransport: Some(webtransport.into()),
            websocket: None,
            certificates: vec![certificate],
        };
        let broker_epoch = self.epoch(broker);
        MetadataRecord::AnnounceBrowserDoor(AnnounceBrowserDoor { broker: b(broker), broker_epoch, door })
    }

    pub(crate) fn announce(&mut self, broker: i32, webtransport: &str) {
        let record = self.announcement(broker, webtransport);
        self.ok(record);
    }

    pub(crate) fn register_as(&mut self, fields: RegisterBroker) -> BrokerEpoch {
        match self.ok(MetadataRecord::RegisterBroker(Box::new(fields))) {
            Answer::Registered { broker_epoch } => broker_epoch,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn epoch(&self, broker: i32) -> BrokerEpoch {
        self.image.broker(b(broker)).unwrap().epoch
    }

    pub(crate) fn unfence(&mut self, broker: i32) {
        let broker_epoch = self.epoch(broker);
        self.ok(MetadataRecord::UnfenceBroker(UnfenceBroker { broker: b(broker), broker_epoch }));
    }

    pub(crate) fn fence(&mut self, brokers: &[i32]) {
        let brokers = brokers.iter().map(|broker| (b(*broker), self.epoch(*broker))).collect();
        self.ok(MetadataRecord::FenceBrokers(FenceBrokers { brokers }));
    }

    pub(crate) fn shut_down(&mut self, broker: i32) {
        let broker_epoch = self.epoch(broker);
        self.ok(MetadataRecord::BrokerShuttingDown(BrokerShuttingDown { broker: b(broker), broker_epoch }));
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.ok(MetadataRecord::SetConfigs(SetConfigs {
            resource: Resource::Topic(TOPIC),
            replace: false,
            changes: vec![(key.into(), ConfigOp::Set(value.into()))],
        }));
    }

    /// A change to this ISR as the present leader would ask for it now.
    pub(crate) fn isr_change(&self, isr: &[i32]) -> ChangeIsr {
        let partition = self.state();
        let epoch = |broker: BrokerId| self.image.replica_epoch(p0(), broker).unwrap_or_default();
        let leader = partition.leader.unwrap();
        ChangeIsr {
            partition: p0(),
            leader,
            leader_broker_epoch: epoch(leader),
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            isr: isr.iter().map(|broker| (b(*broker), epoch(b(*broker)))).collect(),
            proven: Vec::new(),
            behind: Vec::new(),
        }
    }

    pub(crate) fn change_isr(&mut self, isr: &[i32]) {
        let change = self.isr_change(isr);
        self.ok(MetadataRecord::ChangeIsr(change));
    }

    pub(crate) fn faulty_report(&self, broker: i32) -> ReportFaulty {
        ReportFaulty {
            broker: b(broker),
            broker_epoch: self.epoch(broker),
            partition: p0(),
            partition_epoch: self.state().partition_epoch,
        }
    }

    pub(crate) fn state(&self) -> &Partition {
        self.image.partition(p0()).unwrap()
    }

    /// Partition 0 in one line: leader, leader epoch, ISR, ELR.
    pub(crate) fn seats(&self) -> String {
        let list =
            |brokers: &[BrokerId]| brokers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let state = self.state();
        let leader = state.leader.map_or("none".into(), |leader| leader.to_string());
        format!(
            "leader {leader}@{} isr [{}] elr [{}]",
            state.leader_epoch,
            list(&state.isr),
            list(&state.elr)
        )
    }
}
