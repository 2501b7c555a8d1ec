//! Where a client came in: the names of connections and streams, and the doors of the design.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// A client connection of this broker: one TCP connection, one QUIC stream, one WebSocket. The driver gives the
/// numbers; none is used twice in one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// One shard of a broker, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What carries a client's Kafka frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoorKind {
    /// Plain TCP; the only door whose answers leave by `sendfile`.
    Tcp,
    /// TLS over TCP, on the port of [`DoorKind::Tcp`].
    Tls,
    /// A bidirectional QUIC stream.
    Quic,
    /// A bidirectional WebTransport stream.
    WebTransport,
    /// A WebSocket.
    WebSocket,
    /// The same process, for tests and embedding.
    Memory,
}

impl DoorKind {
    /// Whether another thread can go on with a connection that has nothing under way: what carries it is a socket and nothing else.
    #[must_use]
    pub const fn can_move(self) -> bool {
        matches!(self, Self::Tcp)
    }

    /// Whether pages in browsers come in here.
    #[must_use]
    pub const fn is_browser(self) -> bool {
        matches!(self, Self::WebTransport | Self::WebSocket)
    }
}

/// The door of one connection, with the addresses of both ends where there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Door {
    /// What carries the frames.
    pub kind: DoorKind,
    /// Our end: decides which advertised addresses the client is told.
    pub local: Option<SocketAddr>,
    /// The client's end.
    pub peer: Option<SocketAddr>,
}

impl Door {
    /// A door within the process.
    pub const MEMORY: Self = Self { kind: DoorKind::Memory, local: None, peer: None };

    /// The address family the client came by.
    #[must_use]
    pub fn family(&self) -> AddressFamily {
        match self.local.map(|local| local.ip()) {
            Some(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_none() => AddressFamily::V6,
            Some(IpAddr::V4(_) | IpAddr::V6(_)) | None => AddressFamily::V4,
        }
    }
}

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressFamily {
    /// IPv4, also where it arrives mapped into IPv6.
    V4,
    /// IPv6.
    V6,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_counts_as_ipv4() {
        let family = |local: &str| Door { local: Some(local.parse().unwrap()), ..Door::MEMORY }.family();
        assert_eq!(family("127.0.0.1:9092"), AddressFamily::V4);
        assert_eq!(family("[::ffff:10.0.0.1]:9092"), AddressFamily::V4);
        assert_eq!(family("[::1]:9092"), AddressFamily::V6);
    }
}
