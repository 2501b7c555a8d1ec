//! How bytes get to a broker: TCP, TLS, QUIC, or whatever a connector of the caller makes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use client_core::{Address, NetworkCause, Transport};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::quic::QuicDialler;
use crate::tls::TlsDialler;

/// A two-way stream of bytes that carries one Kafka connection.
pub trait Carrier: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Carrier for T {}

/// A connection being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Carrier>>> + Send>>;

/// Makes connections. Give one to [`ClientBuilder::connector`](crate::ClientBuilder::connector) to reach brokers in
/// another way than by the network, for instance in the same process. Closures implement it.
pub trait Connector: Send + Sync {
    /// Connects to `address`.
    fn connect(&self, address: Address) -> Connecting;
}

impl<F, R, S> Connector for F
where
    F: Fn(Address) -> R + Send + Sync,
    R: Future<Output = io::Result<S>> + Send + 'static,
    S: Carrier + 'static,
{
    fn connect(&self, address: Address) -> Connecting {
        let connecting = self(address);
        Box::pin(async move { connecting.await.map(|stream| Box::new(stream) as Box<dyn Carrier>) })
    }
}

/// The connector for real networks.
pub(crate) struct Network {
    tls: Option<TlsDialler>,
    quic: Option<QuicDialler>,
}

impl Network {
    pub(crate) const fn new(tls: Option<TlsDialler>, quic: Option<QuicDialler>) -> Self {
        Self { tls, quic }
    }
}

impl Connector for Network {
    fn connect(&self, address: Address) -> Connecting {
        match address.transport {
            Transport::Tls => match self.tls.clone() {
                Some(tls) => Box::pin(async move { tls.connect(address).await }),
                None => unavailable("tls"),
            },
            Transport::Quic => match self.quic.clone() {
                Some(quic) => Box::pin(async move { quic.connect(address).await }),
                None => unavailable("quic"),
            },
            _ => Box::pin(async move { Ok(Box::new(tcp(&address).await?) as Box<dyn Carrier>) }),
        }
    }
}

fn unavailable(scheme: &'static str) -> Connecting {
    let error = io::Error::new(io::ErrorKind::Unsupported, scheme);
    Box::pin(async move { Err(error) })
}

/// A TCP connection without Nagle's delay: frames are written whole.
pub(crate) async fn tcp(address: &Address) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((&*address.host, address.port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What a failure of the system means.
pub(crate) fn cause_of(error: &io::Error) -> NetworkCause {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => NetworkCause::Refused,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => NetworkCause::Unreachable,
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected => NetworkCause::Closed,
        _ => by_source(error),
    }
}

fn by_source(error: &io::Error) -> NetworkCause {
    let source = error.get_ref();
    if source.is_some_and(|source| source.is::<rustls::Error>()) || error.kind() == io::ErrorKind::InvalidData
    {
        return NetworkCause::Tls(text_of(error));
    }
    // The resolver's failures have no kind of their own.
    if error.raw_os_error().is_none() && error.to_string().contains("lookup") {
        return NetworkCause::NameNotFound;
    }
    NetworkCause::System(text_of(error))
}

fn text_of(error: &io::Error) -> Arc<str> {
    error.to_string().into()
}
