//! What Control is told about its broker at the start.

use std::time::Duration;

use log_core::{BrokerId, ClusterId, Crc32c, DirectoryId, Incarnation};
use metadata_core::Endpoint;

/// What Control is told about its broker at the start.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// The broker.
    pub broker: BrokerId,
    /// Its log directory.
    pub directory: DirectoryId,
    /// The cluster: drawn by the node that forms it, told to those that join.
    pub cluster_id: ClusterId,
    /// Whether this directory was formatted to form a cluster, which its format file has to remember: a node that joined
    /// never forms one, whatever it finds or lacks at a later start.
    pub forms: bool,
    /// This process start.
    pub incarnation: Incarnation,
    /// Whether the clean mark was found (D8).
    pub clean: bool,
    /// Where the broker stands; replicas are spread over racks.
    pub rack: Option<String>,
    /// Where it is reached.
    pub endpoints: Vec<Endpoint>,
    /// How many shards it runs.
    pub shards: u16,
    /// The greatest feature level that this broker lets the cluster rise to, and the one of a cluster that it forms; it takes
    /// part in a cluster that has a greater one all the same.
    pub feature_level_max: u16,
    /// How long brokers must have been calm before the feature level rises, where this broker is the controller.
    pub feature_level_calm: Duration,
    /// Cluster-wide defaults that a forming node sets, by the name a broker's file uses.
    pub cluster_configs: Vec<(String, String)>,
    /// Random bits, new at each start: topic ids are drawn from them.
    pub seed: [u8; 16],
    /// The checksum of the copy.
    pub crc: Crc32c,
}
