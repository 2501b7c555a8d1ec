//! The UDP socket of a broker's QUIC endpoints: watched for what arrives, and for room to send only while there is none.
//!
//! Tokio's own socket is watched for both, always. The system tells of room each time a datagram that was sent has left, so every send
//! wakes the thread once more, for nothing: the buffer for sending is hardly ever full.
//!
//! Locks: only the task of its endpoint takes the one of a socket, so that it never waits.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Sleep;

use crate::transport::MTU_MAX;

/// The longest run of datagrams that the system joins for one receipt, in bytes.
const JOINED_BYTES_MAX: usize = 65_535;

/// The first pause after an error of the system; each further one in a row is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// The longest pause (a guess: less than the time between two heartbeats of a peer).
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The pauses after errors that pass by themselves. Whoever tried again at once would keep the thread busy while they last.
#[derive(Debug, Default)]
struct Pauses {
    present: Option<Pin<Box<Sleep>>>,
    in_a_row: u32,
}

impl Pauses {
    /// Begins the next pause; `cx` is woken when it is over.
    fn begin(&mut self, cx: &mut Context<'_>) {
        self.present = Some(Box::pin(tokio::time::sleep(pause(self.in_a_row))));
        self.in_a_row = self.in_a_row.saturating_add(1);
        // A new pause is not over; this has `cx` woken.
        let _ = self.poll_over(cx);
    }

    /// Waits for the end of the present pause, if there is one.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(present) = &mut self.present {
            ready!(present.as_mut().poll(cx));
            self.present = None;
        }
        Poll::Ready(())
    }

    /// It went well: the next pause is short again.
    const fn end_row(&mut self) {
        self.in_a_row = 0;
    }
}

fn pause(in_a_row: u32) -> Duration {
    PAUSE_MIN.saturating_mul(1 << in_a_row.min(10)).min(PAUSE_MAX)
}

#[derive(Debug)]
pub(crate) struct Socket {
    arriving: AsyncFd<UdpSocket>,
    /// After errors of receipts.
    pauses: Mutex<Pauses>,
    state: UdpSocketState,
    /// There was no room for the last datagram. Connections ask for room before each that they send.
    is_full: AtomicBool,
}

impl Socket {
    /// Takes a bound socket over; the present runtime watches it.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        // It also has the socket not block.
        let state = UdpSocketState::new((&socket).into())?;
        let arriving = watch(socket, Interest::READABLE)?;
        Ok(Self { arriving, pauses: Mutex::default(), state, is_full: AtomicBool::new(false) })
    }

    /// The same socket under another number, watched for room.
    fn another_watched(&self) -> io::Result<AsyncFd<OwnedFd>> {
        watch(OwnedFd::from(self.arriving.get_ref().try_clone()?), Interest::WRITABLE)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room { socket: self, watched: None, pauses: Pauses::default() })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.state.send(self.arriving.get_ref().into(), transmit);
        if sent.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
            self.is_full.store(true, Ordering::Relaxed);
        }
        sent
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut pauses = self.pauses.lock().expect("nothing that is done with the lock held panics");
        ready!(pauses.poll_over(cx));
        loop {
            let mut arrived = ready!(self.arriving.poll_read_ready(cx))?;
            match arrived.try_io(|socket| self.state.recv(socket.get_ref().into(), buffers, meta)) {
                Ok(Ok(count)) => {
                    pauses.end_row();
                    return Poll::Ready(Ok(count));
                }
                // An endpoint that is told of an error ends for good, but memory is short for a moment only.
                Ok(Err(e)) => {
                    tracing::warn!("datagrams could not be received: {e}");
                    pauses.begin(cx);
                    return Poll::Pending;
                }
                Err(_nothing_there) => {}
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.arriving.get_ref().local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// For receipts 2 MiB are kept instead of 13: quinn multiplies the largest datagram with the number of segments that the system joins
    /// at most, 64, though all together are never longer than 64 KiB.
    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments().min(JOINED_BYTES_MAX.div_ceil(usize::from(MTU_MAX)))
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// Has the present runtime watch a file that belongs to the value, as it does to std's own types.
fn watch<T: Into<OwnedFd> + AsRawFd>(file: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: a type of std that owns its descriptor keeps one and the same open until it is dropped.
    unsafe { AsyncFd::register_with_interest(file, interest) }.map_err(|e| e.into_parts().1)
}

/// Waits for room to send, for one connection. The socket is watched for it under another number, by the runtime of the thread that the
/// connection is driven on, and only as long as that waits.
#[derive(Debug)]
struct Room {
    socket: Arc<Socket>,
    watched: Option<AsyncFd<OwnedFd>>,
    pauses: Pauses,
}

impl UdpPoller for Room {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.socket.is_full.load(Ordering::Relaxed) {
            self.watched = None;
            return Poll::Ready(Ok(()));
        }
        if self.watched.is_none() {
            ready!(self.pauses.poll_over(cx));
            // A connection that is told of an error is driven no more, and nobody hears of it; numbers for files are short for a while only.
            let Ok(watched) = self.socket.another_watched() else {
                self.pauses.begin(cx);
                return Poll::Pending;
            };
            self.pauses.end_row();
            self.watched = Some(watched);
        }
        let room = match &self.watched {
            Some(watched) => ready!(watched.poll_write_ready(cx)).map(drop),
            None => Ok(()),
        };
        self.watched = None;
        self.socket.is_full.store(false, Ordering::Relaxed);
        Poll::Ready(room)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn pair() -> (Arc<Socket>, UdpSocket) {
        let socket = Arc::new(Socket::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap());
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        (socket, other)
    }

    fn transmit(to: SocketAddr, contents: &[u8]) -> Transmit<'_> {
        Transmit { destination: to, ecn: None, contents, segment_size: None, src_ip: None }
    }

    #[tokio::test]
    async fn a_receipt_has_room_for_what_the_system_joins_and_no_more_than_a_datagram_beyond() {
        let (socket, _) = pair();
        let (segments, mtu) = (socket.max_receive_segments(), usize::from(MTU_MAX));
        assert!(segments == 1 || segments * mtu >= JOINED_BYTES_MAX, "{segments}");
        assert!(segments * mtu < JOINED_BYTES_MAX + mtu, "{segments}");
    }

    #[tokio::test]
    async fn what_is_sent_arrives_and_what_arrives_is_received() {
        let (socket, other) = pair();
        socket.try_send(&transmit(other.local_addr().unwrap(), b"there")).unwrap();
        let mut bytes = [0; 64];
        let (n, from) = other.recv_from(&mut bytes).unwrap();
        assert_eq!((&bytes[..n], from), (&b"there"[..], socket.local_addr().unwrap()));

        for text in [b"one", b"two"] {
            other.send_to(text, from).unwrap();
            let mut buffers = vec![vec![0; 1 << 16]; quinn::udp::BATCH_SIZE];
            let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let mut meta = vec![RecvMeta::default(); quinn::udp::BATCH_SIZE];
            let count = poll_fn(|cx| socket.poll_recv(cx, &mut slices, &mut meta)).await.unwrap();
            assert_eq!((count, meta[0].len, meta[0].addr), (1, 3, other.local_addr().unwrap()));
            assert_eq!(&buffers[0][..3], text);
        }
    }

    /// Receives into buffers of its own.
    fn poll_receive(socket: &Socket, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buffers = vec![vec![0; 1 << 16]; quinn::udp::BATCH_SIZE];
        let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        socket.poll_recv(cx, &mut slices, &mut vec![RecvMeta::default(); quinn::udp::BATCH_SIZE])
    }

    #[tokio::test]
    async fn after_an_error_of_a_receipt_there_is_a_pause_and_then_it_goes_on() {
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = other.local_addr().unwrap();
        drop(other);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The answer to what nobody receives is an error of the next receipt, before what arrives behind it.
        socket.connect(there).unwrap();
        socket.send(b"x").unwrap();
        UdpSocket::bind(there).unwrap().send_to(b"one", socket.local_addr().unwrap()).unwrap();
        let (socket, mut paused) = (Socket::new(socket).unwrap(), false);
        let received = poll_fn(|cx| {
            let polled = poll_receive(&socket, cx);
            paused |= socket.pauses.lock().unwrap().present.is_some();
            polled
        });
        assert_eq!(received.await.unwrap(), 1);
        assert!(paused);
        let pauses = socket.pauses.lock().unwrap();
        assert!(pauses.present.is_none() && pauses.in_a_row == 0);
    }

    #[test]
    fn pauses_in_a_row_grow_to_a_limit() {
        let pauses: Vec<u128> = (0..9).map(|in_a_row| pause(in_a_row).as_millis()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 100, 100]);
        assert_eq!(pause(u32::MAX), PAUSE_MAX);
    }

    #[tokio::test]
    async fn a_socket_without_room_is_watched_until_it_has_some() {
        let (socket, _other) = pair();
        let mut room = Room { socket: socket.clone(), watched: None, pauses: Pauses::default() };
        for full in [false, true, true, false] {
            socket.is_full.store(full, Ordering::Relaxed);
            let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut room).poll_writable(cx))).await;
            assert_eq!((first.is_pending(), room.watched.is_some()), (full, full));
            if full {
                poll_fn(|cx| Pin::new(&mut room).poll_writable(cx)).await.unwrap();
            }
            assert!(room.watched.is_none() && !socket.is_full.load(Ordering::Relaxed));
        }
    }
}
