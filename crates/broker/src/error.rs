//! Why a broker does not start: always which thing, and what to do.

use std::io;
use std::path::PathBuf;

use broker_core::control::ControlError;
use disk::{DirectoryError, LockError};
use log_store::DiskError;
use log_store::directory::DirectoryRefusal;
use quorum::QuorumError;
use replica::{BindError, IdentityError, JoinError};

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootError {
    /// Another process has the log directory, or the lock cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log directory cannot be opened.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The log directory is not this broker's, or cannot be read.
    #[error("{} is not used: {refusal}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Why.
        refusal: DirectoryRefusal,
    },
    /// The disk failed while the directory was prepared.
    #[error("{}: {cause}", path.display())]
    Disk {
        /// The directory.
        path: PathBuf,
        /// What failed.
        cause: DiskError,
    },
    /// The directory is formatted, but this broker's certificate is missing in it.
    #[error("{} has lost its certificate (tls/broker.pem): restore the folder tls from a backup, or empty the directory and join anew", path.display())]
    NoIdentity {
        /// The directory.
        path: PathBuf,
    },
    /// The directory belongs to a cluster that the node was not asked to join.
    #[error("{} belongs to a cluster already: leave --join and --token out, or use another --data-dir", path.display())]
    JoinedAlready {
        /// The directory.
        path: PathBuf,
    },
    /// The certificate or key is not usable.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The cluster did not let this node in.
    #[error("cannot join the cluster at {address}: {cause}")]
    Join {
        /// Where it was asked.
        address: String,
        /// What came of it.
        cause: Box<JoinError>,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// `host:port`.
        address: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The replica door.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A socket cannot be used.
    #[error("a socket cannot be used: {0}")]
    Socket(#[source] io::Error),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    /// A file is no PEM of the kind wanted.
    #[error("{} holds no {wanted} in PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The TLS library refuses a certificate.
    #[error("the certificate for clients is not usable: {0}")]
    Tls(#[from] rustls::Error),
    /// The copy of the metadata log.
    #[error("the copy of the metadata log: {0}")]
    Metadata(#[from] ControlError),
    /// The quorum's log.
    #[error(transparent)]
    Quorum(#[from] QuorumError),
    /// Control's thread ended before it said why.
    #[error("the broker ended while it was starting")]
    Ended,
}
