//! QUIC: ALPN `highwater/1`, one bidirectional stream is one Kafka connection. Streams to one address share a QUIC
//! connection, so that opening another one costs no handshake.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use client_core::Address;
use client_core::error::{CallerProblem, ClientError, Place};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use rustls::RootCertStore;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::{client_config, name_of};
use crate::transport::Carrier;

/// What Highwater calls its Kafka frames over QUIC.
const ALPN: &[u8] = b"highwater/1";

/// How much a broker may send on one stream before it is read, in bytes: two of the largest default answers to a fetch.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;

/// A connection on which nothing comes for this long is given up. Unlike TCP nobody tells when a broker's process is gone,
/// and until it is given up what was sent to it waits instead of going to the new leader.
const SILENCE_MAX: Duration = Duration::from_secs(4);

/// A connection that waits says something this often, so that only a broker that is gone is silent for that long.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Dials `quic://` addresses.
#[derive(Clone)]
pub(crate) struct QuicDialler {
    shared: Arc<Shared>,
}

struct Shared {
    config: ClientConfig,
    server_name: Option<Arc<str>>,
    open: Mutex<Open>,
}

/// One endpoint per address family, one connection per address.
#[derive(Default)]
struct Open {
    endpoint_v4: Option<Endpoint>,
    endpoint_v6: Option<Endpoint>,
    connections: BTreeMap<Address, Connection>,
}

impl QuicDialler {
    pub(crate) fn new(roots: &RootCertStore, server_name: Option<Arc<str>>) -> Result<Self, ClientError> {
        let mut tls = client_config(roots)?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let unusable = |_| {
            let problem = CallerProblem::Option { option: "ca_file", must: "must allow TLS 1.3" };
            ClientError::caller(problem, Place::NOWHERE)
        };
        let crypto = QuicClientConfig::try_from(tls).map_err(unusable)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport_config()));
        Ok(Self { shared: Arc::new(Shared { config, server_name, open: Mutex::default() }) })
    }

    pub(crate) async fn connect(self, address: Address) -> io::Result<Box<dyn Carrier>> {
        // A connection that is still there may be dying: then the next try makes a new one.
        let connection = match self.shared.existing(&address) {
            Some(connection) => connection,
            None => self.shared.dial(&address).await?,
        };
        let (send, receive) = connection.open_bi().await.map_err(io::Error::from)?;
        Ok(Box::new(QuicStream { send, receive }))
    }
}

impl Shared {
    fn existing(&self, address: &Address) -> Option<Connection> {
        let mut open = self.lock();
        open.connections.retain(|_, connection| connection.close_reason().is_none());
        open.connections.get(address).cloned()
    }

    async fn dial(&self, address: &Address) -> io::Result<Connection> {
        let wanted = self.server_name.as_deref().unwrap_or(&address.host);
        let wanted = name_of(wanted)?.to_str().into_owned();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "failed to lookup address");
        for remote in tokio::net::lookup_host((&*address.host, address.port)).await? {
            match self.dial_one(remote, &wanted).await {
                Ok(connection) => {
                    self.lock().connections.insert(address.clone(), connection.clone());
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn dial_one(&self, remote: SocketAddr, name: &str) -> io::Result<Connection> {
        let endpoint = self.endpoint(remote)?;
        let connecting = endpoint.connect_with(self.config.clone(), remote, name);
        let connection = connecting.map_err(io::Error::other)?.await;
        connection.map_err(|error| match error {
            quinn::ConnectionError::TransportError(reason) => {
                io::Error::new(io::ErrorKind::InvalidData, reason.to_string())
            }
            other => other.into(),
        })
    }

    fn endpoint(&self, remote: SocketAddr) -> io::Result<Endpoint> {
        let mut open = self.lock();
        let (slot, any) = if remote.is_ipv4() {
            (&mut open.endpoint_v4, "0.0.0.0:0")
        } else {
            (&mut open.endpoint_v6, "[::]:0")
        };
        if let Some(endpoint) = slot {
            return Ok(endpoint.clone());
        }
        let endpoint = Endpoint::client(any.parse().expect("the wildcard address is an address"))?;
        Ok(slot.insert(endpoint).clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn transport_config() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES));
    transport.receive_window(VarInt::from_u32(4 * STREAM_WINDOW_BYTES));
    transport.send_window(u64::from(STREAM_WINDOW_BYTES));
    transport.keep_alive_interval(Some(KEEP_ALIVE));
    transport.max_idle_timeout(Some(SILENCE_MAX.try_into().expect("a few seconds fit into the field")));
    transport
}

/// Both halves of a bidirectional stream.
struct QuicStream {
    send: SendStream,
    receive: RecvStream,
}

impl AsyncRead for QuicStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.receive), context, into)
    }
}

impl AsyncWrite for QuicStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.send), context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.send), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.send), context)
    }
}
