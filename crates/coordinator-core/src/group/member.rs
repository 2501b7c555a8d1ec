//! A member of a group.

use core::time::Duration;

use bytes::Bytes;
use log_core::{MonoTime, Now};

use crate::command::{Join, RequestToken};
use crate::records::MemberValue;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    /// Each assignor it knows with its subscription, the preferred first.
    pub(crate) protocols: Vec<(String, Bytes)>,
    pub(crate) assignment: Bytes,
    pub(crate) session_deadline: MonoTime,
    /// Its join that waits for the rebalance.
    pub(crate) joining: Option<RequestToken>,
    /// Its sync that waits for the assignment.
    pub(crate) syncing: Option<RequestToken>,
    /// Its place in the order of first joins; the earliest becomes the leader.
    pub(crate) order: u64,
}

impl Member {
    pub(crate) fn new(now: Now, join: Join, order: u64) -> Self {
        Self {
            session_deadline: now.mono.after(join.session_timeout),
            instance_id: join.instance_id,
            client_id: join.client_id,
            client_host: join.client_host,
            session_timeout: join.session_timeout,
            rebalance_timeout: join.rebalance_timeout,
            protocols: join.protocols,
            assignment: Bytes::new(),
            joining: None,
            syncing: None,
            order,
        }
    }

    pub(crate) fn restored(now: Now, stored: MemberValue, protocol: String, order: u64) -> Self {
        let duration = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let session_timeout = duration(stored.session_timeout_ms);
        Self {
            session_deadline: now.mono.after(session_timeout),
            instance_id: stored.instance_id,
            client_id: stored.client_id,
            client_host: stored.client_host,
            session_timeout,
            rebalance_timeout: duration(stored.rebalance_timeout_ms),
            protocols: vec![(protocol, stored.subscription)],
            assignment: stored.assignment,
            joining: None,
            syncing: None,
            order,
        }
    }

    /// Takes what a rejoin says anew.
    pub(crate) fn update(&mut self, now: Now, join: &Join) {
        self.client_id.clone_from(&join.client_id);
        self.client_host.clone_from(&join.client_host);
        self.session_timeout = join.session_timeout;
        self.rebalance_timeout = join.rebalance_timeout;
        self.protocols.clone_from(&join.protocols);
        self.session_deadline = now.mono.after(join.session_timeout);
    }

    pub(crate) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|(name, _)| name == protocol)
    }

    pub(crate) fn subscription(&self, protocol: &str) -> Bytes {
        let named = self.protocols.iter().find(|(name, _)| name == protocol);
        named.map(|(_, subscription)| subscription.clone()).unwrap_or_default()
    }
}
