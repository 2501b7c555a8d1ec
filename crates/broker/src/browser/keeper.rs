//! Keeps the certificates that clients are shown: renews the broker's own for browsers, reads the user's again when their
//! files change. Lives on Control's thread.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metadata_core::record::BrowserCertificate;
use replica::Identity;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::certificate::{Certificates, FILE};
use super::shown::{Proof, Shown, is_for};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::CertificateError;

/// How often the files of the user's certificate are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How often at least the clock is asked whether a certificate is due: clocks are set, machines sleep.
const RENEW_EVERY: Duration = Duration::from_secs(600);

/// See the module.
pub(crate) struct Keeper {
    shown: Arc<Shown>,
    source: Source,
    clock: Clock,
}

enum Source {
    /// The broker's own, for browsers; native clients see its certificate of the cluster's authority.
    Own { path: PathBuf, names: Vec<String>, certificates: RefCell<Certificates> },
    /// The user's, for all.
    User { files: UserFiles, wanted: Vec<String>, seen: Cell<Option<Stamps>> },
}

/// The files of the user's certificate.
struct UserFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// When both files were written last, and their sizes.
type Stamps = [(SystemTime, u64); 2];

impl Keeper {
    /// Reads the user's certificate, or takes the broker's own.
    ///
    /// # Errors
    /// Files that are not usable.
    pub(crate) fn open(config: &Config, identity: &Identity, clock: Clock) -> Result<Self, CertificateError> {
        match (&config.tls_cert, &config.tls_key) {
            (Some(certificate), Some(key)) => {
                let files = UserFiles { certificate: certificate.clone(), key: key.clone() };
                let advertised = [&config.advertise, &config.http_advertise].into_iter().flatten();
                let wanted = advertised.map(|address| address.host.clone()).collect();
                Self::of_the_user(files, wanted, clock)
            }
            _ => Self::of_its_own(config, identity, clock),
        }
    }

    fn of_the_user(files: UserFiles, wanted: Vec<String>, clock: Clock) -> Result<Self, CertificateError> {
        let seen = Cell::new(files.stamps());
        let proof = files.read()?;
        check_names(&proof, &wanted);
        let shown = Arc::new(Shown::new(proof.clone(), proof));
        Ok(Self { shown, source: Source::User { files, wanted, seen }, clock })
    }

    fn of_its_own(config: &Config, identity: &Identity, clock: Clock) -> Result<Self, CertificateError> {
        let path = config.data_dir.join(FILE);
        let names = own_names(config);
        let now = clock.now().wall;
        let (mut certificates, mut changed) = match Certificates::load(&path) {
            Some(found) => (found, false),
            None => (Certificates::make(&names, now)?, true),
        };
        changed |= certificates.renew(&names, now)?;
        if changed {
            certificates.store(&path)?;
        }
        let chain = vec![identity.certificate.clone(), identity.ca.clone()];
        let clients = proof(chain, identity.key.clone_key(), "of the cluster's authority", Vec::new())?;
        let shown = Arc::new(Shown::new(clients, own_proof(&certificates)?));
        let certificates = RefCell::new(certificates);
        Ok(Self { shown, source: Source::Own { path, names, certificates }, clock })
    }

    /// What the TLS of every door asks.
    pub(crate) fn shown(&self) -> Arc<Shown> {
        self.shown.clone()
    }

    /// Whether the user's own certificate serves: then HTTPS is served too, and pages need no hash.
    pub(crate) const fn is_of_the_user(&self) -> bool {
        matches!(self.source, Source::User { .. })
    }

    /// What pages are told: the present one and the next; nothing where the user's own serves.
    pub(crate) fn facts(&self) -> Vec<BrowserCertificate> {
        match &self.source {
            Source::Own { certificates, .. } => certificates.borrow().facts(),
            Source::User { .. } => Vec::new(),
        }
    }

    /// Shows the next certificate from now on.
    ///
    /// # Errors
    /// Where the user's own serves, or the operating system gives no randomness.
    pub(crate) fn rotate(&self) -> Result<(), CertificateError> {
        let Source::Own { path, names, certificates } = &self.source else {
            return Err(CertificateError::OfTheUser);
        };
        certificates.borrow_mut().rotate(names, self.clock.now().wall)?;
        self.show_own(path, &certificates.borrow())
    }

    /// Looks after them for ever; `changed` is called after each change of what pages are told.
    pub(crate) async fn keep(&self, changed: impl Fn()) {
        loop {
            match &self.source {
                Source::Own { path, names, certificates } => {
                    tokio::time::sleep(RENEW_EVERY).await;
                    match self.renew(path, names, certificates) {
                        Ok(true) => changed(),
                        Ok(false) => {}
                        Err(e) => tracing::error!("the certificate for browsers cannot be renewed: {e}"),
                    }
                }
                Source::User { files, wanted, seen } => {
                    tokio::time::sleep(LOOK_EVERY).await;
                    self.read_again(files, wanted, seen);
                }
            }
        }
    }

    fn renew(
        &self,
        path: &Path,
        names: &[String],
        certificates: &RefCell<Certificates>,
    ) -> Result<bool, CertificateError> {
        let renewed = certificates.borrow_mut().renew(names, self.clock.now().wall)?;
        if renewed {
            self.show_own(path, &certificates.borrow())?;
        }
        Ok(renewed)
    }

    /// A certificate that cannot be kept is shown all the same: the next start makes another one.
    fn show_own(&self, path: &Path, certificates: &Certificates) -> Result<(), CertificateError> {
        if let Err(e) = certificates.store(path) {
            tracing::warn!("the certificates for browsers will not survive a restart: {e}");
        }
        self.shown.show_browsers(own_proof(certificates)?);
        tracing::info!("browsers are shown the next certificate");
        Ok(())
    }

    /// Files that are half written are looked at again when they change again.
    fn read_again(&self, files: &UserFiles, wanted: &[String], seen: &Cell<Option<Stamps>>) {
        let stamps = files.stamps();
        if stamps.is_none() || stamps == seen.replace(stamps) {
            return;
        }
        match files.read() {
            Ok(proof) => {
                tracing::info!("{} has changed and is shown from now on", proof.called);
                check_names(&proof, wanted);
                self.shown.show_clients(proof.clone());
                self.shown.show_browsers(proof);
            }
            Err(e) => tracing::error!("the certificate shown stays as it was: {e}"),
        }
    }
}

impl UserFiles {
    fn stamps(&self) -> Option<Stamps> {
        let stamp = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        Some([stamp(&self.certificate)?, stamp(&self.key)?])
    }

    fn read(&self) -> Result<Proof, CertificateError> {
        let unread = |path: &Path, wanted| CertificateError::Pem { path: path.to_owned(), wanted };
        let chain =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| unread(&self.certificate, "certificate chain"))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|_| unread(&self.key, "private key"))?;
        let names = chain.first().map(names_of).unwrap_or_default();
        proof(chain, key, &self.certificate.display().to_string(), names)
    }
}

fn own_proof(certificates: &Certificates) -> Result<Proof, CertificateError> {
    let (certificate, key) = certificates.present();
    proof(vec![certificate], key, "for browsers", Vec::new())
}

fn proof(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    called: &str,
    names: Vec<String>,
) -> Result<Proof, CertificateError> {
    let key = CertifiedKey::from_der(chain, key, &default_provider())
        .map_err(|cause| CertificateError::Unusable { called: called.to_owned(), cause })?;
    Ok(Proof { key: Arc::new(key), called: called.to_owned(), names })
}

/// A certificate that is for other names than clients are told will be refused by them.
fn check_names(proof: &Proof, wanted: &[String]) {
    for host in wanted.iter().filter(|host| !is_for(&proof.names, host)) {
        let (called, names) = (&proof.called, proof.names.join(", "));
        tracing::error!("the certificate {called} is for {names}, but clients are told to connect to {host}");
    }
}

fn names_of(certificate: &CertificateDer<'static>) -> Vec<String> {
    use x509_parser::extensions::GeneralName;
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else { return Vec::new() };
    let Ok(Some(names)) = parsed.subject_alternative_name() else { return Vec::new() };
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match (<[u8; 4]>::try_from(*bytes), <[u8; 16]>::try_from(*bytes)) {
            (Ok(v4), _) => Some(std::net::Ipv4Addr::from(v4).to_string()),
            (_, Ok(v6)) => Some(std::net::Ipv6Addr::from(v6).to_string()),
            _ => None,
        },
        _ => None,
    };
    names.value.general_names.iter().filter_map(text).collect()
}

/// Browsers that know the hash do not look at names; people who look at the certificate do.
fn own_names(config: &Config) -> Vec<String> {
    let advertised =
        config.advertise.iter().chain(&config.http_advertise).map(|address| address.host.clone());
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    names.extend(advertised);
    names.dedup();
    names
}
