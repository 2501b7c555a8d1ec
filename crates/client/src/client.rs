//! The handle to one cluster.

use std::sync::Arc;

use client_core::Metrics;
use client_core::error::ClientError;

use crate::admin::Admin;
use crate::builder::ClientBuilder;
use crate::consumer::{ConsumerBuilder, IntoTopics};
use crate::driver::Remote;
use crate::producer::ProducerBuilder;

/// A client of one cluster: one set of connections, shared by everything made from it. Cheap to clone.
///
/// Its background task ends when the client and all that was made from it are dropped.
#[derive(Clone, Debug)]
pub struct Client {
    remote: Arc<Remote>,
}

impl Client {
    pub(crate) fn new(remote: Remote) -> Self {
        Self { remote: Arc::new(remote) }
    }

    /// Connects to the cluster of which `addresses` (comma-separated, `tcp://`, `tls://` or `quic://`, TCP being the
    /// default) are some brokers. See [`ClientBuilder::connect`].
    ///
    /// # Errors
    /// When an address is wrong, or none answers within 10 s.
    pub async fn connect(addresses: impl Into<String>) -> Result<Self, ClientError> {
        Self::builder(addresses).connect().await
    }

    /// Settings for a client of the cluster of which `addresses` are some brokers.
    pub fn builder(addresses: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(addresses.into())
    }

    /// Settings for a producer. Each producer has its own buffer, batches and sequence numbers.
    pub fn producer(&self) -> ProducerBuilder {
        ProducerBuilder::new(Arc::clone(&self.remote))
    }

    /// Settings for a consumer of one or more topics.
    pub fn consumer(&self, topics: impl IntoTopics) -> ConsumerBuilder {
        ConsumerBuilder::new(Arc::clone(&self.remote), topics.into_topics())
    }

    /// The administrator's calls.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(Arc::clone(&self.remote))
    }

    /// What the client has counted so far. Costs a short lock.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.remote.metrics()
    }

    /// Ends the client: delivers what its producers hold, lets its consumers leave their groups, closes all
    /// connections. Every other handle answers [`ClientError::Closed`] from then on. Dropping the future leaves
    /// that going on in the background.
    ///
    /// # Errors
    /// With the first record that could not be delivered.
    pub async fn close(self) -> Result<(), ClientError> {
        self.remote.close().await
    }

    pub(crate) async fn bootstrap(&self) -> Result<(), ClientError> {
        self.remote.bootstrap().await
    }
}
