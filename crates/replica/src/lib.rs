//! Connections between brokers: one QUIC endpoint, mutual TLS, ordered streams.
//!
//! - [`ClusterCa`] and [`Identity`]: the cluster's certificate authority and a broker's certificate, bound to its id.
//! - [`JoinToken`], [`JoinRequest`], [`JoinAnswer`]: how a node that has neither gets both.
//! - [`PeerEndpoint`]: the UDP port 9093; whoever calls [`PeerEndpoint::connect`] or [`Arrival::complete`] drives that
//!   connection on its own thread, and an arriving connection names the shard that it is for before it is completed.
//! - [`PeerConnection`], [`FrameSender`], [`FrameReceiver`]: streams of frames; the first one says what a stream carries.
//!
//! What the frames mean is left to `replica-core`, `metadata-core` and `quorum`.

mod ca;
mod connection;
mod endpoint;
mod error;
mod ids;
mod join;
mod pool;
mod runtime;
mod socket;
mod timers;
mod tls;
mod token;
mod transport;

pub use ca::{ClusterCa, Identity};
pub use connection::{FrameReceiver, FrameSender, PeerConnection};
pub use endpoint::{Arrival, BindError, PeerEndpoint, Target};
pub use error::{CertificateError, ConnectError, IdentityError, JoinError, StreamError};
pub use join::{JOIN_STREAM_VERSION, JoinAnswer, JoinRefusal, JoinRequest, Joined, join};
pub use pool::Pool;
pub use runtime::QuicRuntime;
pub use token::JoinToken;
pub use transport::bind_socket;
