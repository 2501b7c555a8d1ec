//! The UDP port of the replica door: calls peers and lets them in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use log_core::BrokerId;
use quinn::{ClientConfig, ConnectionId, Endpoint, Incoming, ServerConfig};

use crate::ca::{Identity, broker_name};
use crate::connection::PeerConnection;
use crate::error::{ConnectError, IdentityError};
use crate::ids::{ResetKey, random};
use crate::runtime::QuicRuntime;
use crate::{tls, transport};

/// Whom at a broker a connection is for. It stands in the connection's first id, so that the right thread accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Control: heartbeats, proposals, the quorum, joining.
    Control,
    /// One shard: replication of its partitions.
    Shard(u16),
}

/// The endpoint of one broker; cheap to clone, usable from any thread with a tokio runtime.
#[derive(Clone)]
pub struct PeerEndpoint {
    endpoint: Endpoint,
    crypto: Arc<quinn::crypto::rustls::QuicClientConfig>,
    /// How connections to Control are let in; those to shards as the endpoint has it.
    control: Arc<ServerConfig>,
}

/// A peer that wants in. Complete it on the thread that is to drive it.
pub struct Arrival {
    incoming: Incoming,
    control: Arc<ServerConfig>,
    /// Whom it is for.
    pub target: Target,
}

/// How long a call may take. A host whose broker is gone answers nothing, and the callers' own patience is about as long.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

const CONTROL_MARK: u16 = u16::MAX;
/// The bytes of a connection id, the longest that QUIC allows (RFC 9000, section 17.2).
const ID_BYTES: usize = 20;

impl Target {
    /// Two bytes of target, the rest random: nobody else can guess it (RFC 9000, section 7.2).
    pub(crate) fn connection_id(self) -> ConnectionId {
        let mut bytes = random::<ID_BYTES>();
        let mark = match self {
            Self::Control => CONTROL_MARK,
            Self::Shard(shard) => shard,
        };
        if let Some(front) = bytes.first_chunk_mut() {
            *front = mark.to_be_bytes();
        }
        ConnectionId::new(&bytes)
    }

    fn of(id: &ConnectionId) -> Self {
        match id.first_chunk().map(|mark| u16::from_be_bytes(*mark)) {
            None | Some(CONTROL_MARK) => Self::Control,
            Some(shard) => Self::Shard(shard),
        }
    }
}

impl PeerEndpoint {
    /// Binds the port. The present runtime's thread moves the datagrams.
    ///
    /// # Errors
    /// An address that is taken, and an identity that the TLS library refuses.
    pub fn bind(address: SocketAddr, identity: &Identity) -> Result<Self, BindError> {
        let socket = transport::bind_socket(address).map_err(|cause| BindError::Bind { address, cause })?;
        Self::open(socket, identity)
    }

    /// Takes over a socket of [`crate::bind_socket`]. Who binds it early loses no packet of a peer that calls early.
    ///
    /// # Errors
    /// An identity that the TLS library refuses.
    pub fn open(socket: std::net::UdpSocket, identity: &Identity) -> Result<Self, BindError> {
        let mut server = ServerConfig::with_crypto(Arc::new(tls::server(identity)?));
        let mut control = server.clone();
        control.transport_config(transport::called(Target::Control));
        server.transport_config(transport::called(Target::Shard(0)));
        let config = transport::endpoint(ResetKey::of(identity));
        let runtime = Arc::new(QuicRuntime::of_this_thread());
        let endpoint = Endpoint::new(config, Some(server), socket, runtime).map_err(BindError::Socket)?;
        let (crypto, control) = (Arc::new(tls::client(identity)?), Arc::new(control));
        Ok(Self { endpoint, crypto, control })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// How many connections there are, called and accepted ones, those that are ending included.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.endpoint.open_connections()
    }

    /// The next peer that wants in; none once the endpoint is closed.
    pub async fn accept(&self) -> Option<Arrival> {
        let incoming = self.endpoint.accept().await?;
        let target = Target::of(&incoming.orig_dst_cid());
        Some(Arrival { incoming, control: self.control.clone(), target })
    }

    /// Calls a broker at the first of its addresses that answers; the present runtime's thread drives the connection.
    ///
    /// # Errors
    /// The failure of the last address, a certificate of another broker among them.
    pub async fn connect(
        &self,
        broker: BrokerId,
        addresses: &[(String, u16)],
        target: Target,
    ) -> Result<PeerConnection, ConnectError> {
        let mut failed = ConnectError::NoAddress(broker);
        for (host, port) in addresses {
            match self.connect_to(broker, host, *port, target).await {
                Ok(connection) => return Ok(connection),
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    async fn connect_to(
        &self,
        broker: BrokerId,
        host: &str,
        port: u16,
        target: Target,
    ) -> Result<PeerConnection, ConnectError> {
        let mut config = ClientConfig::new(self.crypto.clone());
        config.transport_config(transport::calling(target));
        config.initial_dst_cid_provider(Arc::new(move || target.connection_id()));
        let name = broker_name(broker);
        let address = || format!("{host}:{port}");
        let call = dial(&self.endpoint, config, host, port, &name);
        let called = tokio::time::timeout(CALL_TIMEOUT, call).await;
        let connection = called.unwrap_or_else(|_| Err(ConnectError::Silent { address: address() }))?;
        PeerConnection::new(connection, Some(broker))
            .map_err(|cause| ConnectError::Certificate { address: address(), cause })
    }

    /// Closes every connection and waits until the peers were told.
    pub async fn close(&self) {
        self.endpoint.close(0u32.into(), b"the broker stops");
        self.endpoint.wait_idle().await;
    }
}

impl Arrival {
    /// Finishes the handshake; the present runtime's thread drives the connection from here on.
    ///
    /// # Errors
    /// A handshake that fails, and a certificate that names no broker.
    pub async fn complete(self) -> Result<PeerConnection, ConnectError> {
        let address = self.incoming.remote_address().to_string();
        let handshake = |cause| ConnectError::Handshake { address: address.clone(), cause };
        let connecting = match self.target {
            Target::Control => self.incoming.accept_with(self.control),
            Target::Shard(_) => self.incoming.accept(),
        };
        let connection = connecting.map_err(handshake)?.await.map_err(handshake)?;
        PeerConnection::new(connection, None).map_err(|cause| ConnectError::Certificate { address, cause })
    }
}

/// Calls one address.
pub(crate) async fn dial(
    endpoint: &Endpoint,
    config: ClientConfig,
    host: &str,
    port: u16,
    name: &str,
) -> Result<quinn::Connection, ConnectError> {
    let address = || format!("{host}:{port}");
    let resolve = |cause| ConnectError::Resolve { address: address(), cause };
    let ours = endpoint.local_addr().map_err(resolve)?;
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.map_err(resolve)?.collect();
    let fits = |candidate: &&SocketAddr| ours.is_ipv6() || candidate.is_ipv4();
    let to = found.iter().find(fits).ok_or_else(|| resolve(io::ErrorKind::AddrNotAvailable.into()))?;
    endpoint
        .connect_with(config, *to, name)
        .map_err(|cause| ConnectError::Call { address: address(), cause })?
        .await
        .map_err(|cause| ConnectError::Handshake { address: address(), cause })
}

/// Why the port could not be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is taken, or is not ours.
    #[error("the replica door cannot listen on {address}/udp: {cause}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// The socket cannot be used.
    #[error("the replica door's socket cannot be used: {0}")]
    Socket(#[source] io::Error),
    /// The identity is not usable.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_names_whom_it_is_for() {
        for target in [Target::Control, Target::Shard(0), Target::Shard(7), Target::Shard(256)] {
            assert_eq!(Target::of(&target.connection_id()), target);
        }
        assert_ne!(Target::Control.connection_id(), Target::Control.connection_id());
    }
}
