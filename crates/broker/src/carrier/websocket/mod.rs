//! A WebSocket as a carrier: binary messages whose payloads, one after the other, are the byte stream of one connection.

mod frame;
mod violation;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use broker_core::{ConnectionId, Door};
use bytes::{Buf, Bytes, BytesMut};
use kafka_wire::{FrameReader, Segment};
use log_store::Disk;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use self::frame::{Decoder, Event};
use self::violation::Closing;
use super::idle::IdleWatch;
use super::outlet::CLOSE_GRACE;
use super::{CHUNK_BYTES, Ended, Outlet, Served, chunks};
use crate::host::{Entry, Host};

/// How often a silent client is asked whether it is there: below the minute after which middle boxes forget a connection.
const PING_EVERY: Duration = Duration::from_secs(20);

/// Pings that stay unanswered before the client counts as gone.
const PINGS_MAX: u32 = 3;

/// Room for one read, in bytes.
const READ_BYTES: usize = 64 << 10;

/// Pieces up to this size travel together in one message, in bytes: a copy is cheaper than another message.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// Pongs that wait to be written; a client that sends pings and reads nothing gets no more than these.
const PONGS_MAX: usize = 8;

/// How long the client may take for its part of the closing handshake (a guess: a slow link needs a second).
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What never comes.
enum Never {}

/// One connection's own state, shared by its reading and its writing half.
struct Link<'a, D: Disk> {
    host: &'a Rc<Host<D>>,
    id: ConnectionId,
    door: Door,
    outlet: &'a Outlet<D::File>,
    pongs: RefCell<VecDeque<BytesMut>>,
    /// Pings since the client was heard.
    pings: Cell<u32>,
    /// Why the reading half has to end the connection. The writing half says so once its message is whole.
    closing: RefCell<Option<Closing>>,
    closed: Notify,
}

/// What was received of one connection.
struct Buffers {
    /// Of the WebSocket.
    received: BytesMut,
    /// Of what it carries.
    frames: FrameReader,
}

impl Buffers {
    /// Gives the memory back where nothing is buffered.
    fn release(&mut self) {
        if self.received.is_empty() {
            self.received = BytesMut::new();
        }
        self.frames.release();
    }
}

/// Serves one connection until either side ends it. `early` are bytes that came with the upgrade's request.
pub(crate) async fn serve<D, S>(host: Rc<Host<D>>, door: Door, stream: S, early: &[u8]) -> Ended
where
    D: Disk + 'static,
    D::File: Served,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (id, outlet) = host.open(door, Entry::New);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let link = Link {
        host: &host,
        id,
        door,
        outlet: &outlet,
        pongs: RefCell::default(),
        pings: Cell::new(0),
        closing: RefCell::default(),
        closed: Notify::new(),
    };
    let outcome = tokio::select! {
        Err(e) = link.read(&mut reader, early) => Err(e.into()),
        closing = link.write(&mut writer) => closing.map_err(Ended::from),
        // Whatever is half written stays so: a client that takes nothing is not told why.
        reason = outlet.overdue() => Err(reason.into()),
        closing = link.overdue() => Err(closing.ended()),
    };
    host.closed(id);
    let ended = match outcome {
        Ok(closing) => {
            close(reader, writer, &closing).await;
            closing.ended()
        }
        Err(ended) => ended,
    };
    tracing::debug!("connection {} from {:?} ended: {ended}", id.0, door.peer);
    ended
}

impl<D> Link<'_, D>
where
    D: Disk + 'static,
    D::File: Served,
{
    /// Reads until the connection fails, or for ever once it is to be closed.
    async fn read(&self, reader: &mut (impl AsyncRead + Unpin), early: &[u8]) -> io::Result<Never> {
        let frames = FrameReader::new(self.host.limits(self.door.kind).request_bytes_max);
        let mut buffers = Buffers { received: BytesMut::from(early), frames };
        let mut decoder = Decoder::default();
        let mut idle = IdleWatch::default();
        loop {
            if let Some(closing) = self.take(&mut decoder, &mut buffers) {
                self.close(closing);
            }
            self.outlet.may_read().await;
            if self.outlet.closing().is_some() || self.is_closing() {
                return std::future::pending().await;
            }
            let read = idle.read(&mut buffers, Buffers::release, |Buffers { received, .. }, cx| {
                received.reserve(READ_BYTES);
                pin!(reader.read_buf(received)).poll(cx)
            });
            if read.await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.pings.set(0);
        }
    }

    fn close(&self, closing: Closing) {
        self.closing.replace(Some(closing));
        self.closed.notify_one();
        self.outlet.ready.notify_one();
    }

    fn is_closing(&self) -> bool {
        self.closing.borrow().is_some()
    }

    /// Waits until the reading half wants an end and the writing half had its time for it.
    async fn overdue(&self) -> Closing {
        self.closed.notified().await;
        tokio::time::sleep(CLOSE_GRACE).await;
        self.closing.take().unwrap_or(Closing::ByClient(1000))
    }

    /// Hands on what has come.
    fn take(&self, decoder: &mut Decoder, buffers: &mut Buffers) -> Option<Closing> {
        let Buffers { received, frames } = buffers;
        let mut came = false;
        loop {
            match decoder.take(received) {
                Ok(Some(Event::Bytes(bytes))) => {
                    frames.extend(&bytes);
                    came = true;
                }
                Ok(Some(Event::Ping(payload))) => self.answer_ping(&payload),
                Ok(Some(Event::Pong)) => {}
                Ok(Some(Event::Close(code))) => return Some(Closing::ByClient(code.unwrap_or(1000))),
                Ok(None) => break,
                Err(violation) => return Some(violation.into()),
            }
        }
        let taken = came.then(|| self.host.received(self.id, frames));
        taken.and_then(Result::err).map(Closing::from)
    }

    fn answer_ping(&self, payload: &[u8]) {
        let mut pongs = self.pongs.borrow_mut();
        if pongs.len() < PONGS_MAX {
            pongs.push_back(frame::pong(payload));
            self.outlet.ready.notify_one();
        }
    }

    async fn write(&self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<Closing> {
        let mut next_ping = Instant::now() + PING_EVERY;
        loop {
            tokio::select! {
                () = self.outlet.ready.notified() => {}
                () = tokio::time::sleep_until(next_ping) => {
                    // Its pongs are not read either while nothing is read.
                    if self.pings.get() >= PINGS_MAX && !self.outlet.is_paused() {
                        return Ok(Closing::Silent);
                    }
                    self.pings.set(self.pings.get() + 1);
                    next_ping = Instant::now() + PING_EVERY;
                    writer.write_all(&frame::ping()).await?;
                }
            }
            self.write_waiting(writer).await?;
            writer.flush().await?;
            if let Some(closing) = self.closing.take() {
                return Ok(closing);
            }
            if let Some(reason) = self.outlet.closing() {
                return Ok(reason.into());
            }
        }
    }

    /// Writes everything that waits. A large piece is a message of its own; small ones share one.
    async fn write_waiting(&self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        loop {
            while let Some(pong) = self.next_pong() {
                writer.write_all(&pong).await?;
            }
            let pieces = self.outlet.take();
            if pieces.is_empty() || self.is_closing() {
                return Ok(());
            }
            let mut small = BytesMut::new();
            for piece in pieces {
                match piece {
                    Segment::Bytes(bytes) => self.write_piece(writer, &mut small, bytes).await?,
                    Segment::File(range) => {
                        for chunk in chunks(range, CHUNK_BYTES) {
                            self.write_piece(writer, &mut small, chunk?).await?;
                        }
                    }
                }
            }
            self.write_message(writer, small.split().freeze()).await?;
        }
    }

    fn next_pong(&self) -> Option<BytesMut> {
        self.pongs.borrow_mut().pop_front()
    }

    async fn write_piece(
        &self,
        writer: &mut (impl AsyncWrite + Unpin),
        small: &mut BytesMut,
        piece: Bytes,
    ) -> io::Result<()> {
        if small.len() + piece.len() <= COPIED_BYTES_MAX {
            small.extend_from_slice(&piece);
            return Ok(());
        }
        self.write_message(writer, small.split().freeze()).await?;
        self.write_message(writer, piece).await
    }

    async fn write_message(&self, writer: &mut (impl AsyncWrite + Unpin), message: Bytes) -> io::Result<()> {
        let length = message.len();
        if length > 0 {
            writer.write_all_buf(&mut frame::binary_header(length).chain(message)).await?;
            self.host.written(self.id, length);
        }
        Ok(())
    }
}

/// Says why, and waits for the client's part of the closing handshake, so that it gets to read the reason.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    mut reader: ReadHalf<S>,
    mut writer: WriteHalf<S>,
    closing: &Closing,
) {
    let handshake = async {
        writer.write_all(&frame::close(closing.code(), &closing.to_string())).await?;
        writer.shutdown().await?;
        // What the client still sends is thrown away; its own close ends the stream.
        let mut rest = [0; 4096];
        while !matches!(closing, Closing::ByClient(_)) && reader.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    if let Ok(Err(e)) = timeout(CLOSE_TIMEOUT, handshake).await {
        tracing::debug!("a WebSocket could not be closed in good order: {e}");
    }
}
