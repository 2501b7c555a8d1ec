//! ElectLeaders: preferred leaders, and unclean ones of partitions that nobody leads (C5).

use std::borrow::Cow;

use kafka_wire::ErrorCode;
use kafka_wire::messages::elect_leaders::{
    ElectLeadersChoice, ElectLeadersReplicaEnd, ElectLeadersRequest, ElectLeadersResponse,
    PartitionElectionResult, ReplicaElectionResult,
};
use log_core::{BrokerId, LeaderEpoch, Offset};
use log_store::Disk;
use metadata_core::record::ShownEnd;

use super::admin::{AdminKind, AdminResult, Failure};
use super::topics;
use crate::message::{AdminCommand, Election, UncleanChoice};
use crate::shard::{Ask, Shard};

/// The partitions whose leaders are to be elected, by topic.
#[derive(Debug)]
pub(crate) struct ElectedLeaders {
    topics: Vec<(String, Vec<i32>)>,
}

/// Kafka's numbers of election types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Preferred,
    Unclean,
}

impl Kind {
    const fn of(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Preferred),
            1 => Some(Self::Unclean),
            _ => None,
        }
    }
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_elect_leaders(&mut self, ask: Ask, request: &ElectLeadersRequest<'_>) {
        let Some(kind) = Kind::of(request.election_type) else {
            let error_code = ErrorCode::InvalidRequest;
            let response = ElectLeadersResponse { error_code, ..ElectLeadersResponse::default() };
            return self.respond(ask, &response);
        };
        let topics: Vec<(String, Vec<i32>)> = match &request.topic_partitions {
            Some(named) => {
                let named = named.iter();
                named.map(|topic| (topic.topic.clone().into_owned(), topic.partitions.clone())).collect()
            }
            None => self.in_need(kind),
        };
        let parts = topics.iter().flat_map(|(name, partitions)| {
            partitions.iter().map(|partition| self.election(name, *partition, kind, &request.choices))
        });
        let parts = parts.collect();
        self.start_admin(ask, AdminKind::ElectLeaders(ElectedLeaders { topics }), request.timeout_ms, parts);
    }

    /// All partitions that such an election would change, or should.
    fn in_need(&self, kind: Kind) -> Vec<(String, Vec<i32>)> {
        let mut found = Vec::new();
        for topic in self.core.image.topics() {
            let needy = topic.partitions().filter(|(_, state)| match kind {
                Kind::Preferred => state.leader != state.preferred(),
                Kind::Unclean => state.leader.is_none(),
            });
            let needy: Vec<i32> = needy.map(|(id, _)| id.partition.0).collect();
            if !needy.is_empty() {
                found.push((topic.name.to_string(), needy));
            }
        }
        found
    }

    fn election(
        &self,
        name: &str,
        partition: i32,
        kind: Kind,
        choices: &[ElectLeadersChoice<'_>],
    ) -> Result<AdminCommand, Failure> {
        let found = topics::by_name(&self.core.image, name)
            .and_then(|topic| topics::partition_of(topic, partition))
            .map_err(|code| Failure::new(code, "there is no such partition"))?;
        let chosen =
            choices.iter().find(|choice| choice.topic == name && choice.partition_index == partition);
        let election = match kind {
            Kind::Preferred => Election::Preferred,
            Kind::Unclean => Election::Unclean(chosen.map(choice)),
        };
        Ok(AdminCommand::ElectLeader { partition: found, election })
    }

    pub(crate) fn finish_elect_leaders(
        &mut self,
        ask: Ask,
        elected: &ElectedLeaders,
        results: Vec<AdminResult>,
    ) {
        let mut results = results.into_iter();
        let topics = elected.topics.iter().map(|(name, partitions)| ReplicaElectionResult {
            topic: Cow::Borrowed(&**name),
            partition_result: partitions
                .iter()
                .zip(&mut results)
                .map(|(partition, result)| {
                    let failure = result.err();
                    PartitionElectionResult {
                        partition_id: *partition,
                        error_code: failure.as_ref().map_or(ErrorCode::None, |failure| failure.code),
                        error_message: failure.map(|failure| Cow::Owned(failure.message)),
                    }
                })
                .collect(),
        });
        let replica_election_results = topics.collect();
        let response = ElectLeadersResponse { replica_election_results, ..ElectLeadersResponse::default() };
        self.respond(ask, &response);
    }
}

fn choice(wire: &ElectLeadersChoice<'_>) -> UncleanChoice {
    let shown = |end: &ElectLeadersReplicaEnd| ShownEnd {
        broker: BrokerId(end.broker_id),
        last_epoch: (end.last_epoch >= 0).then_some(LeaderEpoch(end.last_epoch)),
        end: (end.end >= 0).then_some(Offset(end.end)),
    };
    UncleanChoice {
        leader: BrokerId(wire.leader_id),
        leader_epoch: LeaderEpoch(wire.leader_epoch),
        shown: wire.shown.iter().map(shown).collect(),
    }
}
