//! Ports that are free on loopback.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// The ports of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// Kafka over TCP, TLS and QUIC.
    pub(crate) kafka: u16,
    /// Brokers among themselves, over QUIC.
    pub(crate) replica: u16,
    /// Health and metrics.
    pub(crate) http: u16,
}

/// Ports for `nodes` nodes. All are held until the last is found, so that none is found twice.
pub(crate) fn free(nodes: u16) -> Vec<Ports> {
    let mut held = Vec::new();
    let mut take = || {
        let (tcp, udp) = pair();
        let port = tcp.local_addr().expect("a bound socket has an address").port();
        held.push((tcp, udp));
        port
    };
    (0..nodes).map(|_| Ports { kafka: take(), replica: take(), http: take() }).collect()
}

/// A port that is free for TCP and for UDP.
fn pair() -> (TcpListener, UdpSocket) {
    for _ in 0..1_000 {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        let port = tcp.local_addr().expect("a bound socket has an address").port();
        if let Ok(udp) = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)) {
            return (tcp, udp);
        }
    }
    panic!("no port is free for both TCP and UDP");
}
