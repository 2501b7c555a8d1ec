//! One connection: bytes in, cut into frames; ropes out, gathered into as few writes as possible.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use client_core::error::{Damage, NetworkCause};
use kafka_wire::{FrameReader, Rope, Segment};
use tokio::io::{AsyncReadExt, AsyncWrite};

use crate::transport::{Carrier, Connecting, cause_of};

/// Slices given to one write.
const SLICES_MAX: usize = 64;

/// A connection from its dialling to its end.
pub(crate) struct Link {
    stage: Stage,
    frames: FrameReader,
    out: VecDeque<Bytes>,
    needs_flush: bool,
}

enum Stage {
    Connecting(Connecting),
    Open(Box<dyn Carrier>),
}

/// What a connection has to say.
pub(crate) enum LinkEvent {
    Connected,
    Frame(Bytes),
    /// The end; it says nothing more.
    Broken {
        cause: NetworkCause,
        was_open: bool,
    },
}

impl Link {
    pub(crate) fn new(connecting: Connecting, frame_bytes_max: usize) -> Self {
        let frames = FrameReader::new(frame_bytes_max);
        Self { stage: Stage::Connecting(connecting), frames, out: VecDeque::new(), needs_flush: false }
    }

    pub(crate) fn send(&mut self, frame: Rope) {
        let bytes = frame.into_segments().filter_map(|segment| match segment {
            Segment::Bytes(bytes) => Some(bytes),
            Segment::File(_) => None,
        });
        self.out.extend(bytes);
    }

    /// Whether something is still to be written.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Open(_)) && !self.out.is_empty()
    }

    /// Connects, writes what can be written, and gives the next thing to say.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<LinkEvent> {
        match &mut self.stage {
            Stage::Connecting(connecting) => match connecting.as_mut().poll(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(carrier)) => {
                    self.stage = Stage::Open(carrier);
                    Poll::Ready(LinkEvent::Connected)
                }
                Poll::Ready(Err(error)) => broken(&error, false),
            },
            Stage::Open(carrier) => {
                if let Err(error) = write(carrier, &mut self.out, &mut self.needs_flush, context) {
                    return broken(&error, true);
                }
                read(carrier, &mut self.frames, context)
            }
        }
    }
}

fn broken(error: &io::Error, was_open: bool) -> Poll<LinkEvent> {
    Poll::Ready(LinkEvent::Broken { cause: cause_of(error), was_open })
}

/// Writes until the carrier takes no more.
fn write(
    carrier: &mut Box<dyn Carrier>,
    out: &mut VecDeque<Bytes>,
    needs_flush: &mut bool,
    context: &mut Context<'_>,
) -> io::Result<()> {
    while !out.is_empty() {
        let written = {
            let slices: Vec<IoSlice<'_>> =
                out.iter().take(SLICES_MAX).map(|bytes| IoSlice::new(bytes)).collect();
            match Pin::new(&mut *carrier).poll_write_vectored(context, &slices) {
                Poll::Pending => break,
                Poll::Ready(written) => written?,
            }
        };
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        advance(out, written);
        *needs_flush = true;
    }
    if *needs_flush && let Poll::Ready(flushed) = Pin::new(carrier).poll_flush(context) {
        flushed?;
        *needs_flush = false;
    }
    Ok(())
}

fn advance(out: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(front) = out.front_mut() {
        if front.len() > written {
            front.advance(written);
            return;
        }
        written -= front.len();
        out.pop_front();
    }
}

fn read(
    carrier: &mut Box<dyn Carrier>,
    frames: &mut FrameReader,
    context: &mut Context<'_>,
) -> Poll<LinkEvent> {
    loop {
        match frames.next_frame() {
            Ok(Some(frame)) => return Poll::Ready(LinkEvent::Frame(frame)),
            Ok(None) => {}
            Err(error) => {
                let cause = NetworkCause::Protocol(Damage::of_frame(error));
                return Poll::Ready(LinkEvent::Broken { cause, was_open: true });
            }
        }
        let mut spare = frames.spare();
        let reading = pin!(carrier.read_buf(&mut spare));
        match reading.poll(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(0)) => return broken(&io::ErrorKind::UnexpectedEof.into(), true),
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(error)) => return broken(&error, true),
        }
    }
}
