//! The cluster's certificate authority, and the certificate by which a broker proves its id.
//!
//! ```text
//! tls/ca.pem      the authority's certificate: on every broker, and what clients trust
//! tls/ca.key      its key: on the broker that formed the cluster; can be moved
//! tls/broker.pem  this broker's certificate        tls/broker.key  its key
//! ```
//! A broker's certificate has the name `broker-N.highwater.internal` (and `localhost`, so that clients on the same machine
//! can verify it); brokers call each other by that name, so another broker's certificate does not pass.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use log_core::{BrokerId, ClusterId};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::error::IdentityError;

const DOMAIN: &str = "highwater.internal";

/// Within the log directory.
const DIRECTORY: &str = "tls";

/// Certificates between brokers are not browsers' business: they last as long as the hardware.
const YEARS: i32 = 20;

/// The name by which a broker is called.
pub(crate) fn broker_name(broker: BrokerId) -> String {
    format!("broker-{broker}.{DOMAIN}")
}

/// The broker that a certificate name stands for; none for any other name.
pub(crate) fn broker_of_name(name: &str) -> Option<BrokerId> {
    let label = name.strip_suffix(DOMAIN)?.strip_suffix('.')?;
    label.strip_prefix("broker-")?.parse().ok().map(BrokerId)
}

/// The authority with its key. Whoever holds it decides who is a broker.
pub struct ClusterCa {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

/// What one broker proves itself with.
#[derive(Debug)]
pub struct Identity {
    /// The broker.
    pub broker: BrokerId,
    /// Its certificate.
    pub certificate: CertificateDer<'static>,
    /// The key of the certificate.
    pub key: PrivateKeyDer<'static>,
    /// The authority's certificate.
    pub ca: CertificateDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        let Self { broker, certificate, key, ca } = self;
        Self { broker: *broker, certificate: certificate.clone(), key: key.clone_key(), ca: ca.clone() }
    }
}

impl ClusterCa {
    /// Makes the authority of a new cluster.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn create(cluster: ClusterId) -> Result<Self, IdentityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = name(&format!("Highwater cluster {cluster}"));
        set_validity(&mut params);
        let certificate = params.self_signed(&key)?.der().clone();
        Self::from_parts(certificate, key)
    }

    /// Reads the authority from a log directory; none if its key is not there.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub fn load(data_dir: &Path) -> Result<Option<Self>, IdentityError> {
        let (key_path, certificate_path) = (path(data_dir, "ca.key"), path(data_dir, "ca.pem"));
        if !key_path.exists() {
            return Ok(None);
        }
        let certificate = read_certificate(&certificate_path)?;
        let pem = read(&key_path)?;
        let wanted = "authority's key (PEM)";
        let key = KeyPair::from_pem(&pem).map_err(|_| IdentityError::Content { path: key_path, wanted })?;
        Self::from_parts(certificate, key).map(Some)
    }

    fn from_parts(certificate: CertificateDer<'static>, key: KeyPair) -> Result<Self, IdentityError> {
        let key_der = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(Self { issuer: Issuer::from_ca_cert_der(&certificate, key)?, certificate, key: key_der })
    }

    /// Writes certificate and key into a log directory; durable when it returns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn store(&self, data_dir: &Path) -> Result<(), IdentityError> {
        write(data_dir, "ca.pem", &pem("CERTIFICATE", &self.certificate))?;
        write(data_dir, "ca.key", &pem("PRIVATE KEY", self.key.secret_pkcs8_der()))
    }

    /// The authority's certificate.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Signs a certificate for `broker` over the key of its request; nothing else of the request is taken over.
    ///
    /// # Errors
    /// A request that is damaged or not signed by its key.
    pub fn sign(&self, broker: BrokerId, request: &[u8]) -> Result<CertificateDer<'static>, IdentityError> {
        let mut request =
            CertificateSigningRequestParams::from_der(&CertificateSigningRequestDer::from(request))?;
        request.params = broker_params(broker)?;
        Ok(request.signed_by(&self.issuer)?.der().clone())
    }

    /// Makes a key and a certificate for `broker`.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn issue(&self, broker: BrokerId) -> Result<Identity, IdentityError> {
        let key = KeyPair::generate()?;
        let certificate = broker_params(broker)?.signed_by(&key, &self.issuer)?.der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Ok(Identity { broker, certificate, key, ca: self.certificate.clone() })
    }
}

impl Identity {
    /// Reads a broker's identity from its log directory; none if there is none.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub fn load(data_dir: &Path) -> Result<Option<Self>, IdentityError> {
        let (certificate_path, key_path) = (path(data_dir, "broker.pem"), path(data_dir, "broker.key"));
        if !certificate_path.exists() {
            return Ok(None);
        }
        let certificate = read_certificate(&certificate_path)?;
        let broker = crate::tls::broker_of(&certificate)
            .map_err(|_| IdentityError::Content { path: certificate_path, wanted: "broker's certificate" })?;
        let key = PrivateKeyDer::from_pem_slice(read(&key_path)?.as_bytes())
            .map_err(|_| IdentityError::Content { path: key_path, wanted: "private key (PEM)" })?;
        let ca = read_certificate(&path(data_dir, "ca.pem"))?;
        Ok(Some(Self { broker, certificate, key, ca }))
    }

    /// Writes the identity into a log directory; durable when it returns. The certificate comes last: where it is, the
    /// rest is.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn store(&self, data_dir: &Path) -> Result<(), IdentityError> {
        write(data_dir, "ca.pem", &pem("CERTIFICATE", &self.ca))?;
        write(data_dir, "broker.key", &pem("PRIVATE KEY", self.key.secret_der()))?;
        write(data_dir, "broker.pem", &pem("CERTIFICATE", &self.certificate))
    }

    /// The file with the authority's certificate, for clients to trust.
    #[must_use]
    pub fn ca_path(data_dir: &Path) -> PathBuf {
        path(data_dir, "ca.pem")
    }
}

fn broker_params(broker: BrokerId) -> Result<CertificateParams, IdentityError> {
    let mut params = CertificateParams::new(vec![broker_name(broker), "localhost".to_owned()])?;
    params.subject_alt_names.push(SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()));
    params.subject_alt_names.push(SanType::IpAddress(std::net::Ipv6Addr::LOCALHOST.into()));
    params.distinguished_name = name(&broker_name(broker));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    set_validity(&mut params);
    Ok(params)
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// From a day before today, so that a clock that is a little late does not refuse it.
fn set_validity(params: &mut CertificateParams) {
    let day = std::time::Duration::from_secs(86_400);
    let now = std::time::SystemTime::now();
    params.not_before = (now - day).into();
    params.not_after = (now + day * 365 * YEARS.unsigned_abs()).into();
}

fn path(data_dir: &Path, name: &str) -> PathBuf {
    data_dir.join(DIRECTORY).join(name)
}

fn read(path: &Path) -> Result<String, IdentityError> {
    fs::read_to_string(path).map_err(|cause| IdentityError::File { path: path.to_owned(), cause })
}

fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, IdentityError> {
    let pem = read(path)?;
    let wanted = "certificate (PEM)";
    CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| IdentityError::Content { path: path.to_owned(), wanted })
}

/// Base64 in lines of 64 characters between the markers of RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in der.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place) & 63) as usize;
            let known = place <= chunk.len();
            text.push(ALPHABET.get(digit).filter(|_| known).map_or('=', |c| char::from(*c)));
        }
    }
    let lines: Vec<&str> =
        (0..text.len()).step_by(64).filter_map(|at| text.get(at..text.len().min(at + 64))).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Replaces the file by one that is whole: written aside, synced, renamed, its directory synced.
fn write(data_dir: &Path, name: &str, content: &str) -> Result<(), IdentityError> {
    let path = path(data_dir, name);
    replace(&path, content).map_err(|cause| IdentityError::File { path, cause })
}

fn replace(path: &Path, content: &str) -> std::io::Result<()> {
    let dir = path.parent().expect("the path was joined from a directory and a name");
    fs::create_dir_all(dir)?;
    let aside = path.with_extension("new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    fs::File::open(dir)?.sync_all()?;
    dir.parent().map_or(Ok(()), |above| fs::File::open(above)?.sync_all())
}
