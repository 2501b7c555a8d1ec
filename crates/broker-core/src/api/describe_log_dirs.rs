//! DescribeLogDirs: how much of the disk each replica of this broker takes. A broker has one log directory.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kafka_wire::ErrorCode;
use kafka_wire::messages::describe_log_dirs::{
    DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeLogDirsResult,
    DescribeLogDirsTopic,
};
use log_core::TopicPartition;
use log_store::Disk;

use crate::peer::{CallId, LogSize, PartitionAnswer, PartitionCall};
use crate::shard::{Ask, Gather, Pending, Shard};

/// A DescribeLogDirs request that waits for its partitions.
#[derive(Debug)]
pub(crate) struct DescribeLogDirs {
    ask: Ask,
    replicas: Vec<(String, TopicPartition)>,
    /// None for a replica that is not there yet, or no longer.
    sizes: Gather<Option<LogSize>>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn handle_describe_log_dirs(&mut self, ask: Ask, request: &DescribeLogDirsRequest<'_>) {
        let id = self.next_pending();
        let replicas = self.own_replicas(request);
        let partitions: Vec<TopicPartition> = replicas.iter().map(|(_, partition)| *partition).collect();
        let describe = DescribeLogDirs { ask, sizes: Gather::new(replicas.len()), replicas };
        if describe.sizes.is_complete() {
            return self.finish_describe_log_dirs(describe);
        }
        for (part, partition) in (0..).zip(partitions) {
            self.call(CallId { pending: id, part }, partition, PartitionCall::Size);
        }
        let deadline = self.core.now.mono.after(self.core.config.limits.admin_timeout_max);
        self.wait(id, Pending::DescribeLogDirs(describe), Some(deadline));
    }

    /// The replicas asked for that this broker has, by topic and number, each once.
    fn own_replicas(&self, request: &DescribeLogDirsRequest<'_>) -> Vec<(String, TopicPartition)> {
        let broker = self.core.broker();
        let image = &self.core.image;
        let mut wanted = BTreeSet::new();
        for topic in request.topics.iter().flatten() {
            wanted.extend(topic.partitions.iter().map(|partition| (&*topic.name, *partition)));
        }
        let all = request.topics.is_none();
        let mut names: Vec<&str> = image.topic_names().collect();
        names.sort_unstable();
        let topics = names.into_iter().filter_map(|name| Some((name, image.topic_by_name(name)?)));
        topics
            .flat_map(|(name, topic)| topic.partitions().map(move |(id, state)| (name, id, state)))
            .filter(|(_, _, state)| state.replica(broker).is_some())
            .filter(|(name, id, _)| all || wanted.contains(&(*name, id.partition.0)))
            .map(|(name, id, _)| (name.to_owned(), id))
            .collect()
    }

    pub(crate) fn finish_describe_log_dirs(&mut self, describe: DescribeLogDirs) {
        let DescribeLogDirs { ask, replicas, sizes } = describe;
        let sizes = sizes.into_parts(|| None);
        let mut topics: Vec<DescribeLogDirsTopic<'_>> = Vec::new();
        for ((name, partition), size) in replicas.iter().zip(sizes) {
            let Some(size) = size else { continue };
            if topics.last().is_none_or(|topic| *topic.name != **name) {
                topics.push(DescribeLogDirsTopic { name: Cow::Borrowed(name), partitions: Vec::new() });
            }
            if let Some(topic) = topics.last_mut() {
                topic.partitions.push(DescribeLogDirsPartition {
                    partition_index: partition.partition.0,
                    partition_size: size.bytes.cast_signed(),
                    offset_lag: size.lag,
                    is_future_key: false,
                });
            }
        }
        let free = self.core.disk.free_bytes();
        let log_dir = self.core.config.log_dir.clone();
        let directory = DescribeLogDirsResult {
            error_code: if free.is_ok() { ErrorCode::None } else { ErrorCode::KafkaStorageError },
            log_dir: Cow::Borrowed(&log_dir),
            topics,
            usable_bytes: free.map_or(-1, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            ..DescribeLogDirsResult::default()
        };
        let response =
            DescribeLogDirsResponse { results: vec![directory], ..DescribeLogDirsResponse::default() };
        self.respond(ask, &response);
    }
}

impl DescribeLogDirs {
    pub(crate) fn take<F>(&mut self, part: u32, answer: PartitionAnswer<F>) -> bool {
        match answer {
            PartitionAnswer::Sized(size) => self.sizes.put(part, Some(size)),
            PartitionAnswer::Failed(_) => self.sizes.put(part, None),
            PartitionAnswer::Produced(_)
            | PartitionAnswer::Fetched(_)
            | PartitionAnswer::OffsetListed(_)
            | PartitionAnswer::EpochEnd { .. }
            | PartitionAnswer::RecordsDeleted { .. }
            | PartitionAnswer::Group(_) => {}
        }
        self.sizes.is_complete()
    }
}
