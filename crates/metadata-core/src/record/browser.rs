//! How pages in browsers reach a broker: said after its registration, and again whenever a certificate changes.

use log_core::{BrokerEpoch, BrokerId, Timestamp};
use serde::{Deserialize, Serialize};

/// See [`MetadataRecord::AnnounceBrowserDoor`](super::MetadataRecord::AnnounceBrowserDoor).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnnounceBrowserDoor {
    /// The broker.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// How pages reach it.
    pub door: BrowserDoor,
}

/// How pages in browsers reach a broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserDoor {
    /// The URL for WebTransport; none if that is not served.
    pub webtransport: Option<String>,
    /// The URL for WebSockets; none if they are not served.
    pub websocket: Option<String>,
    /// The certificates that WebTransport shows, the present one first, then those that follow; empty where a certificate
    /// of the user's serves, which browsers check by its name.
    pub certificates: Vec<BrowserCertificate>,
}

/// A certificate that a browser knows by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserCertificate {
    /// The SHA-256 of its DER bytes.
    pub sha256: [u8; 32],
    /// When it begins to be valid, in milliseconds since 1970.
    pub not_before: Timestamp,
    /// When it ends, in milliseconds since 1970.
    pub not_after: Timestamp,
}
