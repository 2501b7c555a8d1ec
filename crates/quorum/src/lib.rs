//! The metadata quorum: agreement by raft, its log on the log store.
//!
//! [`RaftQuorum`] implements `metadata_core::MetadataQuorum`: `Control` calls it and never waits; raft's tasks run beside
//! it in the same runtime. Raft's own log and votes are kept here and fsynced before they are answered; the copy of
//! the *agreed* log that each broker keeps is `Control`'s. How messages travel is handed in as a [`RaftTransport`].

#![forbid(unsafe_code)]

mod elections;
mod error;
mod machine;
mod mailbox;
mod members;
mod network;
mod raft;
mod runtime;
mod store;
#[cfg(test)]
mod tests;
mod types;

pub use error::{CallError, QuorumError, RpcError, StoreError};
pub use mailbox::Wake;
pub use network::{Call, RaftTransport};
pub use raft::{
    ELECTION_TIMEOUT_MS_MAX, ELECTION_TIMEOUT_MS_MIN, ENTRIES_KEPT_BEHIND_SNAPSHOT, HEARTBEAT_MS, RaftQuorum,
    RaftService, Start,
};
pub use types::PROPOSAL_BYTES_MAX;
