//! The broker process: listeners, TLS, HTTP, configuration, boot; also an embeddable library.
//!
//! ```text
//! thread "control"   Control, the metadata quorum, the replica door's datagrams, HTTP, accepting clients
//! thread "shard-N"   one Shard: its clients' connections, its partitions, its replication streams
//! thread of the disk group commit and cold reads (crate `disk`)
//! ```
//! Threads share channels and two counts of connections (`shard_loads`, `seats`), nothing else; each runs a current-thread runtime on which everything is a task that calls
//! into the thread's one value and carries out what that wants.

mod boot;
mod broker;
mod browser;
mod carrier;
mod clock;
pub mod config;
mod control_host;
mod doors;
mod error;
mod exposition;
mod hold;
mod host;
mod http;
mod init;
mod joining;
mod links;
mod peers;
mod random;
mod replication;
mod seats;
mod shard_loads;
mod shard_thread;
mod status;

pub use boot::Addresses;
pub use broker::Broker;
pub use broker_core::ExitCode;
pub use error::{BootError, CertificateError};
pub use init::{Formed, init};
pub use links::Standing;
