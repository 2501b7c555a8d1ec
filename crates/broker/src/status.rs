//! What the HTTP port tells of a broker.

use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use broker_core::control::{ControlPhase, ControlStatus};
use broker_core::message::AdminError;
use log_core::BrokerId;
use metadata_core::record::{BrowserCertificate, BrowserDoor};
use metadata_core::{ClusterImage, Listener};
use replica::PeerEndpoint;
use tokio::sync::{oneshot, watch};

use crate::http::WEBSOCKET_PATH;
use crate::links::{ShardReport, Standing};

/// Why no join token is given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum TokenRefused {
    /// Another broker holds the authority's key.
    #[error("this broker does not hold the authority's key; ask the broker that formed the cluster")]
    NoAuthority,
    /// The cluster did not take it.
    #[error("the cluster did not take the token: {0}")]
    Cluster(AdminError),
}

type Later<T> = Pin<Box<dyn Future<Output = T>>>;

/// Asks each shard for its counters.
pub(crate) type AskShards = Box<dyn Fn() -> Vec<oneshot::Receiver<ShardReport>>>;

/// Makes a join token.
pub(crate) type MakeToken = Box<dyn Fn() -> Later<Result<String, TokenRefused>>>;

/// What the HTTP port can see; lives on Control's thread.
pub(crate) struct Status {
    pub(crate) broker: BrokerId,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) image: watch::Receiver<Arc<ClusterImage>>,
    pub(crate) peers: PeerEndpoint,
    pub(crate) shards: AskShards,
    pub(crate) make_token: MakeToken,
}

/// What a broker that clients should not be sent to waits for: its phase, and the rest in words.
fn unready(status: ControlStatus) -> String {
    let waits = match status.phase {
        ControlPhase::Recovering => "logs are being opened and checked",
        ControlPhase::Registering => "the cluster has not taken this start in yet",
        ControlPhase::Fenced => "the controller has not let it serve yet",
        ControlPhase::Stopping => "logs are being closed",
        ControlPhase::Active | ControlPhase::Ended => "the broker has ended",
    };
    let controller = if status.controller_known || status.is_controller {
        ""
    } else {
        "; no controller is known: it may not be reached, or a majority of the voters is away"
    };
    format!("{}: {waits}{controller}", status.phase.name())
}

impl Status {
    /// Why clients should not be sent here yet; none if they should.
    pub(crate) fn unready(&self) -> Option<String> {
        let standing = *self.standing.borrow();
        match standing.status.is_ready() {
            true => None,
            false => Some(unready(standing.status)),
        }
    }

    /// All counters and gauges in Prometheus' text format; `clients` is the number of those that are connected, each counted
    /// once however many streams it has.
    pub(crate) async fn metrics(&self, clients: u32) -> String {
        let mut reports = Vec::new();
        for report in (self.shards)() {
            reports.extend(report.await.ok());
        }
        let standing = *self.standing.borrow();
        let mut text = String::new();
        gauge(&mut text, "highwater_ready", u64::from(standing.status.is_ready()));
        gauge(&mut text, "highwater_is_controller", u64::from(standing.status.is_controller));
        gauge(&mut text, "highwater_controller_known", u64::from(standing.status.controller_known));
        gauge(&mut text, "highwater_clients", u64::from(clients));
        gauge(&mut text, "highwater_peer_connections", self.peers.open_connections() as u64);
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        gauge(&mut text, "highwater_control_tasks", tasks as u64);
        crate::exposition::write(&mut text, &reports);
        text
    }

    /// This node and all brokers that it knows.
    pub(crate) fn cluster(&self) -> serde_json::Value {
        let image = self.image.borrow();
        let standing = *self.standing.borrow();
        let brokers: Vec<_> = image.brokers().map(broker).collect();
        serde_json::json!({
            "node": self.broker.0,
            "cluster": image.cluster_id().map(|id| id.to_string()),
            "phase": standing.status.phase.name(),
            "ready": standing.status.is_ready(),
            "controller": standing.status.is_controller,
            "brokers": brokers,
        })
    }

    /// Where pages reach each live broker.
    pub(crate) fn brokers(&self) -> serde_json::Value {
        let image = self.image.borrow();
        let live = image.brokers().filter(|broker| broker.is_active());
        let brokers: Vec<_> =
            live.map(|broker| browser_door(broker, image.browser_door(broker.id))).collect();
        serde_json::json!({
            "cluster_id": image.cluster_id().map(|id| id.to_string()),
            "answered_by": self.broker.0,
            "brokers": brokers,
        })
    }

    pub(crate) async fn token(&self) -> Result<String, TokenRefused> {
        (self.make_token)().await
    }
}

fn address(broker: &metadata_core::Broker, listener: Listener) -> Option<String> {
    let found = broker.endpoints_of(listener).next();
    found.map(|endpoint| crate::config::Tcp { host: endpoint.host.clone(), port: endpoint.port }.to_string())
}

/// A broker that has not announced its door yet has one for WebSockets at least.
fn browser_door(broker: &metadata_core::Broker, door: Option<&BrowserDoor>) -> serde_json::Value {
    let assumed = || address(broker, Listener::Http).map(|address| format!("ws://{address}{WEBSOCKET_PATH}"));
    let certificates = door.map_or(&[][..], |door| door.certificates.as_slice());
    serde_json::json!({
        "id": broker.id.0,
        "webtransport": door.and_then(|door| door.webtransport.as_ref()),
        "websocket": door.map_or_else(assumed, |door| door.websocket.clone()),
        "certificates": certificates.iter().map(certificate).collect::<Vec<_>>(),
    })
}

fn certificate(certificate: &BrowserCertificate) -> serde_json::Value {
    let hex: String = certificate.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    serde_json::json!({
        "sha256": hex,
        "not_before_ms": certificate.not_before.0,
        "not_after_ms": certificate.not_after.0,
    })
}

fn broker(broker: &metadata_core::Broker) -> serde_json::Value {
    let address = |listener| address(broker, listener);
    serde_json::json!({
        "id": broker.id.0,
        "active": broker.is_active(),
        "rack": broker.rack,
        "kafka": address(Listener::Kafka),
        "quic": address(Listener::Quic),
        "http": address(Listener::Http).map(|address| format!("http://{address}")),
        "replica": address(Listener::Replica),
    })
}

fn gauge(text: &mut String, name: &str, value: u64) {
    writeln!(text, "# TYPE {name} gauge\n{name} {value}").expect("writing into a text does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_told_in_words() {
        let fenced = ControlStatus { phase: ControlPhase::Fenced, ..ControlStatus::default() };
        let known = ControlStatus { controller_known: true, ..fenced };
        assert_eq!(unready(known), "fenced: the controller has not let it serve yet");
        let text = unready(fenced);
        assert!(
            text.ends_with(
                "; no controller is known: it may not be reached, or a majority of the voters is away"
            ),
            "{text}"
        );
    }
}
