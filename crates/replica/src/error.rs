//! What can fail between brokers, split by blame: files of our own, the peer's certificate, the network, bytes.

use std::path::PathBuf;

use log_core::{BrokerId, FrameError};
use replica_core::{HelloError, StreamKind};

use crate::join::JoinRefusal;

/// Why an authority or a certificate of our own cannot be made, kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file does not hold what its name says.
    #[error("{} holds no {wanted}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A certificate or key cannot be made.
    #[error("a certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
    /// The TLS library refuses what the files hold.
    #[error("the certificate is not usable: {0}")]
    Unusable(#[from] rustls::Error),
}

/// What is wrong with a peer's certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// It showed none where one is needed.
    #[error("the peer showed no certificate")]
    Missing,
    /// It names no broker.
    #[error("the peer's certificate names {found}, which is no broker of this cluster")]
    NoBroker {
        /// The names found, or "nothing".
        found: String,
    },
    /// It names another broker than the one that was called.
    #[error("the certificate names broker {found} where broker {wanted} was called")]
    OtherBroker {
        /// The broker that was called.
        wanted: BrokerId,
        /// The broker that answered.
        found: BrokerId,
    },
}

/// Why there is no connection to a peer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An address does not resolve.
    #[error("{address} does not resolve: {cause}")]
    Resolve {
        /// `host:port`.
        address: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The broker has registered no address.
    #[error("broker {0} has no address")]
    NoAddress(BrokerId),
    /// The attempt cannot begin.
    #[error("{address} cannot be called: {cause}")]
    Call {
        /// `host:port`.
        address: String,
        /// What the QUIC library said.
        cause: quinn::ConnectError,
    },
    /// The handshake failed, or the connection ended before it was done. A refused certificate is named by the cause.
    #[error("no connection with {address}: {cause}")]
    Handshake {
        /// `host:port`.
        address: String,
        /// What the QUIC library said.
        cause: quinn::ConnectionError,
    },
    /// Nobody answers.
    #[error("{address} does not answer")]
    Silent {
        /// `host:port`.
        address: String,
    },
    /// The peer's certificate does not fit.
    #[error("{address}: {cause}")]
    Certificate {
        /// `host:port`.
        address: String,
        /// What does not fit.
        cause: CertificateError,
    },
    /// The last attempts failed; the next one waits.
    #[error("broker {0} is not called again yet: the last attempts failed")]
    BackingOff(BrokerId),
}

/// Why a stream is of no use any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection under it is gone.
    #[error("the connection ended: {0}")]
    Connection(#[from] quinn::ConnectionError),
    /// The peer closed it with this code (`replica_core::CloseReason` on replica streams).
    #[error("the peer closed the stream with code {0}")]
    Closed(u64),
    /// It ended within a frame.
    #[error("the stream ended within a frame")]
    Cut,
    /// Its bytes are no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Its first frame is no greeting.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// A peer without a certificate opened a stream that only brokers may open.
    #[error("a peer without a certificate may only join, it opened a stream of kind {0:?}")]
    NotProven(StreamKind),
    /// It was closed on this side.
    #[error("the stream was closed here")]
    ClosedHere,
}

/// Why a node could not join.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The text is no token.
    #[error("this is no join token: it has the form hw1-…, as `highwater cluster token` prints it")]
    Token,
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The stream broke.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The cluster says no.
    #[error("the cluster refuses: {0}")]
    Refused(JoinRefusal),
    /// The answer cannot be read.
    #[error("the answer to the join request cannot be read")]
    Answer,
    /// A key or certificate request cannot be made.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

impl JoinError {
    /// Whether trying again may help: the broker that was asked, or the controller, was not there.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connect(e) => !e.is_about_certificates(),
            Self::Stream(_) => true,
            Self::Refused(refusal) => *refusal == JoinRefusal::NoController,
            Self::Token | Self::Answer | Self::Identity(_) => false,
        }
    }
}

impl ConnectError {
    /// Whether one side did not trust the other: calling again does not help.
    fn is_about_certificates(&self) -> bool {
        match self {
            Self::Certificate { .. } => true,
            Self::Handshake { cause: quinn::ConnectionError::TransportError(e), .. } => {
                // Codes 0x100 to 0x1ff are TLS alerts (RFC 9001, section 4.8).
                (0x100..0x200).contains(&u64::from(e.code))
            }
            _ => false,
        }
    }
}
