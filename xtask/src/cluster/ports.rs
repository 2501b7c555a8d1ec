//! Which ports a node takes: those of the design, or free ones where they are taken.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use anyhow::{Context, Result};

/// The ports of one node, all on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    /// Kafka over TCP and over QUIC: one number for both.
    pub(crate) kafka: u16,
    /// Brokers among themselves, over QUIC.
    pub(crate) brokers: u16,
    /// Health, metrics.
    pub(crate) http: u16,
}

const KAFKA: u16 = 9092;
const BROKERS: u16 = 9093;
const HTTP: u16 = 8092;
/// From one node's ports to the next one's.
const STRIDE: u16 = 10;

impl Ports {
    /// The ports of node `id` (from 1) by the design.
    pub(crate) const fn designed(id: u16) -> Self {
        let step = STRIDE * (id - 1);
        Self { kafka: KAFKA + step, brokers: BROKERS + step, http: HTTP + step }
    }

    /// Whether nobody else has any of them.
    pub(crate) fn are_free(self) -> bool {
        free_on_both(self.kafka) && free_udp(self.brokers) && free_tcp(self.http)
    }
}

/// The designed ports if they are free for all nodes, else free ones for all: a mixture would only confuse.
pub(crate) fn choose(nodes: u16) -> Result<Vec<Ports>> {
    let designed: Vec<Ports> = (1..=nodes).map(Ports::designed).collect();
    if designed.iter().all(|ports| ports.are_free()) {
        return Ok(designed);
    }
    eprintln!("   the usual ports (from {KAFKA}) are taken, so others are used");
    free(nodes)
}

/// Ports that are free now. All are held until the last is found, so that none is found twice.
pub(crate) fn free(nodes: u16) -> Result<Vec<Ports>> {
    let mut held = Vec::new();
    let mut chosen = Vec::new();
    for _ in 0..nodes {
        let kafka = held_pair()?;
        let brokers = UdpSocket::bind(loopback(0))?;
        let http = TcpListener::bind(loopback(0))?;
        chosen.push(Ports {
            kafka: kafka.0.local_addr()?.port(),
            brokers: brokers.local_addr()?.port(),
            http: http.local_addr()?.port(),
        });
        held.push((kafka, brokers, http));
    }
    Ok(chosen)
}

/// A port that is free for TCP and UDP alike.
fn held_pair() -> Result<(TcpListener, UdpSocket)> {
    for _ in 0..100 {
        let tcp = TcpListener::bind(loopback(0))?;
        if let Ok(udp) = UdpSocket::bind(loopback(tcp.local_addr()?.port())) {
            return Ok((tcp, udp));
        }
    }
    None.context("no port is free for both TCP and UDP")
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn free_on_both(port: u16) -> bool {
    free_tcp(port) && free_udp(port)
}

fn free_tcp(port: u16) -> bool {
    TcpListener::bind(loopback(port)).is_ok()
}

fn free_udp(port: u16) -> bool {
    UdpSocket::bind(loopback(port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_designed_ports_are_ten_apart() {
        assert_eq!(Ports::designed(1), Ports { kafka: 9092, brokers: 9093, http: 8092 });
        assert_eq!(Ports::designed(3), Ports { kafka: 9112, brokers: 9113, http: 8112 });
    }

    #[test]
    fn free_ports_are_all_different() {
        let chosen = free(5).unwrap();
        let numbers: BTreeSet<u16> = chosen.iter().flat_map(|p| [p.kafka, p.brokers, p.http]).collect();
        assert_eq!(numbers.len(), 15);
    }

    #[test]
    fn a_taken_port_is_not_free() {
        let taken = UdpSocket::bind(loopback(0)).unwrap();
        let brokers = taken.local_addr().unwrap().port();
        assert!(!Ports { brokers, ..free(1).unwrap()[0] }.are_free());
    }
}
