//! Metadata records, the cluster image they make, and the controller's decisions.
//!
//! Everything that brokers agree on is one log of [`MetadataRecord`]s. Each broker appends it to its own disk, fsyncs it
//! and only then applies it (Q1); [`ClusterImage::apply`] checks every rule when the record is applied, in log order, on
//! every broker alike, so the outcome of applying is the answer to whoever proposed it (C1).
//!
//! # Call order
//!
//! 1. [`MetadataQuorum::poll_event`] yields committed entries; [`Entry::decode`] reads one.
//! 2. After the entry is durable in this broker's copy: [`ClusterImage::apply`], or [`ClusterImage::skip`] where the
//!    quorum itself wrote the entry.
//! 3. Only on the quorum's leader: [`Controller`]'s `handle_*` with the new image, then its `poll_action` until it is
//!    empty and `poll_timeout` for when to come back.

#![forbid(unsafe_code)]

mod apply;
pub mod config;
pub mod controller;
pub mod error;
pub mod frames;
pub mod image;
pub mod model;
pub mod names;
pub mod outcome;
pub mod placement;
pub mod quorum;
pub mod record;
pub mod solo;

pub use config::{ClusterSettings, ConfigEntry, ConfigSource, TopicSettings};
pub use controller::{Controller, ControllerAction, Heartbeat, HeartbeatAnswer};
pub use error::{DecodeError, Ineligible, Refusal};
pub use frames::{CONTROL_FRAME_LIMITS, ControlFrame};
pub use image::{
    Broker, ClusterEvent, ClusterEventKind, ClusterImage, Condition, DeletedTopic, Partition, Replica,
    Standing, Topic,
};
pub use model::{ModelCluster, ModelQuorum};
pub use outcome::{Answer, Change, Outcome};
pub use quorum::{
    CommittedEntry, Members, MetadataQuorum, Proposal, QuorumEvent, QuorumMember, QuorumStatus,
};
pub use record::{Endpoint, Entry, Listener, MetadataRecord, ProposalId};
pub use solo::SoloQuorum;
