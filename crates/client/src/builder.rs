//! How a client is set up.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client_core::error::ClientError;
use client_core::{Address, ClientOptions, Transport};

use crate::client::Client;
use crate::driver;
use crate::quic::QuicDialler;
use crate::tls::{self, TlsDialler};
use crate::transport::{Connector, Network};

/// Settings of a client, made by [`Client::builder`].
#[must_use = "a builder does nothing before `connect`"]
pub struct ClientBuilder {
    addresses: String,
    options: ClientOptions,
    ca_file: Option<PathBuf>,
    ca_pem: Option<Vec<u8>>,
    server_name: Option<Arc<str>>,
    connector: Option<Arc<dyn Connector>>,
}

impl ClientBuilder {
    pub(crate) fn new(addresses: String) -> Self {
        let options = ClientOptions::default();
        Self { addresses, options, ca_file: None, ca_pem: None, server_name: None, connector: None }
    }

    /// What the client calls itself; brokers show it in logs. At most 32,767 bytes. Default `highwater`.
    pub fn client_id(mut self, client_id: impl Into<Arc<str>>) -> Self {
        self.options.client_id = client_id.into();
        self
    }

    /// The certificates (PEM) of the authorities that may vouch for brokers, for `tls://` and `quic://`. Without it
    /// nobody may. A Highwater cluster writes its own to `ca.pem`.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// Like [`ca_file`](Self::ca_file), with the content in hand.
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_pem = Some(pem.into());
        self
    }

    /// The name that every broker's certificate must carry, instead of the name (or address) it is reached by.
    pub fn server_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// How long a connection may take to be made and to agree on versions. Default 10 s.
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// How long the answer to a request may take before its connection is given up. Default 30 s.
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.options.request_timeout = timeout;
        self
    }

    /// How long calls of the admin, questions for offsets and [`connect`](Self::connect) are tried again before they
    /// fail. Default 60 s; `connect` takes at most 10 s of it.
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.options.call_timeout = timeout;
        self
    }

    /// How old metadata may become before it is asked for anew without any need. Default 5 min.
    pub const fn metadata_age_max(mut self, age: Duration) -> Self {
        self.options.metadata_age_max = age;
        self
    }

    /// How long a topic that brokers do not know is asked for before that counts as true. Default 5 s.
    pub const fn unknown_topic_wait(mut self, wait: Duration) -> Self {
        self.options.unknown_topic_wait = wait;
        self
    }

    /// Reaches brokers through `connector` instead of the network. It is given the addresses of the list and those
    /// that brokers announce.
    pub fn connector(mut self, connector: impl Connector + 'static) -> Self {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// Connects: done when one of the addresses has answered and named the cluster's brokers.
    ///
    /// Must be called inside of a tokio runtime, on which the client's task then runs. Dropping the future ends the attempt.
    ///
    /// # Errors
    /// When an address, the client's id or a certificate is wrong, or no address answers within 10 s (or the call timeout if that is
    /// shorter): the error names the last cause.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let options = self.options.checked()?;
        let addresses = Address::parse_list(&self.addresses)?;
        let connector = match self.connector {
            Some(connector) => connector,
            None => Arc::new(network(&addresses, self.ca_file, self.ca_pem, self.server_name).await?),
        };
        let client = Client::new(driver::spawn(options, addresses, connector));
        client.bootstrap().await?;
        Ok(client)
    }
}

async fn network(
    addresses: &[Address],
    ca_file: Option<PathBuf>,
    ca_pem: Option<Vec<u8>>,
    server_name: Option<Arc<str>>,
) -> Result<Network, ClientError> {
    let uses = |transport| addresses.iter().any(|address| address.transport == transport);
    if !uses(Transport::Tls) && !uses(Transport::Quic) {
        return Ok(Network::new(None, None));
    }
    let roots = tls::roots(ca_file, ca_pem).await?;
    let tls = uses(Transport::Tls).then(|| TlsDialler::new(&roots, server_name.clone())).transpose()?;
    let quic = uses(Transport::Quic).then(|| QuicDialler::new(&roots, server_name)).transpose()?;
    Ok(Network::new(tls, quic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_id_that_no_request_has_room_for_is_refused_before_anybody_is_asked() {
        let builder = Client::builder("127.0.0.1:1").client_id("x".repeat(32_768));
        let refused = builder.connect().await.map(drop).expect_err("too long");
        assert_eq!(refused.to_string(), "client_id must be at most 32,767 bytes");
    }
}
