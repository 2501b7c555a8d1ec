//! The administrator's calls.

use client_core::Answer;
use client_core::ClientError;
use client_core::admin::{AdminAnswer, AdminCall, ConfigChange, ConfigResource, NewTopic, OffsetSpec};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{Engine, Topic, call_id};
use crate::answers::Convert;
use crate::clock;

#[wasm_bindgen]
impl Engine {
    /// Creates a topic, or only checks whether it could be created. `configs` are names and values in turn.
    pub fn create_topic(
        &mut self,
        call: f64,
        name: String,
        partitions: Option<u32>,
        replication: Option<u16>,
        configs: Vec<String>,
        validate_only: bool,
    ) {
        let configs = configs.chunks_exact(2).filter_map(|pair| match pair {
            [name, value] => Some((name.as_str().into(), value.as_str().into())),
            _ => None,
        });
        let topic = NewTopic { name: name.into(), partitions, replication, configs: configs.collect() };
        self.ask(call, AdminCall::CreateTopics { topics: vec![topic], validate_only });
    }

    /// Deletes a topic.
    pub fn delete_topic(&mut self, call: f64, name: String) {
        self.ask(call, AdminCall::DeleteTopics(vec![name.into()]));
    }

    /// Gives a topic more partitions.
    pub fn create_partitions(&mut self, call: f64, topic: String, total: u32) {
        self.ask(call, AdminCall::CreatePartitions { topic: topic.into(), total });
    }

    /// Lists all topics.
    pub fn list_topics(&mut self, call: f64) {
        self.ask(call, AdminCall::ListTopics);
    }

    /// Describes a topic.
    pub fn describe_topic(&mut self, call: f64, name: String) {
        self.ask(call, AdminCall::DescribeTopics(vec![name.into()]));
    }

    /// Lists the settings of a topic or, if there is none, of a broker.
    pub fn describe_configs(&mut self, call: f64, topic: Option<String>, broker: i32) {
        self.ask(call, AdminCall::DescribeConfigs(resource(topic, broker)));
    }

    /// Changes settings of a topic or, if there is none, of a broker: the values of `names`, those without one to the
    /// default.
    pub fn alter_configs(
        &mut self,
        call: f64,
        topic: Option<String>,
        broker: i32,
        set: Vec<String>,
        deleted: Vec<String>,
    ) {
        let set = set.chunks_exact(2).filter_map(|pair| match pair {
            [name, value] => Some(ConfigChange::Set(name.as_str().into(), value.as_str().into())),
            _ => None,
        });
        let deleted = deleted.iter().map(|name| ConfigChange::Delete(name.as_str().into()));
        let changes = set.chain(deleted).collect();
        self.ask(call, AdminCall::AlterConfigs { resource: resource(topic, broker), changes });
    }

    /// Describes the cluster.
    pub fn describe_cluster(&mut self, call: f64) {
        self.ask(call, AdminCall::DescribeCluster);
    }

    /// Describes the metadata quorum.
    pub fn describe_quorum(&mut self, call: f64) {
        self.ask(call, AdminCall::DescribeQuorum);
    }

    /// Asks for offsets: `earliest`, `latest`, `max-timestamp`, or by `timestamp`. All of them, or an error.
    pub fn list_offsets(
        &mut self,
        call: f64,
        topics: Vec<String>,
        partitions: Vec<u32>,
        kind: &str,
        timestamp: f64,
    ) {
        let spec = match kind {
            "earliest" => OffsetSpec::Earliest,
            "max-timestamp" => OffsetSpec::MaxTimestamp,
            "timestamp" => OffsetSpec::Timestamp(timestamp as i64),
            _ => OffsetSpec::Latest,
        };
        let places = topics.into_iter().zip(partitions);
        let asked = places.map(|(topic, partition)| (Topic::from(topic), partition, spec)).collect();
        self.ask(call, AdminCall::ListOffsets(asked));
    }

    /// Asks for what a group has committed.
    pub fn group_offsets(&mut self, call: f64, group: String) {
        self.ask(call, AdminCall::GroupOffsets(group.into()));
    }
}

impl Engine {
    fn ask(&mut self, call: f64, question: AdminCall) {
        let now = clock::now();
        self.brain.admin(now, call_id(call), question);
        self.run(now);
    }

    /// An answer as JavaScript sees it. Where one thing was asked for, its error is the answer's.
    pub(super) fn converted(&self, answer: Answer) -> Result<JsValue, ClientError> {
        Ok(match answer {
            Answer::Done | Answer::Admin(AdminAnswer::Done) => JsValue::UNDEFINED,
            Answer::Admin(AdminAnswer::Created(created)) => only(created)?.convert(),
            Answer::Admin(AdminAnswer::Deleted(deleted)) => {
                only(deleted)?;
                JsValue::UNDEFINED
            }
            Answer::Admin(AdminAnswer::Topics(topics)) => topics.convert(),
            Answer::Admin(AdminAnswer::Described(described)) => only(described)?.convert(),
            Answer::Admin(AdminAnswer::Configs(entries)) => entries.convert(),
            Answer::Admin(AdminAnswer::Cluster(cluster)) => cluster.convert(),
            Answer::Admin(AdminAnswer::Quorum(quorum)) => quorum.convert(),
            // No tab asks for it.
            Answer::Admin(
                AdminAnswer::LogDirs(_)
                | AdminAnswer::Elected(_)
                | AdminAnswer::ReplicaEnds(_)
                | AdminAnswer::Groups(_)
                | AdminAnswer::Group(_)
                | AdminAnswer::GroupOffsetsChanged(_),
            ) => JsValue::UNDEFINED,
            Answer::Admin(AdminAnswer::Offsets(offsets)) => {
                offsets.into_iter().collect::<Result<Vec<_>, _>>()?.convert()
            }
            Answer::Admin(AdminAnswer::Committed(offsets)) => offsets.convert(),
        })
    }
}

fn resource(topic: Option<String>, broker: i32) -> ConfigResource {
    topic.map_or(ConfigResource::Broker(broker), |topic| ConfigResource::Topic(topic.into()))
}

/// The result of the only thing that was asked for.
fn only<T>(mut results: Vec<Result<T, ClientError>>) -> Result<T, ClientError> {
    results.pop().unwrap_or(Err(ClientError::Closed))
}
