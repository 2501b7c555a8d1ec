//! TLS towards clients: one configuration a door; the certificates behind them change while the broker runs.

use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use rustls::ServerConfig;
use rustls::crypto::ring;

use super::webtransport::ALPN_HTTP3;
use crate::browser::Shown;
use crate::error::BootError;

/// The protocol of native clients over QUIC.
pub(crate) const ALPN_NATIVE: &[u8] = b"highwater/1";

/// TLS towards clients; cheap to clone.
#[derive(Clone)]
pub(crate) struct ClientTls {
    pub(crate) tcp: tokio_rustls::TlsAcceptor,
    pub(crate) quic: Arc<QuicServerConfig>,
    /// For HTTPS.
    pub(crate) http: tokio_rustls::TlsAcceptor,
}

impl ClientTls {
    /// The doors show what `shown` says.
    pub(crate) fn new(shown: &Arc<Shown>) -> Result<Self, BootError> {
        let acceptor = |alpn: &[&[u8]]| {
            Ok::<_, BootError>(tokio_rustls::TlsAcceptor::from(Arc::new(server(shown, alpn)?)))
        };
        let quic = QuicServerConfig::try_from(server(shown, &[ALPN_NATIVE, ALPN_HTTP3])?)
            .map_err(|e| rustls::Error::General(e.to_string()))?;
        Ok(Self { tcp: acceptor(&[])?, http: acceptor(&[b"http/1.1"])?, quic: Arc::new(quic) })
    }
}

fn server(shown: &Arc<Shown>, alpn: &[&[u8]]) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(shown.clone());
    config.alpn_protocols = alpn.iter().map(|alpn| alpn.to_vec()).collect();
    config.max_early_data_size = 0;
    Ok(config)
}
