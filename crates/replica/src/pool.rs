//! The connections that one thread keeps to its peers: made when first needed, made again with growing pauses.
//!
//! Locks: one of tokio per peer, on one thread: a task that waits for it lets the others run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use log_core::BrokerId;
use tokio::sync::Mutex;

use crate::connection::PeerConnection;
use crate::endpoint::{PeerEndpoint, Target};
use crate::error::ConnectError;

/// The first pause after a failed call; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The longest pause: a peer that comes back is not missed for long.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The connections of one thread; cheap to clone on it.
#[derive(Clone)]
pub struct Pool {
    endpoint: PeerEndpoint,
    peers: Rc<RefCell<Peers>>,
}

/// The lock is held during a call: callers that come meanwhile wait for its outcome.
type Peers = BTreeMap<(BrokerId, Target), Rc<Mutex<Peer>>>;

#[derive(Default)]
struct Peer {
    connection: Option<PeerConnection>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Pool {
    /// A pool without connections.
    #[must_use]
    pub fn new(endpoint: PeerEndpoint) -> Self {
        Self { endpoint, peers: Rc::default() }
    }

    /// The connection to a broker, made if need be; callers that come meanwhile wait for the same attempt.
    ///
    /// # Errors
    /// A call that failed, or [`ConnectError::BackingOff`] while the pause after one lasts.
    pub async fn connection(
        &self,
        broker: BrokerId,
        addresses: &[(String, u16)],
        target: Target,
    ) -> Result<PeerConnection, ConnectError> {
        let peer = self.peers.borrow_mut().entry((broker, target)).or_default().clone();
        let mut peer = peer.lock().await;
        if let Some(connection) = peer.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(connection.clone());
        }
        if peer.not_before.is_some_and(|at| Instant::now() < at) {
            return Err(ConnectError::BackingOff(broker));
        }
        match self.endpoint.connect(broker, addresses, target).await {
            Ok(connection) => {
                *peer = Peer { connection: Some(connection.clone()), ..Peer::default() };
                Ok(connection)
            }
            Err(e) => {
                peer.connection = None;
                peer.not_before = Some(Instant::now() + pause(peer.failures));
                peer.failures = peer.failures.saturating_add(1);
                Err(e)
            }
        }
    }
}

fn pause(failures: u32) -> Duration {
    PAUSE_MIN.saturating_mul(1 << failures.min(10)).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        let pauses: Vec<u128> = (0..8).map(|failures| pause(failures).as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 500, 500, 500]);
        assert_eq!(pause(u32::MAX), PAUSE_MAX);
    }
}
