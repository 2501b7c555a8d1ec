//! Administrative commands: what is only asked or checked is answered from this broker's image, the rest is proposed.

use log_core::{MonoTime, Offset, TopicId};
use log_store::Disk;
use metadata_core::record::{
    AddPartitions, AllocateProducerIds, ConfigOp, CreateJoinToken, CreateTopic, DeleteTopic, Resource,
    SetConfigs, UnregisterBroker, UseJoinToken,
};
use metadata_core::{Answer, MetadataQuorum, MetadataRecord, Refusal};

use super::proposals::Purpose;
use super::{Caller, Control, ControlAction};
use crate::message::{
    AdminAnswer, AdminCommand, AdminError, ConfigChange, ConfigOperation, ConfigResource, NewTopic,
    QuorumDescription, QuorumMember, ShardMessage,
};

/// How many producer ids a broker takes at once.
const PRODUCER_ID_BLOCK: u32 = 1_000;

/// What a command needs.
pub(super) enum Plan {
    /// It is answered now.
    Answer(Result<AdminAnswer, AdminError>),
    /// A record has to be applied.
    Propose(MetadataRecord),
}

impl<D: Disk, Q: MetadataQuorum> Control<D, Q> {
    pub(super) fn start_admin(&mut self, caller: Caller, deadline: MonoTime, command: AdminCommand) {
        if self.stopping.is_some() || self.ended {
            self.answer_admin(caller, Err(AdminError::Stopping));
            return;
        }
        match self.plan(command) {
            Plan::Answer(result) => self.answer_admin(caller, result),
            Plan::Propose(record) => self.propose(Purpose::Admin(caller), deadline, record),
        }
    }

    pub(super) fn answer_admin(&mut self, caller: Caller, result: Result<AdminAnswer, AdminError>) {
        self.actions.push_back(match caller {
            Caller::Shard(shard, id) => {
                ControlAction::ToShard(shard, ShardMessage::AdminAnswer { id, result })
            }
            Caller::Driver(id) => ControlAction::Answer { id, result },
        });
    }

    fn plan(&mut self, command: AdminCommand) -> Plan {
        match command {
            AdminCommand::CreateTopic(topic) => self.plan_create(topic),
            AdminCommand::DeleteTopic { topic_id } => {
                Plan::Propose(MetadataRecord::DeleteTopic(DeleteTopic { topic_id }))
            }
            AdminCommand::AddPartitions { topic_id, total, assignments, validate_only } => {
                let fields = AddPartitions { topic_id, total, assignment: assignments };
                if validate_only {
                    return checked(self.image.new_partitions(&fields).map(|_| ()));
                }
                Plan::Propose(MetadataRecord::AddPartitions(fields))
            }
            AdminCommand::AlterConfigs { resource, changes, replace, validate_only } => {
                let changes = changes.into_iter().map(config_op).collect();
                let fields = SetConfigs { resource: config_resource(&resource), replace, changes };
                if validate_only {
                    return checked(self.image.check_configs(&fields));
                }
                Plan::Propose(MetadataRecord::SetConfigs(fields))
            }
            AdminCommand::AllocateProducerIds => self.plan_producer_ids(),
            AdminCommand::ElectLeader { partition, election } => self.plan_election(partition, election),
            AdminCommand::DescribeQuorum => Plan::Answer(Ok(AdminAnswer::Quorum(self.describe_quorum()))),
            AdminCommand::UnregisterBroker { broker } => {
                Plan::Propose(MetadataRecord::UnregisterBroker(UnregisterBroker {
                    broker,
                    broker_epoch: None,
                }))
            }
            AdminCommand::CreateJoinToken { hash, expires } => {
                Plan::Propose(MetadataRecord::CreateJoinToken(CreateJoinToken { hash, expires }))
            }
            AdminCommand::Join { hash, directory, broker, endpoints } => {
                Plan::Propose(MetadataRecord::UseJoinToken(UseJoinToken {
                    hash,
                    directory,
                    broker,
                    endpoints,
                }))
            }
        }
    }

    fn plan_create(&mut self, topic: NewTopic) -> Plan {
        let fields = CreateTopic {
            topic_id: self.life.draw_topic_id(&self.config.seed),
            name: topic.name,
            partitions: topic.partitions,
            replication_factor: topic.replication_factor,
            assignment: topic.assignments,
            configs: topic.configs,
        };
        if !topic.validate_only {
            return Plan::Propose(MetadataRecord::CreateTopic(fields));
        }
        let found = self.image.new_topic(&fields).map(|topic| AdminAnswer::TopicCreated {
            topic_id: TopicId::default(),
            partitions: topic.partition_count(),
            replication_factor: topic.replication_factor(),
        });
        Plan::Answer(found.map_err(AdminError::Refused))
    }

    fn plan_producer_ids(&self) -> Plan {
        match self.life.broker_epoch() {
            Some(broker_epoch) => Plan::Propose(MetadataRecord::AllocateProducerIds(AllocateProducerIds {
                broker: self.config.broker,
                broker_epoch,
                count: PRODUCER_ID_BLOCK,
            })),
            None => Plan::Answer(Err(AdminError::NoController)),
        }
    }

    fn describe_quorum(&self) -> QuorumDescription {
        let status = self.quorum.status();
        let end = |directory: &_| status.matched.get(directory).map(|last| Offset(last.0 + 1));
        let member = |node: &metadata_core::QuorumMember| QuorumMember {
            broker: node.broker,
            directory: node.directory,
            end: end(&node.directory),
        };
        let leader = status.leader.and_then(|leader| status.members.nodes.get(&leader));
        let (voters, observers): (Vec<_>, Vec<_>) =
            status.members.nodes.values().partition(|node| status.members.voters.contains(&node.directory));
        QuorumDescription {
            leader: leader.map(|node| node.broker),
            term: i32::try_from(status.term).unwrap_or(i32::MAX),
            high_watermark: Offset(status.committed.map_or(0, |last| last.0 + 1)),
            voters: voters.into_iter().map(member).collect(),
            observers: observers.into_iter().map(member).collect(),
        }
    }
}

/// What the caller is told of an applied record.
pub(super) fn answer(answer: Answer) -> Result<AdminAnswer, AdminError> {
    Ok(match answer {
        Answer::TopicCreated { topic_id, partitions, replication_factor } => {
            AdminAnswer::TopicCreated { topic_id, partitions, replication_factor }
        }
        Answer::ProducerIds { first, count } => {
            AdminAnswer::ProducerIds { first, count: i32::try_from(count).unwrap_or(i32::MAX) }
        }
        Answer::Joined { cluster_id, broker } => AdminAnswer::Joined { cluster_id, broker },
        Answer::Elected(each) => {
            let refused = each.into_iter().find_map(|(_, result)| result.err());
            return refused.map_or(Ok(AdminAnswer::Done), |refusal| Err(AdminError::Refused(refusal)));
        }
        _ => AdminAnswer::Done,
    })
}

fn checked(result: Result<(), Refusal>) -> Plan {
    Plan::Answer(result.map(|()| AdminAnswer::Done).map_err(AdminError::Refused))
}

const fn config_resource(resource: &ConfigResource) -> Resource {
    match resource {
        ConfigResource::Topic(topic_id) => Resource::Topic(*topic_id),
        ConfigResource::Cluster => Resource::Cluster,
    }
}

fn config_op(change: ConfigChange) -> (String, ConfigOp) {
    let op = match change.operation {
        ConfigOperation::Set(value) => ConfigOp::Set(value),
        ConfigOperation::Delete => ConfigOp::Delete,
        ConfigOperation::Append(value) => ConfigOp::Append(value),
        ConfigOperation::Subtract(value) => ConfigOp::Subtract(value),
    };
    (change.key, op)
}
