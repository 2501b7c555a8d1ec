//! Which address of a broker a client is told: one of the listener it came by, of the address family it came by where
//! the broker has one.

use core::net::IpAddr;

use log_core::BrokerId;
use log_store::Disk;
use metadata_core::{Broker, Endpoint, Listener};

use crate::door::{AddressFamily, Door, DoorKind};
use crate::shard::{Ask, Shard};

/// A broker as a client is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) broker: BrokerId,
    pub(crate) host: String,
    pub(crate) port: i32,
    pub(crate) rack: Option<String>,
}

impl<D: Disk> Shard<D> {
    pub(crate) fn door(&self, ask: Ask) -> Door {
        self.connections.get(&ask.connection).map_or(Door::MEMORY, |connection| connection.door)
    }

    /// All brokers that live and can be reached through this door.
    pub(crate) fn live_addresses(&self, door: &Door) -> Vec<Address> {
        let live = self.core.image.brokers().filter(|broker| broker.is_active());
        live.filter_map(|broker| self.address_of(door, broker)).collect()
    }

    pub(crate) fn address(&self, door: &Door, broker: BrokerId) -> Option<Address> {
        self.address_of(door, self.core.image.broker(broker)?)
    }

    fn address_of(&self, door: &Door, broker: &Broker) -> Option<Address> {
        let endpoint = choose(door, broker)?;
        let unspecified =
            endpoint.host.is_empty() || endpoint.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
        let own_host = door.local.filter(|_| unspecified && broker.id == self.core.broker());
        let host =
            own_host.map_or_else(|| endpoint.host.clone(), |local| local.ip().to_canonical().to_string());
        Some(Address { broker: broker.id, host, port: i32::from(endpoint.port), rack: broker.rack.clone() })
    }

    /// A live broker that takes administrative requests; each does, so this one if it is live.
    pub(crate) fn controller_id(&self, live: &[Address]) -> i32 {
        let own = live.iter().find(|address| address.broker == self.core.broker());
        own.or(live.first()).map_or(-1, |address| address.broker.0)
    }

    pub(crate) fn cluster_id(&self) -> Option<String> {
        self.core.image.cluster_id().map(|id| id.to_string())
    }
}

fn choose<'a>(door: &Door, broker: &'a Broker) -> Option<&'a Endpoint> {
    let listener = match door.kind {
        DoorKind::Tcp | DoorKind::Tls | DoorKind::Memory => Listener::Kafka,
        DoorKind::Quic | DoorKind::WebTransport => Listener::Quic,
        DoorKind::WebSocket => Listener::Http,
    };
    let family = |endpoint: &&Endpoint| match endpoint.host.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => door.family() == AddressFamily::V4,
        Ok(IpAddr::V6(_)) => door.family() == AddressFamily::V6,
        Err(_) => true,
    };
    broker.endpoints_of(listener).find(family).or_else(|| broker.endpoints_of(listener).next())
}
