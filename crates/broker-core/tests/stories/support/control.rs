//! The scripted control: applies what brokers ask at once, so that stories are about shards.

use highwater_broker_core::message::{
    AdminAnswer, AdminCommand, AdminError, ConfigOperation, ConfigResource, Election, IsrAnswer, LeaveReason,
    QuorumDescription, RecoveredPartition, RecoveredState,
};
use highwater_broker_core::{ControlRequest, ShardId, ShardMessage};
use log_core::{BrokerEpoch, BrokerId, DirectoryId, Incarnation, TopicId, TopicPartition};
use metadata_core::record::{self, ConfigOp, DirectoryReport, Listener, Resource, SuspectReport};
use metadata_core::{Answer, Endpoint, MetadataRecord};

use super::Cluster;

impl Cluster {
    pub(super) fn control(&mut self, broker: i32, shard: ShardId, request: ControlRequest) {
        match request {
            ControlRequest::Recovered { partitions } => self.register(broker, partitions),
            ControlRequest::Stopped { clean } => self.broker(broker).stopped.push(clean),
            _ if self.controller_silent => {}
            ControlRequest::Admin { id, command, .. } => {
                let result = self.command(broker, command);
                self.tell(broker, shard, ShardMessage::AdminAnswer { id, result });
            }
            ControlRequest::Isr(change) => {
                let behind = change.leaving.iter().filter(|(_, reason)| *reason == LeaveReason::Behind);
                let result = self.apply(MetadataRecord::ChangeIsr(record::ChangeIsr {
                    partition: change.attempt.partition,
                    leader: BrokerId(broker),
                    leader_broker_epoch: change.broker_epoch,
                    leader_epoch: change.attempt.leader_epoch,
                    partition_epoch: change.partition_epoch,
                    behind: behind.map(|(member, _)| *member).collect(),
                    isr: change.members,
                    proven: change.proven,
                }));
                let answer = if result.is_ok() { IsrAnswer::Applied } else { IsrAnswer::Refused };
                self.tell(broker, shard, ShardMessage::IsrAnswer { attempt: change.attempt, answer });
            }
            ControlRequest::ReportFaulty { partition, partition_epoch, .. } => {
                let (broker, broker_epoch) = self.registration(broker);
                let report = record::ReportFaulty { broker, broker_epoch, partition, partition_epoch };
                let _ = self.apply(MetadataRecord::ReportFaulty(report));
            }
            ControlRequest::ReplicaReset { partition, partition_epoch } => {
                let (broker, broker_epoch) = self.registration(broker);
                let reset = record::ResetReplica { broker, broker_epoch, partition, partition_epoch };
                let _ = self.apply(MetadataRecord::ResetReplica(reset));
            }
            ControlRequest::Resign { partition, leader_epoch } => {
                let leader = BrokerId(broker);
                let resign = record::ResignLeader { partition, leader, leader_epoch };
                let _ = self.apply(MetadataRecord::ResignLeader(resign));
            }
            ControlRequest::RemovalConfirmed { .. } => {}
            other => panic!("the scripted control does not know {other:?}"),
        }
    }

    pub(super) fn registration(&self, broker: i32) -> (BrokerId, BrokerEpoch) {
        (BrokerId(broker), self.image.broker(BrokerId(broker)).unwrap().epoch)
    }

    pub(crate) fn tell(&mut self, broker: i32, shard: ShardId, message: ShardMessage) {
        let now = self.now;
        self.broker(broker).shards[usize::from(shard.0)].handle_message(now, message);
    }

    fn register(&mut self, broker: i32, partitions: Vec<RecoveredPartition>) {
        let shards = usize::from(self.shards);
        let node = self.nodes.get_mut(&broker).unwrap();
        node.reports.extend(partitions);
        node.reported += 1;
        if node.reported < shards {
            return;
        }
        let mut report = DirectoryReport { clean: node.clean, ..DirectoryReport::default() };
        for found in &node.reports {
            let partition = found.partition;
            match found.state {
                RecoveredState::Clean | RecoveredState::Verified => {}
                RecoveredState::Suspect { last_epoch, end } => {
                    report.suspect.push(SuspectReport { partition, last_epoch, end });
                }
                RecoveredState::Faulty => report.faulty.push(partition),
            }
        }
        let port = 9_092 + 10 * u16::try_from(broker).unwrap();
        let endpoint = |listener, port| Endpoint { listener, host: "127.0.0.1".to_owned(), port };
        let register = record::RegisterBroker {
            broker: BrokerId(broker),
            directory: DirectoryId([u8::try_from(broker).unwrap(); 16]),
            incarnation: Incarnation(node.incarnation),
            rack: None,
            endpoints: vec![
                endpoint(Listener::Kafka, port),
                endpoint(Listener::Quic, port),
                endpoint(Listener::Replica, port + 1),
            ],
            shards: self.shards,
            feature_level_max: record::FEATURE_LEVEL_MAX,
            report,
        };
        let answer = self.apply(MetadataRecord::RegisterBroker(Box::new(register))).unwrap();
        let Answer::Registered { broker_epoch } = answer else { panic!("not registered: {answer:?}") };
        for shard in 0..self.shards {
            self.tell(broker, ShardId(shard), ShardMessage::Registered { broker_epoch });
        }
        let unfence = record::UnfenceBroker { broker: BrokerId(broker), broker_epoch };
        self.apply(MetadataRecord::UnfenceBroker(unfence)).unwrap();
    }

    fn command(&mut self, broker: i32, command: AdminCommand) -> Result<AdminAnswer, AdminError> {
        let record = match command {
            AdminCommand::CreateTopic(topic) => {
                self.next_topic += 1;
                MetadataRecord::CreateTopic(record::CreateTopic {
                    topic_id: TopicId([self.next_topic; 16]),
                    name: topic.name,
                    partitions: topic.partitions,
                    replication_factor: topic.replication_factor,
                    assignment: topic.assignments,
                    configs: topic.configs,
                })
            }
            AdminCommand::DeleteTopic { topic_id } => {
                MetadataRecord::DeleteTopic(record::DeleteTopic { topic_id })
            }
            AdminCommand::AddPartitions { topic_id, total, assignments, .. } => {
                let assignment = assignments;
                MetadataRecord::AddPartitions(record::AddPartitions { topic_id, total, assignment })
            }
            AdminCommand::AlterConfigs { resource, changes, replace, .. } => {
                MetadataRecord::SetConfigs(record::SetConfigs {
                    resource: match resource {
                        ConfigResource::Topic(topic_id) => Resource::Topic(topic_id),
                        ConfigResource::Cluster => Resource::Cluster,
                    },
                    replace,
                    changes: changes.into_iter().map(|change| (change.key, op(change.operation))).collect(),
                })
            }
            AdminCommand::AllocateProducerIds => {
                let (broker, broker_epoch) = self.registration(broker);
                let allocate = record::AllocateProducerIds { broker, broker_epoch, count: 2 };
                MetadataRecord::AllocateProducerIds(allocate)
            }
            AdminCommand::ElectLeader { partition, election } => self.election(partition, election),
            AdminCommand::UnregisterBroker { broker } => {
                let unregister = record::UnregisterBroker { broker, broker_epoch: None };
                MetadataRecord::UnregisterBroker(unregister)
            }
            AdminCommand::DescribeQuorum => {
                let leader = Some(BrokerId(1));
                let quorum = QuorumDescription { leader, ..Default::default() };
                return Ok(AdminAnswer::Quorum(quorum));
            }
            other => panic!("the scripted control does not know {other:?}"),
        };
        match self.apply(record).map_err(AdminError::Refused)? {
            Answer::TopicCreated { topic_id, partitions, replication_factor } => {
                Ok(AdminAnswer::TopicCreated { topic_id, partitions, replication_factor })
            }
            Answer::ProducerIds { first, count } => {
                Ok(AdminAnswer::ProducerIds { first, count: i32::try_from(count).unwrap() })
            }
            Answer::Elected(each) => match each.into_iter().find_map(|(_, result)| result.err()) {
                Some(refusal) => Err(AdminError::Refused(refusal)),
                None => Ok(AdminAnswer::Done),
            },
            _ => Ok(AdminAnswer::Done),
        }
    }

    fn election(&self, partition: TopicPartition, election: Election) -> MetadataRecord {
        let partition_epoch = self.image.partition(partition).unwrap().partition_epoch;
        match election {
            Election::Preferred => MetadataRecord::ElectPreferred(record::ElectPreferred {
                partitions: vec![(partition, partition_epoch)],
            }),
            Election::Unclean(choice) => {
                let broker = choice.as_ref().map(|choice| choice.leader);
                let shown = choice.map(|choice| choice.shown).unwrap_or_default();
                let elect = record::ElectUnclean { partition, partition_epoch, broker, shown };
                MetadataRecord::ElectUnclean(elect)
            }
        }
    }
}

fn op(operation: ConfigOperation) -> ConfigOp {
    match operation {
        ConfigOperation::Set(value) => ConfigOp::Set(value),
        ConfigOperation::Delete => ConfigOp::Delete,
        ConfigOperation::Append(value) => ConfigOp::Append(value),
        ConfigOperation::Subtract(value) => ConfigOp::Subtract(value),
    }
}
