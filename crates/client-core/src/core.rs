//! What every part of the brain works with: connections, the picture of the cluster, and the way out for actions.

use std::collections::VecDeque;

use log_core::{Codecs, Crc32c, MonoTime, Now};

use crate::action::{Action, Answer, CallId};
use crate::address::Address;
use crate::cluster::Cluster;
use crate::error::ClientError;
use crate::metrics::Metrics;
use crate::network::Network;
use crate::options::ClientOptions;
use crate::random::Random;

/// What the brain cannot have of its own: randomness, codecs and a checksum.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The seed of all jitter and of sticky partitions. Clients should differ in it.
    pub seed: u64,
    /// The codecs.
    pub codecs: Codecs,
    /// CRC-32C.
    pub crc: Crc32c,
}

/// The shared middle of the brain.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) options: ClientOptions,
    pub(crate) environment: Environment,
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) random: Random,
    pub(crate) metrics: Metrics,
}

impl Core {
    pub(crate) fn new(options: ClientOptions, bootstrap: Vec<Address>, environment: Environment) -> Self {
        Self {
            options,
            environment,
            network: Network::new(bootstrap),
            cluster: Cluster::default(),
            actions: VecDeque::new(),
            random: Random::new(environment.seed),
            metrics: Metrics::default(),
        }
    }

    pub(crate) fn emit(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(crate) fn answer(&mut self, call: CallId, result: Result<Answer, ClientError>) {
        self.emit(Action::Answered { call, result });
    }

    /// When a request that has failed this many times in a row may be tried again.
    pub(crate) fn retry_at(&mut self, now: Now, failures: u32) -> MonoTime {
        now.mono.after(crate::backoff::Backoff::REQUEST.delay(failures, &mut self.random))
    }
}

/// The earlier of two times, if there is any.
pub(crate) fn earliest(one: Option<MonoTime>, two: Option<MonoTime>) -> Option<MonoTime> {
    one.into_iter().chain(two).min()
}
