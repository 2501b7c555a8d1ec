//! The connections that one thread keeps to its peers: made when first needed, made again with growing pauses.
//! No lock is taken: callers of one peer take turns, and a task that waits for its turn lets the others run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use log_core::BrokerId;
use tokio::sync::Semaphore;

use crate::connection::PeerConnection;
use crate::endpoint::{PeerEndpoint, Target};
use crate::error::ConnectError;
use crate::ids::random;

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

type Peers = BTreeMap<(BrokerId, Target), Rc<Peer>>;

/// One caller at a time makes a call; those that come meanwhile wait for its outcome.
struct Peer {
    turn: Semaphore,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    connection: Option<PeerConnection>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Default for Peer {
    fn default() -> Self {
        Self { turn: Semaphore::new(1), state: RefCell::default() }
    }
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
        let _turn = peer.turn.acquire().await.expect("the semaphore is never closed");
        if let Some(known) = peer.state.borrow().known(broker) {
            return known;
        }
        let called = self.endpoint.connect(broker, addresses, target).await;
        peer.state.borrow_mut().on_called(called.as_ref().ok());
        called
    }

    /// Sees to it that a connection to a broker is there before it is needed, without waiting for it: nothing happens if it
    /// is open, or being made. To be called on a thread that runs local tasks. Says whether it is open.
    pub fn keep(&self, broker: BrokerId, addresses: Vec<(String, u16)>, target: Target) -> bool {
        let peer = self.peers.borrow_mut().entry((broker, target)).or_default().clone();
        let is_open = peer.state.borrow().is_open();
        if is_open || peer.turn.available_permits() == 0 {
            return is_open;
        }
        let pool = self.clone();
        tokio::task::spawn_local(async move {
            if let Err(e) = pool.connection(broker, &addresses, target).await {
                tracing::debug!("no connection to broker {broker} yet: {e}");
            }
        });
        false
    }
}

impl State {
    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(PeerConnection::is_open)
    }

    /// What needs no call: the connection that is open, or the refusal while a pause lasts.
    fn known(&self, broker: BrokerId) -> Option<Result<PeerConnection, ConnectError>> {
        if let Some(open) = self.connection.as_ref().filter(|connection| connection.is_open()) {
            return Some(Ok(open.clone()));
        }
        let pausing = self.not_before.is_some_and(|at| Instant::now() < at);
        pausing.then_some(Err(ConnectError::BackingOff(broker)))
    }

    fn on_called(&mut self, connection: Option<&PeerConnection>) {
        self.connection = connection.cloned();
        if connection.is_some() {
            (self.failures, self.not_before) = (0, None);
        } else {
            self.not_before =
                Some(Instant::now() + jittered(pause(self.failures), u32::from_le_bytes(random())));
            self.failures = self.failures.saturating_add(1);
        }
    }
}

/// Between half and all of the pause, so that those who lost the same peer do not return together.
fn jittered(pause: Duration, random: u32) -> Duration {
    pause / 2 + (pause / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
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

    #[test]
    fn a_pause_is_at_least_its_half() {
        assert_eq!(jittered(PAUSE_MAX, 0), PAUSE_MAX / 2);
        assert_eq!(jittered(PAUSE_MAX, u32::MAX), PAUSE_MAX);
    }
}
