//! A registered broker.

use log_core::{BrokerEpoch, BrokerId, DirectoryId, Incarnation};
use serde::{Deserialize, Serialize};

use crate::record::{Endpoint, Listener};

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// Its id.
    pub id: BrokerId,
    /// Its registration: the offset of that record.
    pub epoch: BrokerEpoch,
    /// Its log directory.
    pub directory: DirectoryId,
    /// The process start that registered.
    pub incarnation: Incarnation,
    /// Where it stands.
    pub rack: Option<String>,
    /// Where it is reached.
    pub endpoints: Vec<Endpoint>,
    /// How many shards it runs.
    pub shards: u16,
    /// The greatest feature level it knows.
    pub feature_level_max: u16,
    /// Whether a clean stop went before this registration.
    pub clean_start: bool,
    /// Whether it may lead and be added to ISRs.
    pub standing: Standing,
}

/// Whether a broker may lead and be added to ISRs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It has registered and keeps its seats, but has not shown yet that it applied the registration: it leads nothing.
    Registered,
    /// It lives.
    Active,
    /// Its session has expired; it is in no ISR.
    Fenced,
    /// It is about to stop; it is in no ISR, and only a new registration ends this.
    ShuttingDown,
}

impl Broker {
    /// Whether it may lead and be added to ISRs.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self.standing, Standing::Active)
    }

    /// Whether it counts as fenced for a client or a leader: everything but active.
    #[must_use]
    pub const fn is_fenced(&self) -> bool {
        !self.is_active()
    }

    /// Its endpoints of one kind, in the order in which it registered them.
    pub fn endpoints_of(&self, listener: Listener) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().filter(move |endpoint| endpoint.listener == listener)
    }
}
