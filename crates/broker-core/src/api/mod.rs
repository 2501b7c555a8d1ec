//! One file per API: what the request asks becomes calls on partitions or commands to Control, what they answer becomes
//! the response. The same handlers serve every door.

pub(crate) mod admin;
mod alter_configs;
mod api_versions;
mod create_partitions;
mod create_topics;
pub(crate) mod delete_records;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
pub(crate) mod describe_log_dirs;
mod describe_quorum;
mod describe_topic_partitions;
mod elect_leaders;
mod endpoints;
pub(crate) mod fetch;
pub(crate) mod find_coordinator;
pub(crate) mod groups;
pub(crate) mod init_producer_id;
pub(crate) mod list_offsets;
pub(crate) mod metadata;
pub(crate) mod offset_for_leader_epoch;
pub(crate) mod produce;
mod sasl;
pub(crate) mod topics;
mod unregister_broker;
