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
    /// The directory belongs to another cluster than the token.
    #[error("{} belongs to another cluster than the one that the token is for: use another --data-dir, or leave --join and --token out", path.display())]
    OtherCluster {
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
    /// A certificate for clients.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The TLS library refuses the configuration.
    #[error("TLS for clients is not usable: {0}")]
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

/// Why a certificate for clients is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file is no PEM of the kind wanted, or cannot be read.
    #[error("{} holds no {wanted} in PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The certificate does not fit its key, or the TLS library cannot use it.
    #[error("the certificate {called} is not usable: {cause}")]
    Unusable {
        /// Its file, or what it is for.
        called: String,
        /// What the TLS library says.
        cause: rustls::Error,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A certificate cannot be made.
    #[error("a certificate for browsers cannot be made: {0}")]
    Making(#[from] rcgen::Error),
    /// A certificate that was just made cannot be read.
    #[error("a certificate for browsers that was just made cannot be read")]
    Made,
    /// The user's certificate serves, which only the user can replace.
    #[error("the certificate of tls-cert serves browsers too: replace its files, they are read again")]
    OfTheUser,
}
