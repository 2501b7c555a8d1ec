//! The UDP port: native QUIC and WebTransport, told apart by the protocol that the handshake agreed on. One bidirectional
//! stream is one Kafka connection.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use broker_core::{Door, DoorKind};
use log_store::Disk;
use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::HandshakeData;
use quinn::{
    Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, MtuDiscoveryConfig, ServerConfig,
    TransportConfig, VarInt,
};
use replica::QuicRuntime;
use tokio::task::spawn_local;

use super::streams::OpenStreams;
use super::{ClientTls, Shared, webtransport};
use crate::carrier::{self, Served};
use crate::error::BootError;
use crate::host::Host;
use crate::links::{ShardSender, ToShard, Turns};

/// Kafka connections that one native client may have on one QUIC connection.
const STREAMS_MAX: u32 = 64;

/// The same of a page, and the stream that its session was asked for on. The handshake grants no more to anyone.
const BROWSER_STREAMS_MAX: u32 = 16 + 1;

/// HTTP/3 needs three unidirectional streams of the client; one more is refused with a reason instead of waiting for ever.
const UNIDIRECTIONAL_MAX: u32 = 4;

/// Datagrams are refused; this much of them is kept until then, in bytes.
const DATAGRAM_BYTES: usize = 4 << 10;

/// How often a silent client is asked whether it is there: below the half minute after which browsers give up.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A client from which nothing comes for this long, though it was asked, is gone. In milliseconds.
const GONE_AFTER_MS: u32 = 30_000;

/// The code with which a native client's connection is closed if it does what is not served.
const NOT_SERVED: u32 = 1;

/// Largest datagram that path discovery tries.
const MTU_MAX: u16 = 6_500;

/// Bytes that a native client may send on one stream before they are read (a guess: some large batches).
const STREAM_WINDOW_BYTES: u32 = 8 << 20;
/// The same over all of its streams (a guess: two of those).
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// What the handshake grants to anyone, over all streams: a page stays with it.
const BROWSER_WINDOW_BYTES: u32 = 1 << 20;

/// The endpoint of the UDP port.
pub(crate) struct QuicDoor {
    endpoint: Endpoint,
}

impl QuicDoor {
    /// Takes over a bound socket; the present runtime's thread moves the datagrams.
    pub(crate) fn open(socket: std::net::UdpSocket, tls: &ClientTls) -> Result<Self, BootError> {
        let mut server = ServerConfig::with_crypto(tls.quic.clone());
        server.transport_config(transport());
        let mut config = EndpointConfig::default();
        config
            .max_udp_payload_size(MTU_MAX)
            .map_err(|_| BootError::Socket(std::io::ErrorKind::InvalidInput.into()))?;
        let runtime = Arc::new(QuicRuntime::of_this_thread());
        let endpoint = Endpoint::new(config, Some(server), socket, runtime).map_err(BootError::Socket)?;
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

fn transport() -> Arc<TransportConfig> {
    let mut congestion = CubicConfig::default();
    congestion.initial_window(20 * u64::from(MTU_MAX));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(MTU_MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(BROWSER_STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(UNIDIRECTIONAL_MAX))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(GONE_AFTER_MS))))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(BROWSER_WINDOW_BYTES))
        .mtu_discovery_config(Some(discovery))
        .congestion_controller_factory(Arc::new(congestion))
        .datagram_receive_buffer_size(Some(DATAGRAM_BYTES));
    Arc::new(transport)
}

/// Serves one client.
pub(crate) async fn serve<D>(host: Rc<Host<D>>, shared: Rc<Shared>, incoming: Incoming)
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
    let _seat = match shared.seats.take() {
        Ok(seat) => seat,
        Err(full) => {
            tracing::warn!("{peer} is not let in: {full}");
            return connection.close(VarInt::from_u32(NOT_SERVED), full.to_string().as_bytes());
        }
    };
    if protocol(&connection).is_some_and(|protocol| protocol == webtransport::ALPN_HTTP3) {
        let door = Door { kind: DoorKind::WebTransport, local: Some(local), peer: Some(peer) };
        return webtransport::serve(host, &shared.rules, connection, door).await;
    }
    let door = Door { kind: DoorKind::Quic, local: Some(local), peer: Some(peer) };
    native(host, connection, door, shared.rules.idle).await;
}

/// What the handshake agreed to speak.
fn protocol(connection: &Connection) -> Option<Vec<u8>> {
    connection.handshake_data()?.downcast::<HandshakeData>().ok()?.protocol
}

/// Serves the streams of one native client.
async fn native<D>(host: Rc<Host<D>>, connection: Connection, door: Door, idle: Duration)
where
    D: Disk + 'static,
    D::File: Served,
{
    connection.set_max_concurrent_bi_streams(VarInt::from_u32(STREAMS_MAX));
    connection.set_receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES));
    let streams = Rc::new(OpenStreams::default());
    let idle = streams.idle_for(idle);
    tokio::pin!(idle);
    loop {
        tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok((writer, reader)) => {
                    let (open, host) = (streams.open(), host.clone());
                    spawn_local(async move {
                        drop(carrier::stream::serve(host, door, reader, writer).await);
                        drop(open);
                    });
                }
                Err(_) => return,
            },
            () = &mut idle => return connection.close(VarInt::from_u32(0), b"no stream was open for too long"),
            Ok(_) = connection.accept_uni() => {
                let reason = b"unidirectional streams are not taken: open bidirectional ones";
                return connection.close(VarInt::from_u32(NOT_SERVED), reason);
            }
        }
    }
}
