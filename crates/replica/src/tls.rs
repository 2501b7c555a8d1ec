//! TLS between brokers: TLS 1.3 only, AES-128 first, both sides prove themselves by the cluster's authority.

use std::sync::Arc;

use log_core::BrokerId;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::ca::{Identity, broker_of_name};
use crate::error::{CertificateError, IdentityError};
use crate::token::JoinToken;

/// The protocol of this port, by which a client that came to the wrong one is refused.
pub(crate) const ALPN: &[u8] = b"highwater-replica/1";

/// AES-128-GCM first: the cheapest here, and strong enough (AES-256 costs 10 % more, measured).
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![
        ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
        ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
        ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    Arc::new(provider)
}

fn roots(ca: &CertificateDer<'static>) -> Result<Arc<RootCertStore>, IdentityError> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone())?;
    Ok(Arc::new(roots))
}

/// A peer may come without a certificate, since a node that joins has none yet; what it may do then is up to
/// [`crate::PeerConnection::broker`] being none.
pub(crate) fn server(identity: &Identity) -> Result<QuicServerConfig, IdentityError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(&identity.ca)?, provider())
        .allow_unauthenticated()
        .build()
        .map_err(|e| rustls::Error::General(e.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![identity.certificate.clone(), identity.ca.clone()],
            identity.key.clone_key(),
        )?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.max_early_data_size = 0;
    quic(QuicServerConfig::try_from(config))
}

pub(crate) fn client(identity: &Identity) -> Result<QuicClientConfig, IdentityError> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots(&identity.ca)?)
        .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_early_data = false;
    quic(QuicClientConfig::try_from(config))
}

/// For a node that joins: it trusts the authority whose fingerprint its token holds, and any broker of it.
pub(crate) fn joining(token: &JoinToken) -> Result<QuicClientConfig, IdentityError> {
    let provider = provider();
    let verifier = ByToken { token: token.clone(), algorithms: provider.signature_verification_algorithms };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    quic(QuicClientConfig::try_from(config))
}

fn quic<T>(config: Result<T, quinn::crypto::rustls::NoInitialCipherSuite>) -> Result<T, IdentityError> {
    config.map_err(|e| rustls::Error::General(e.to_string()).into())
}

/// Accepts a chain whose authority has the token's fingerprint and has signed the certificate shown.
#[derive(Debug)]
struct ByToken {
    token: JoinToken,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for ByToken {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let ca = intermediates.iter().find(|ca| self.token.trusts(ca)).ok_or_else(|| {
            rustls::Error::General("the token was made by another cluster's authority".to_owned())
        })?;
        let broker = broker_of(end_entity).map_err(|e| rustls::Error::General(e.to_string()))?;
        let name = ServerName::try_from(crate::ca::broker_name(broker))
            .map_err(|e| rustls::Error::General(e.to_string()))?;
        let roots = roots(&ca.clone().into_owned()).map_err(|e| rustls::Error::General(e.to_string()))?;
        rustls::client::WebPkiServerVerifier::builder_with_provider(roots, provider())
            .build()
            .map_err(|e| rustls::Error::General(e.to_string()))?
            .verify_server_cert(end_entity, &[], &name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The broker that a certificate names.
pub(crate) fn broker_of(certificate: &CertificateDer<'_>) -> Result<BrokerId, CertificateError> {
    let names = names(certificate);
    names.iter().find_map(|name| broker_of_name(name)).ok_or_else(|| CertificateError::NoBroker {
        found: if names.is_empty() { "nothing".to_owned() } else { names.join(", ") },
    })
}

fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    let dns = extension.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    dns.collect()
}
