//! What QUIC runs on: tokio, with timers and sockets that wake a broker less often.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};

use crate::socket::Socket;
use crate::timers::Moved;

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
        Ok(Arc::new(Socket::new(socket)?))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}
