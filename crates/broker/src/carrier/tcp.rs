//! Plain TCP: reads whole bursts into the connection's receive buffer, writes with one `sendmsg`, and files by `sendfile`.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::time::Instant;

use kafka_wire::{FileRange, FrameReader, Segment};
use log_store::Disk;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::busy_poll::BusyPoll;
use super::idle::IdleWatch;
use super::outlet::Outlet;
use super::{Ended, Served};
use crate::host::{Entry, Host};
use broker_core::{ConnectionId, Door, DoorKind, ShardId};

/// Pieces that one `sendmsg` takes. Far below the system's limit of 1,024; more gains nothing.
const SLICES_MAX: usize = 64;

/// Bytes that one `sendfile` asks for, so that one large fetch does not hold the thread (a guess).
const SENDFILE_BYTES_MAX: usize = 1 << 20;

/// Serves one connection until either side ends it, or the shard hands it on to another: which one. `frames` then holds what was
/// received after the last whole frame.
pub(crate) async fn serve<D>(
    host: &Rc<Host<D>>,
    stream: &TcpStream,
    frames: &mut FrameReader,
    entry: Entry,
) -> Option<ShardId>
where
    D: Disk + 'static,
    D::File: Served,
{
    let door = Door { kind: DoorKind::Tcp, local: stream.local_addr().ok(), peer: stream.peer_addr().ok() };
    let (id, outlet) = host.open(door, entry);
    let connection = Connection { host, stream, id, outlet: &outlet, polling: BusyPoll::default() };
    let ended = tokio::select! {
        ended = connection.read(frames) => ended,
        ended = connection.write() => ended,
        reason = outlet.overdue() => reason.into(),
        to = outlet.handed_on() => {
            tracing::debug!("connection {} from {:?} goes on at shard {to}", id.0, door.peer);
            return Some(to);
        }
    };
    tracing::debug!("connection {} from {:?} ended: {ended}", id.0, door.peer);
    host.closed(id);
    None
}

/// A connection that is served here.
struct Connection<'a, D: Disk> {
    host: &'a Rc<Host<D>>,
    stream: &'a TcpStream,
    id: ConnectionId,
    outlet: &'a Outlet<D::File>,
    polling: BusyPoll,
}

impl<D> Connection<'_, D>
where
    D: Disk + 'static,
    D::File: Served,
{
    async fn read(&self, frames: &mut FrameReader) -> Ended {
        let mut idle = IdleWatch::default();
        loop {
            self.outlet.may_read().await;
            if self.outlet.closing().is_some() {
                return std::future::pending().await;
            }
            let readable =
                idle.read(frames, FrameReader::release, |_, cx| self.stream.poll_read_ready(cx)).await;
            // What comes from now on, be it an end, is another shard's.
            if self.outlet.is_handed_on() {
                return std::future::pending().await;
            }
            if let Err(e) = readable {
                return e.into();
            }
            match self.stream.try_read_buf(&mut frames.spare()) {
                Ok(0) => return Ended::ByClient,
                Ok(bytes) => match self.host.received(self.id, frames) {
                    Ok(requests) => self.polling.requested(Instant::now(), requests, bytes),
                    Err(e) => return e.into(),
                },
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return e.into(),
            }
        }
    }

    async fn write(&self) -> Ended {
        let Self { host, stream, outlet, .. } = *self;
        loop {
            outlet.ready.notified().await;
            let (mut pieces, mut written) = (outlet.take(), 0);
            while !pieces.is_empty() {
                match stream.try_io(Interest::WRITABLE, || write_some(stream, &mut pieces)) {
                    Ok(n) => {
                        written += n;
                        host.written(self.id, n);
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                        if let Err(e) = stream.writable().await {
                            return e.into();
                        }
                    }
                    Err(e) => return e.into(),
                }
                pieces.extend(outlet.take());
            }
            if let Some(reason) = outlet.closing() {
                return reason.into();
            }
            if written > 0 {
                self.polling.answered(Instant::now(), written);
                self.polling.wait(|| outlet.has_more()).await;
            }
        }
    }
}

/// One system call's worth of the pieces; gives the bytes written and takes them off the front.
fn write_some<F: Served>(stream: &TcpStream, pieces: &mut VecDeque<Segment<F>>) -> io::Result<usize> {
    let n = match pieces.front() {
        Some(Segment::File(range)) => send_file(stream, range)?,
        _ => send_bytes(stream, pieces)?,
    };
    advance(pieces, n);
    Ok(n)
}

fn send_bytes<F>(stream: &TcpStream, pieces: &VecDeque<Segment<F>>) -> io::Result<usize> {
    let bytes = || {
        pieces.iter().map_while(|piece| match piece {
            Segment::Bytes(bytes) => Some(bytes),
            Segment::File(_) => None,
        })
    };
    let slices: Vec<IoSlice<'_>> = bytes().take(SLICES_MAX).map(|bytes| IoSlice::new(bytes)).collect();
    let more = if slices.len() < pieces.len() { SendFlags::MORE } else { SendFlags::empty() };
    Ok(sendmsg(stream, &slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL | more)?)
}

/// A short send means that the file is shorter than the log believes: the client must not take the rest for records.
fn send_file<F: Served>(stream: &TcpStream, range: &FileRange<F>) -> io::Result<usize> {
    let Some(descriptor) = range.file.descriptor() else {
        let mut bytes = vec![0; (range.len as usize).min(SENDFILE_BYTES_MAX)];
        range.file.read_exact_at(range.position, &mut bytes)?;
        return Ok(rustix::net::send(stream, &bytes, SendFlags::NOSIGNAL)?);
    };
    let mut position = range.position;
    let count = (range.len as usize).min(SENDFILE_BYTES_MAX);
    match rustix::fs::sendfile(stream, descriptor, Some(&mut position), count)? {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a segment file is shorter than its log")),
        n => Ok(n),
    }
}

/// Takes `n` written bytes off the front.
pub(super) fn advance<F>(pieces: &mut VecDeque<Segment<F>>, mut n: usize) {
    while n > 0
        && let Some(front) = pieces.front_mut()
    {
        let step = front.len().min(n);
        n -= step;
        if step == front.len() {
            pieces.pop_front();
        } else {
            front.advance(step);
        }
    }
}
