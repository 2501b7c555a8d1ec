//! How QUIC behaves between brokers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::CubicConfig;
use quinn::{AckFrequencyConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};

use crate::endpoint::Target;
use crate::ids::{RandomIds, ResetKey};

/// Largest datagram that path discovery tries: on loopback it halves the CPU per byte, and 10 segments of it still fit a
/// single segmented send (65,535 bytes), beyond which sends fail unseen.
pub(crate) const MTU_MAX: u16 = 6_500;

/// What every path between brokers carries; loss never drops the MTU below it.
const MTU_MIN: u16 = 1_200;

/// At least ten datagrams of the largest size, or a connection stalls at its start.
const INITIAL_WINDOW_BYTES: u64 = 20 * MTU_MAX as u64;

/// A peer's Control that is silent for this long is gone. Sessions between brokers and controller decide sooner.
const CONTROL_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for its shards. There are many connections to them, and each question whether the peer is there wakes two threads at either
/// end; that a broker is gone is heard from the controller, and a follower that does not answer is put out after ten seconds anyway.
const SHARD_IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// After this part of the idle timeout a silent peer is asked whether it is there. QUIC repeats a question that is lost, and the timeout
/// begins with the first.
const KEEP_ALIVE_SHARE: f64 = 0.4;

/// Bytes under way on one stream: more than the credit that a follower gives (`replica-core`).
const STREAM_WINDOW_BYTES: u32 = 16 << 20;

/// Bytes under way on one connection.
const CONNECTION_WINDOW_BYTES: u32 = 128 << 20;

/// The round trip assumed before the first is measured: a lost first packet is sent again after three of them. The default of a
/// third of a second would cost a node that starts a whole one.
const INITIAL_RTT: Duration = Duration::from_millis(30);

/// Streams that a peer may have open: one for each partition replica between two shards, and a margin.
pub(crate) const STREAMS_MAX: u32 = 100_000;

/// Streams that it may have open at first. Each that it may have costs 55 bytes, whether it is open or not, and 100,000 of them some
/// milliseconds before the first one.
pub(crate) const STREAMS_FIRST: u32 = 1_024;

/// Room in the system for datagrams that are not read yet; with the system's default a burst is lost.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

fn transport(target: Target) -> TransportConfig {
    let idle = match target {
        Target::Control => CONTROL_IDLE_TIMEOUT,
        Target::Shard(_) => SHARD_IDLE_TIMEOUT,
    };
    let mut congestion = CubicConfig::default();
    congestion.initial_window(INITIAL_WINDOW_BYTES);
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(MTU_MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_FIRST))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(IdleTimeout::try_from(idle).expect("seconds fit")))
        .initial_rtt(INITIAL_RTT)
        .keep_alive_interval(Some(idle.mul_f64(KEEP_ALIVE_SHARE)))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .send_window(u64::from(CONNECTION_WINDOW_BYTES))
        .min_mtu(MTU_MIN)
        .mtu_discovery_config(Some(discovery))
        .congestion_controller_factory(Arc::new(congestion))
        .datagram_receive_buffer_size(None);
    transport
}

/// What connections made by this broker do.
pub(crate) fn calling(target: Target) -> Arc<TransportConfig> {
    Arc::new(transport(target))
}

/// What connections made by others do. To Control they carry requests, and answers of one packet: the caller acknowledges an answer
/// while it is awake, not by a wake-up of its own 25 ms later.
pub(crate) fn called(target: Target) -> Arc<TransportConfig> {
    let mut transport = transport(target);
    if target == Target::Control {
        let mut acknowledged = AckFrequencyConfig::default();
        acknowledged.ack_eliciting_threshold(VarInt::from_u32(0));
        transport.ack_frequency_config(Some(acknowledged));
    }
    Arc::new(transport)
}

pub(crate) fn endpoint(reset_key: ResetKey) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config.cid_generator(|| Box::new(RandomIds));
    config.max_udp_payload_size(MTU_MAX).expect("the size is above the least that QUIC allows");
    config
}

/// A UDP socket with room for bursts. An IPv6 address of all interfaces takes IPv4 too.
///
/// # Errors
/// An address that is taken, or is not ours.
pub fn bind_socket(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    // A system that gives less loses more; nothing else depends on it.
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER_BYTES);
    socket.bind(&address.into())?;
    Ok(socket.into())
}
