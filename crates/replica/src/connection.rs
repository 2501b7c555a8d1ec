//! A connection to one peer, and its streams of frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{Bytes, BytesMut};
use log_core::{BrokerId, Frame, FrameLimits, FrameSizes};
use quinn::{Connection, ReadError, RecvStream, SendStream, VarInt, WriteError};
use replica_core::{HELLO_LIMITS, StreamKind};
use rustls::pki_types::CertificateDer;
use tokio::io::AsyncReadExt;

use crate::error::{CertificateError, StreamError};
use crate::tls::broker_of;
use crate::transport::{STREAMS_FIRST, STREAMS_MAX};

/// Room for one read of a stream that carries little: acknowledgements, heartbeats.
const READ_BYTES_MIN: usize = 2 << 10;

/// Room for one read of a stream that carries much: a large push comes in few of them.
const READ_BYTES_MAX: usize = 256 << 10;

/// A connection whose peer has proven who it is; cheap to clone.
#[derive(Clone, Debug)]
pub struct PeerConnection {
    connection: Connection,
    broker: Option<BrokerId>,
    incoming: Arc<Incoming>,
}

impl PeerConnection {
    /// Reads the peer's broker id off its certificate; `called` is whom this side called.
    pub(crate) fn new(connection: Connection, called: Option<BrokerId>) -> Result<Self, CertificateError> {
        let found = match peer_certificate(&connection) {
            Some(certificate) => Some(broker_of(&certificate)?),
            None => None,
        };
        match (called, found) {
            (Some(wanted), Some(found)) if wanted != found => {
                Err(CertificateError::OtherBroker { wanted, found })
            }
            (Some(_), None) => Err(CertificateError::Missing),
            _ => Ok(Self { connection, broker: found, incoming: Arc::default() }),
        }
    }

    /// The peer; none for one without a certificate, which may only join.
    #[must_use]
    pub fn broker(&self) -> Option<BrokerId> {
        self.broker
    }

    /// Whether it can still be used.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    /// Whether they are one connection.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.connection.stable_id() == other.connection.stable_id()
    }

    /// Opens a stream and says what it carries.
    ///
    /// # Errors
    /// A connection that ended.
    pub async fn open(
        &self,
        kind: StreamKind,
        version: u8,
    ) -> Result<(FrameSender, FrameReceiver), StreamError> {
        let (send, recv) = self.connection.open_bi().await?;
        let mut sender = FrameSender { send };
        sender.send(&mut [Bytes::from(kind.hello(version))]).await?;
        Ok((sender, FrameReceiver::new(recv, true, None)))
    }

    /// The next stream that the peer opens; what it carries is read off it by [`FrameReceiver::hello`], which lets a
    /// peer without a certificate do nothing but join.
    ///
    /// # Errors
    /// A connection that ended.
    pub async fn accept(&self) -> Result<(FrameSender, FrameReceiver), StreamError> {
        let (send, recv) = self.connection.accept_bi().await?;
        let seat = Seat::taken(&self.incoming);
        if self.broker.is_some()
            && let Some(more) = self.incoming.more()
        {
            self.connection.set_max_concurrent_bi_streams(VarInt::from_u32(more));
        }
        Ok((FrameSender { send }, FrameReceiver::new(recv, self.broker.is_some(), Some(seat))))
    }

    /// Waits until the connection ends.
    pub async fn ended(&self) -> quinn::ConnectionError {
        self.connection.closed().await
    }

    /// Ends the connection with all its streams.
    pub fn close(&self, reason: &str) {
        self.connection.close(VarInt::from_u32(0), reason.as_bytes());
    }
}

/// The streams that the peer has open, and may. QUIC keeps 55 bytes for each that it may have, so that is raised as they become more.
#[derive(Debug)]
struct Incoming {
    open: AtomicU32,
    granted: AtomicU32,
}

impl Default for Incoming {
    fn default() -> Self {
        Self { open: AtomicU32::new(0), granted: AtomicU32::new(STREAMS_FIRST) }
    }
}

impl Incoming {
    /// How many the peer may have from now on, if that are more than until now: twice as many once half of them are open.
    fn more(&self) -> Option<u32> {
        let (open, granted) = (self.open.load(Ordering::Relaxed), self.granted.load(Ordering::Relaxed));
        let more = (open > granted / 2 && granted < STREAMS_MAX).then(|| (granted * 2).min(STREAMS_MAX))?;
        self.granted.store(more, Ordering::Relaxed);
        Some(more)
    }
}

/// Counts a stream as open.
#[derive(Debug)]
struct Seat(Arc<Incoming>);

impl Seat {
    fn taken(incoming: &Arc<Incoming>) -> Self {
        incoming.open.fetch_add(1, Ordering::Relaxed);
        Self(incoming.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn peer_certificate(connection: &Connection) -> Option<CertificateDer<'static>> {
    let identity = connection.peer_identity()?;
    let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.into_iter().next()
}

/// The outgoing side of a stream.
#[derive(Debug)]
pub struct FrameSender {
    send: SendStream,
}

impl FrameSender {
    /// Sends whole frames, as pieces that are not copied; waits while the peer takes no more.
    ///
    /// # Errors
    /// A stream that the peer closed or that broke. Part of the bytes may have gone out.
    pub async fn send(&mut self, pieces: &mut [Bytes]) -> Result<(), StreamError> {
        self.send.write_all_chunks(pieces).await.map_err(|e| match e {
            WriteError::Stopped(code) => StreamError::Closed(code.into_inner()),
            WriteError::ConnectionLost(e) => StreamError::Connection(e),
            WriteError::ClosedStream | WriteError::ZeroRttRejected => StreamError::ClosedHere,
        })
    }

    /// Ends the stream with a code; what was not sent yet is dropped.
    pub fn close(mut self, code: u8) {
        // A stream that ended already needs no code.
        let _ = self.send.reset(VarInt::from_u32(u32::from(code)));
    }

    /// Ends the stream after what was sent.
    pub fn finish(mut self) {
        // A stream that ended already needs no end.
        let _ = self.send.finish();
    }
}

/// The incoming side of a stream.
#[derive(Debug)]
pub struct FrameReceiver {
    recv: RecvStream,
    received: BytesMut,
    /// Room for the next read; follows what the stream carries, since a buffer of an idle stream is held for long.
    read_bytes: usize,
    proven: bool,
    /// If the peer opened it.
    _seat: Option<Seat>,
}

impl FrameReceiver {
    fn new(recv: RecvStream, proven: bool, seat: Option<Seat>) -> Self {
        Self { recv, received: BytesMut::new(), read_bytes: READ_BYTES_MIN, proven, _seat: seat }
    }

    /// The first frame of a stream that the peer opened.
    ///
    /// # Errors
    /// A stream that ends or begins with something else, and one that this peer may not open.
    pub async fn hello(&mut self) -> Result<(StreamKind, u8), StreamError> {
        let frame = self.next(HELLO_LIMITS).await?.ok_or(StreamError::Cut)?;
        let (kind, version) = StreamKind::read_hello(&frame)?;
        if self.proven || kind == StreamKind::Join {
            Ok((kind, version))
        } else {
            Err(StreamError::NotProven(kind))
        }
    }

    /// The next frame; none once the peer has ended the stream.
    ///
    /// # Errors
    /// A stream that breaks, and bytes that are no frame within the limits.
    pub async fn next(&mut self, limits: FrameLimits) -> Result<Option<Frame>, StreamError> {
        loop {
            if let Some(frame) = self.take(limits)? {
                return Ok(Some(frame));
            }
            if self.read(limits).await? == 0 {
                return if self.received.is_empty() { Ok(None) } else { Err(StreamError::Cut) };
            }
        }
    }

    /// Reads what is there, into room for the rest of a frame that has begun and as much as lately came at once.
    async fn read(&mut self, limits: FrameLimits) -> Result<usize, StreamError> {
        let begun = FrameSizes::peek(&self.received, limits)?;
        let missing = begun.map_or(0, |sizes| sizes.total().saturating_sub(self.received.len()));
        let free = self.received.capacity() - self.received.len();
        if free < missing || free < READ_BYTES_MIN / 4 {
            self.received.reserve(missing.max(self.read_bytes));
        }
        let room = self.received.capacity() - self.received.len();
        let n = self.recv.read_buf(&mut self.received).await.map_err(broken)?;
        if n >= room.min(self.read_bytes) {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if n < self.read_bytes / 8 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_MIN);
        }
        Ok(n)
    }

    /// A further whole frame of what is received already.
    ///
    /// # Errors
    /// Bytes that are no frame within the limits.
    pub fn take(&mut self, limits: FrameLimits) -> Result<Option<Frame>, StreamError> {
        Ok(Frame::take(&mut self.received, limits)?)
    }

    /// Tells the peer to send no more, with a code.
    pub fn close(mut self, code: u8) {
        // A stream that ended already needs no code.
        let _ = self.recv.stop(VarInt::from_u32(u32::from(code)));
    }
}

/// What the stream's own error was, before it passed through `std::io`.
fn broken(error: std::io::Error) -> StreamError {
    match error.downcast::<ReadError>() {
        Ok(ReadError::Reset(code)) => StreamError::Closed(code.into_inner()),
        Ok(ReadError::ConnectionLost(e)) => StreamError::Connection(e),
        Ok(_) | Err(_) => StreamError::ClosedHere,
    }
}
