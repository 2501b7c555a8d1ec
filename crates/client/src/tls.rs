//! TLS over TCP, and the roots of trust that it shares with QUIC.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use client_core::Address;
use client_core::error::{CallerProblem, ClientError, Place};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::transport::{Carrier, tcp};

/// Dials `tls://` addresses.
#[derive(Clone)]
pub(crate) struct TlsDialler {
    connector: TlsConnector,
    server_name: Option<Arc<str>>,
}

impl TlsDialler {
    pub(crate) fn new(roots: &RootCertStore, server_name: Option<Arc<str>>) -> Result<Self, ClientError> {
        let config = client_config(roots)?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server_name })
    }

    pub(crate) async fn connect(self, address: Address) -> io::Result<Box<dyn Carrier>> {
        let wanted = name_of(self.server_name.as_deref().unwrap_or(&address.host))?;
        let stream = tcp(&address).await?;
        Ok(Box::new(self.connector.connect(wanted, stream).await?))
    }
}

/// The authorities that may vouch for brokers: those of the file or of the text, which must hold at least one.
pub(crate) async fn roots(file: Option<PathBuf>, pem: Option<Vec<u8>>) -> Result<RootCertStore, ClientError> {
    let (name, pem) = match (file, pem) {
        (_, Some(pem)) => ("ca_pem".into(), pem),
        (Some(path), None) => {
            let name: Arc<str> = path.display().to_string().into();
            let pem = read(path).await.map_err(|error| file_error(&name, &error.to_string()))?;
            (name, pem)
        }
        (None, None) => {
            let problem =
                CallerProblem::Option { option: "ca_file", must: "must be given for tls:// and quic://" };
            return Err(ClientError::caller(problem, Place::NOWHERE));
        }
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| file_error(&name, &error.to_string()))?;
        roots.add(certificate).map_err(|error| file_error(&name, &error.to_string()))?;
    }
    if roots.is_empty() { Err(file_error(&name, "there is no certificate in it")) } else { Ok(roots) }
}

/// A configuration that trusts `roots` only.
pub(crate) fn client_config(roots: &RootCertStore) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| file_error(&"tls".into(), &error.to_string()))?;
    Ok(builder.with_root_certificates(roots.clone()).with_no_client_auth())
}

/// The name that a certificate must carry.
pub(crate) fn name_of(host: &str) -> io::Result<ServerName<'static>> {
    let invalid =
        |_| io::Error::new(io::ErrorKind::InvalidInput, format!("{host} is no name for a certificate"));
    ServerName::try_from(host.to_owned()).map_err(invalid)
}

/// Reads a small file off the runtime's threads.
async fn read(path: PathBuf) -> io::Result<Vec<u8>> {
    tokio::task::spawn_blocking(move || std::fs::read(path)).await.map_err(io::Error::other)?
}

fn file_error(path: &Arc<str>, reason: &str) -> ClientError {
    let problem = CallerProblem::File { path: Arc::clone(path), reason: reason.into() };
    ClientError::caller(problem, Place::NOWHERE)
}
