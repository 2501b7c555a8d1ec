//! Topics, settings, offsets and the cluster, for administrators; groups are in `admin/groups.rs`.

use std::sync::Arc;
use std::time::Duration;

use client_core::admin::{
    AdminAnswer, AdminCall, ClusterDescription, ConfigChange, ConfigEntry, ConfigResource, CreatedTopic,
    ElectedPartition, Election, LogDirDescription, NewTopic, OffsetSpec, PartitionOffset, QuorumDescription,
    ReplicaEnd, TopicDescription, TopicListing,
};
use client_core::error::ClientError;

use crate::driver::Remote;

mod groups;

/// The administrator's calls. Cheap to clone; made by [`Client::admin`](crate::Client::admin).
///
/// Each call is tried again while that can help, until the client's call timeout or that of this handle
/// ([`call_timeout`](Self::call_timeout)). Dropping a call's future does not
/// take back what was sent.
#[derive(Clone, Debug)]
pub struct Admin {
    remote: Arc<Remote>,
    /// None is the client's call timeout.
    limit: Option<Duration>,
}

impl Admin {
    pub(crate) const fn new(remote: Arc<Remote>) -> Self {
        Self { remote, limit: None }
    }

    /// The same calls with another time limit than the client's: also one that a broker has got and does not answer fails then.
    #[must_use]
    pub const fn call_timeout(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Creates a topic. If the connection is lost on the way and the topic is found to exist on the next try, it
    /// counts as created.
    ///
    /// # Errors
    /// `TOPIC_ALREADY_EXISTS`, `INVALID_REPLICATION_FACTOR` and other refusals of the broker; network trouble.
    pub async fn create_topic(&self, topic: NewTopic) -> Result<CreatedTopic, ClientError> {
        self.create_topics(vec![topic]).await.and_then(only)
    }

    /// Creates several topics at once: one result for each, in order.
    ///
    /// # Errors
    /// Those of the call as a whole; those of single topics are in the list.
    pub async fn create_topics(
        &self,
        topics: Vec<NewTopic>,
    ) -> Result<Vec<Result<CreatedTopic, ClientError>>, ClientError> {
        match self.call(AdminCall::CreateTopics { topics, validate_only: false }).await? {
            AdminAnswer::Created(created) => Ok(created),
            _ => Err(ClientError::Closed),
        }
    }

    /// Checks whether a topic could be created, and creates nothing.
    ///
    /// # Errors
    /// As [`create_topic`](Self::create_topic).
    pub async fn validate_topic(&self, topic: NewTopic) -> Result<CreatedTopic, ClientError> {
        match self.call(AdminCall::CreateTopics { topics: vec![topic], validate_only: true }).await? {
            AdminAnswer::Created(created) => only(created),
            _ => Err(ClientError::Closed),
        }
    }

    /// Deletes a topic and all its records.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION` if there is none; other refusals; network trouble.
    pub async fn delete_topic(&self, topic: impl Into<Arc<str>>) -> Result<(), ClientError> {
        match self.call(AdminCall::DeleteTopics(vec![topic.into()])).await? {
            AdminAnswer::Deleted(deleted) => only(deleted),
            _ => Err(ClientError::Closed),
        }
    }

    /// Gives a topic more partitions: `total` in all. Keys move to other partitions by that.
    ///
    /// # Errors
    /// `INVALID_PARTITIONS` if that is not more than it has; other refusals; network trouble.
    pub async fn create_partitions(&self, topic: impl Into<Arc<str>>, total: u32) -> Result<(), ClientError> {
        self.call(AdminCall::CreatePartitions { topic: topic.into(), total }).await.map(drop)
    }

    /// All topics, by name, internal ones included.
    ///
    /// # Errors
    /// Network trouble.
    pub async fn list_topics(&self) -> Result<Vec<TopicListing>, ClientError> {
        match self.call(AdminCall::ListTopics).await? {
            AdminAnswer::Topics(topics) => Ok(topics),
            _ => Err(ClientError::Closed),
        }
    }

    /// One topic with its partitions, leaders and replicas. Never creates it.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION` if there is none; network trouble.
    pub async fn describe_topic(&self, topic: impl Into<Arc<str>>) -> Result<TopicDescription, ClientError> {
        match self.call(AdminCall::DescribeTopics(vec![topic.into()])).await? {
            AdminAnswer::Described(topics) => only(topics),
            _ => Err(ClientError::Closed),
        }
    }

    /// Several topics with their partitions, leaders and replicas: one result for each, in order. Never creates one.
    ///
    /// # Errors
    /// Those of the call as a whole; those of single topics are in the list.
    pub async fn describe_topics(
        &self,
        topics: Vec<Arc<str>>,
    ) -> Result<Vec<Result<TopicDescription, ClientError>>, ClientError> {
        match self.call(AdminCall::DescribeTopics(topics)).await? {
            AdminAnswer::Described(described) => Ok(described),
            _ => Err(ClientError::Closed),
        }
    }

    /// All settings of a topic or a broker, by name, with their values and where those come from.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION` if there is no such topic; other refusals; network trouble.
    pub async fn describe_configs(&self, resource: ConfigResource) -> Result<Vec<ConfigEntry>, ClientError> {
        match self.call(AdminCall::DescribeConfigs(resource)).await? {
            AdminAnswer::Configs(entries) => Ok(entries),
            _ => Err(ClientError::Closed),
        }
    }

    /// Changes some settings of a topic or a broker and leaves the others.
    ///
    /// # Errors
    /// `INVALID_CONFIG` for an unknown name or a wrong value; other refusals; network trouble.
    pub async fn alter_configs(
        &self,
        resource: ConfigResource,
        changes: Vec<ConfigChange>,
    ) -> Result<(), ClientError> {
        self.call(AdminCall::AlterConfigs { resource, changes }).await.map(drop)
    }

    /// The cluster's id and its live brokers.
    ///
    /// # Errors
    /// Network trouble.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, ClientError> {
        match self.call(AdminCall::DescribeCluster).await? {
            AdminAnswer::Cluster(cluster) => Ok(cluster),
            _ => Err(ClientError::Closed),
        }
    }

    /// The metadata quorum: who leads it, who votes, who follows, and how far each is.
    ///
    /// # Errors
    /// [`ClientError::Unsupported`] if the broker has none; network trouble.
    pub async fn describe_quorum(&self) -> Result<QuorumDescription, ClientError> {
        match self.call(AdminCall::DescribeQuorum).await? {
            AdminAnswer::Quorum(quorum) => Ok(quorum),
            _ => Err(ClientError::Closed),
        }
    }

    /// The directories of a broker with the sizes of the replicas in them: of the given partitions, or of all. A replica
    /// that the broker does not have is left out.
    ///
    /// # Errors
    /// Network trouble; those of single directories, as `KAFKA_STORAGE_ERROR`, are in the list.
    pub async fn describe_log_dirs(
        &self,
        broker: i32,
        partitions: Option<Vec<(Arc<str>, Vec<u32>)>>,
    ) -> Result<Vec<Result<LogDirDescription, ClientError>>, ClientError> {
        match self.call(AdminCall::DescribeLogDirs { broker, partitions }).await? {
            AdminAnswer::LogDirs(directories) => Ok(directories),
            _ => Err(ClientError::Closed),
        }
    }

    /// Elects leaders of the given partitions, by topic, or of all that need it: one result for each of them.
    ///
    /// An unclean election loses what only other replicas have: [`replica_ends`](Self::replica_ends) asks each live one
    /// what it has, so that the best can be chosen.
    ///
    /// # Errors
    /// Those of the call as a whole; `ELECTION_NOT_NEEDED`, `PREFERRED_LEADER_NOT_AVAILABLE`,
    /// `ELIGIBLE_LEADERS_NOT_AVAILABLE` and other refusals of single partitions are in the list.
    pub async fn elect_leaders(
        &self,
        election: Election,
        partitions: Option<Vec<(Arc<str>, Vec<u32>)>>,
    ) -> Result<Vec<ElectedPartition>, ClientError> {
        match self.call(AdminCall::ElectLeaders { election, partitions }).await? {
            AdminAnswer::Elected(elected) => Ok(elected),
            _ => Err(ClientError::Closed),
        }
    }

    /// Where the replicas that a broker holds of a topic's partitions end, led or not: one result for each, in order.
    ///
    /// # Errors
    /// Network trouble; `NOT_LEADER_OR_FOLLOWER` and others of single partitions are in the list.
    pub async fn replica_ends(
        &self,
        broker: i32,
        topic: impl Into<Arc<str>>,
        partitions: Vec<u32>,
    ) -> Result<Vec<Result<ReplicaEnd, ClientError>>, ClientError> {
        match self.call(AdminCall::ReplicaEnds { broker, topic: topic.into(), partitions }).await? {
            AdminAnswer::ReplicaEnds(ends) => Ok(ends),
            _ => Err(ClientError::Closed),
        }
    }

    /// Removes a broker that is not running and will not come back: it loses its place in every partition and in the
    /// metadata quorum.
    ///
    /// # Errors
    /// `BROKER_ID_NOT_REGISTERED` if there is none; `INVALID_REQUEST` while it runs; network trouble.
    pub async fn unregister_broker(&self, broker: i32) -> Result<(), ClientError> {
        self.call(AdminCall::UnregisterBroker(broker)).await.map(drop)
    }

    /// One offset of each of the given partitions of a topic: one result for each, in order.
    ///
    /// # Errors
    /// Those of the call as a whole; those of single partitions are in the list.
    pub async fn list_offsets(
        &self,
        topic: impl Into<Arc<str>>,
        partitions: impl IntoIterator<Item = u32>,
        spec: OffsetSpec,
    ) -> Result<Vec<Result<PartitionOffset, ClientError>>, ClientError> {
        let topic = topic.into();
        let asked = partitions.into_iter().map(|partition| (Arc::clone(&topic), partition, spec)).collect();
        self.remote.list_offsets(asked, self.limit).await
    }

    async fn call(&self, call: AdminCall) -> Result<AdminAnswer, ClientError> {
        self.remote.admin(call, self.limit).await
    }
}

/// The result of the only thing that was asked for.
fn only<T>(mut results: Vec<Result<T, ClientError>>) -> Result<T, ClientError> {
    results.pop().unwrap_or(Err(ClientError::Closed))
}
