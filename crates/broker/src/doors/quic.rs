//! The QUIC door: one bidirectional stream is one Kafka connection.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use broker_core::{Door, DoorKind};
use log_store::Disk;
use quinn::congestion::CubicConfig;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, MtuDiscoveryConfig, ServerConfig, TokioRuntime,
    TransportConfig, VarInt,
};
use tokio::task::spawn_local;

use super::ClientTls;
use crate::carrier::{self, Served};
use crate::error::BootError;
use crate::host::Host;
use crate::links::{ShardSender, ToShard, Turns};

/// Kafka connections that one client may have on one QUIC connection.
const STREAMS_MAX: u32 = 64;

/// Largest datagram that path discovery tries (`performance.md` 2.4).
const MTU_MAX: u16 = 6_500;

const STREAM_WINDOW_BYTES: u32 = 8 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// The endpoint of the UDP port.
pub(crate) struct QuicDoor {
    endpoint: Endpoint,
}

impl QuicDoor {
    /// Takes over a bound socket; the present runtime's thread moves the datagrams.
    pub(crate) fn open(
        socket: std::net::UdpSocket,
        tls: &ClientTls,
        idle: Duration,
    ) -> Result<Self, BootError> {
        let mut server = ServerConfig::with_crypto(tls.quic.clone());
        server.transport_config(transport(idle));
        let mut config = EndpointConfig::default();
        config
            .max_udp_payload_size(MTU_MAX)
            .map_err(|_| BootError::Socket(std::io::ErrorKind::InvalidInput.into()))?;
        let endpoint =
            Endpoint::new(config, Some(server), socket, Arc::new(TokioRuntime)).map_err(BootError::Socket)?;
        Ok(Self { endpoint })
    }

    /// The address that it is bound to.
    pub(crate) fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Hands clients to the shards, for ever: each connection is driven by the shard that accepts it.
    pub(crate) async fn accept_clients<F>(self, shards: Vec<ShardSender<F>>) {
        let mut turns = Turns::default();
        while let Some(incoming) = self.endpoint.accept().await {
            if turns.next(&shards).send(ToShard::Quic(incoming)).is_err() {
                return;
            }
        }
    }
}

fn transport(idle: Duration) -> Arc<TransportConfig> {
    let mut congestion = CubicConfig::default();
    congestion.initial_window(20 * u64::from(MTU_MAX));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(MTU_MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(IdleTimeout::try_from(idle).ok())
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .mtu_discovery_config(Some(discovery))
        .congestion_controller_factory(Arc::new(congestion))
        .datagram_receive_buffer_size(None);
    Arc::new(transport)
}

/// Serves the streams of one client.
pub(crate) async fn serve<D>(host: Rc<Host<D>>, incoming: Incoming)
where
    D: Disk + 'static,
    D::File: Served,
{
    let peer = incoming.remote_address();
    let local = incoming.local_ip();
    let connection = match incoming.accept() {
        Ok(connecting) => connecting.await,
        Err(e) => Err(e),
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(e) => return tracing::debug!("QUIC with {peer} failed: {e}"),
    };
    // Only the address family of our end matters, and the peer's tells it where the system does not say.
    let local = SocketAddr::new(local.unwrap_or_else(|| peer.ip()), 0);
    let door = Door { kind: DoorKind::Quic, local: Some(local), peer: Some(peer) };
    while let Ok((writer, reader)) = connection.accept_bi().await {
        spawn_local(carrier::stream::serve(host.clone(), door, reader, writer));
    }
}
