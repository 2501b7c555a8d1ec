//! What QUIC runs on: tokio, with timers that wake an idle broker less often and receive buffers of a size that can be needed.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};

use crate::timers::Moved;
use crate::transport::MTU_MAX;

/// The longest run of datagrams that the system joins for one receipt, in bytes.
const JOINED_BYTES_MAX: usize = 65_535;

/// Tokio for the endpoints of a broker. Timers are moved when they are put off on the thread that made this, and there alone.
#[derive(Debug)]
pub struct QuicRuntime {
    home: ThreadId,
}

impl QuicRuntime {
    /// For an endpoint of the present thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        Self { home: thread::current().id() }
    }
}

impl Runtime for QuicRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        if thread::current().id() == self.home { Box::pin(Moved::at(at)) } else { TokioRuntime.new_timer(at) }
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(JoinedSocket(TokioRuntime.wrap_udp_socket(socket)?)))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

/// A socket for whose receipts 2 MiB are kept instead of 13: quinn multiplies the largest datagram with the number of segments that the
/// system joins at most, 64, though all together are never longer than 64 KiB.
#[derive(Debug)]
struct JoinedSocket(Arc<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for JoinedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.0.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.0.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.0.max_receive_segments().min(JOINED_BYTES_MAX.div_ceil(usize::from(MTU_MAX)))
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_receipt_has_room_for_what_the_system_joins_and_no_more_than_a_datagram_beyond() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let socket = QuicRuntime::of_this_thread().wrap_udp_socket(socket).unwrap();
        let (segments, mtu) = (socket.max_receive_segments(), usize::from(MTU_MAX));
        assert!(segments == 1 || segments * mtu >= JOINED_BYTES_MAX, "{segments}");
        assert!(segments * mtu < JOINED_BYTES_MAX + mtu, "{segments}");
    }
}
