//! Why Control cannot open or keep its copy of the metadata log.

use log_core::{ClusterId, MetadataOffset};
use log_store::{DiskError, RecordLogError};
use metadata_core::record::{FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN};

/// Why Control cannot open or keep its copy of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The disk failed.
    #[error("the metadata copy: {0}")]
    Disk(#[from] DiskError),
    /// The copy cannot be read or written.
    #[error("the metadata copy: {0}")]
    Records(#[from] RecordLogError),
    /// No image can be read, and the records before the log's first one are gone.
    #[error("the metadata copy: image {newest} cannot be read: {error}")]
    Image {
        /// The last offset in the newest image.
        newest: MetadataOffset,
        /// Why.
        error: metadata_core::DecodeError,
    },
    /// The cluster is at a feature level that this build does not know.
    #[error(
        "the cluster's feature level is {found}, and this version of highwater knows {FEATURE_LEVEL_MIN} to {FEATURE_LEVEL_MAX}"
    )]
    FeatureLevel {
        /// The cluster's.
        found: u16,
    },
    /// The directory holds the metadata of another cluster.
    #[error("the metadata copy is of cluster {found}, not {expected}")]
    ForeignCluster {
        /// The cluster that the directory is said to belong to.
        expected: ClusterId,
        /// The cluster that its metadata names.
        found: ClusterId,
    },
}
