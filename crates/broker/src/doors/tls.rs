//! What clients see of this broker's certificate: the user's own, or one of the cluster's authority.

use std::path::Path;
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use replica::Identity;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::Config;
use crate::error::BootError;

/// The protocol of native clients over QUIC.
pub(crate) const ALPN_NATIVE: &[u8] = b"highwater/1";

/// TLS towards clients; cheap to clone.
#[derive(Clone)]
pub(crate) struct ClientTls {
    pub(crate) tcp: tokio_rustls::TlsAcceptor,
    pub(crate) quic: Arc<QuicServerConfig>,
}

impl ClientTls {
    /// Reads the user's certificate, or takes the broker's own.
    pub(crate) fn load(config: &Config, identity: &Identity) -> Result<Self, BootError> {
        let (chain, key) = match (&config.tls_cert, &config.tls_key) {
            (Some(certificate), Some(key)) => (read_chain(certificate)?, read_key(key)?),
            _ => (vec![identity.certificate.clone(), identity.ca.clone()], identity.key.clone_key()),
        };
        let quic = server(chain.clone(), key.clone_key(), ALPN_NATIVE)?;
        let quic = QuicServerConfig::try_from(quic).map_err(|e| rustls::Error::General(e.to_string()))?;
        let tcp = tokio_rustls::TlsAcceptor::from(Arc::new(server(chain, key, &[])?));
        Ok(Self { tcp, quic: Arc::new(quic) })
    }
}

fn server(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    alpn: &[u8],
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = [alpn].iter().filter(|alpn| !alpn.is_empty()).map(|alpn| alpn.to_vec()).collect();
    config.max_early_data_size = 0;
    Ok(config)
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, BootError> {
    let refused = || BootError::Pem { path: path.to_owned(), wanted: "certificate chain" };
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|_| refused())?;
    if chain.is_empty() { Err(refused()) } else { Ok(chain) }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, BootError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|_| BootError::Pem { path: path.to_owned(), wanted: "private key" })
}
