//! The certificates that WebTransport shows where the user has set none: self-signed, known to browsers by their hash.
//!
//! Browsers take a certificate by its hash only if its key is on the curve P-256 and it is valid for at most 14 days, so
//! there are always two:
//!
//! ```text
//! day     0           6           12 13
//! one     |--- next --|-- present --|-|
//! two                 |--- next ----|-- present ...
//! ```
//! Both are announced from the moment they are made. A page that has read both hashes can connect for six days at least,
//! whatever happens meanwhile, and the present one can be replaced at once by one that pages know already.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use log_core::Timestamp;
use metadata_core::record::BrowserCertificate;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::error::CertificateError;

/// Where they are kept, within the log directory.
pub(crate) const FILE: &str = "tls/browser.pem";

/// An hour in milliseconds.
const HOUR_MS: i64 = 3_600_000;
/// A day in milliseconds.
const DAY_MS: i64 = 24 * HOUR_MS;

/// How long a certificate is valid. Browsers allow 14 days.
const VALID_MS: i64 = 13 * DAY_MS;
/// How long before its making it begins, for browsers whose clock is late.
const EARLY_MS: i64 = HOUR_MS;
/// How long it is announced before it is shown.
const NEXT_MS: i64 = 6 * DAY_MS;
/// How long before its end it is shown no more.
const LATE_MS: i64 = DAY_MS;

/// The certificate that is shown, and the one that follows it.
#[derive(Debug)]
pub(crate) struct Certificates {
    present: Issued,
    next: Issued,
}

/// A certificate with its key.
#[derive(Debug)]
struct Issued {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    facts: BrowserCertificate,
}

impl Certificates {
    /// Makes both anew.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub(crate) fn make(names: &[String], now: Timestamp) -> Result<Self, CertificateError> {
        Ok(Self { present: Issued::make(names, now)?, next: Issued::make(names, now)? })
    }

    /// Reads those that an earlier process has made; none if there are none, or what is there is not usable.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        let pem = fs::read(path).ok()?;
        let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let keys = PrivatePkcs8KeyDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let mut issued = match (certificates, keys) {
            (Ok(certificates), Ok(keys)) => certificates
                .into_iter()
                .zip(keys)
                .filter_map(|(certificate, key)| Issued::read(certificate, key)),
            _ => {
                tracing::warn!("{} cannot be read; certificates for browsers are made anew", path.display());
                return None;
            }
        };
        Some(Self { present: issued.next()?, next: issued.next()? })
    }

    /// Writes both; durable when it returns. A reader sees the old or the new ones.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn store(&self, path: &Path) -> Result<(), CertificateError> {
        let failed = |cause| CertificateError::File { path: path.to_owned(), cause };
        let unfinished = path.with_extension("new");
        let write = || {
            let mut file =
                fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            file.write_all((self.present.pem() + &self.next.pem()).as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, path)?;
            path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
        };
        write().map_err(failed)
    }

    /// Replaces what is due; whether anything was.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub(crate) fn renew(&mut self, names: &[String], now: Timestamp) -> Result<bool, CertificateError> {
        if self.present.facts.not_before > now || self.next.facts.not_before > now {
            // The clock was set back: nobody would take them.
            *self = Self::make(names, now)?;
            return Ok(true);
        }
        let mut renewed = false;
        while now >= self.due() {
            self.rotate(names, now)?;
            renewed = true;
        }
        Ok(renewed)
    }

    /// Shows the next one from now on and makes another one to follow.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub(crate) fn rotate(&mut self, names: &[String], now: Timestamp) -> Result<(), CertificateError> {
        let following = Issued::make(names, now)?;
        self.present = std::mem::replace(&mut self.next, following);
        Ok(())
    }

    /// When the next one takes over.
    pub(crate) fn due(&self) -> Timestamp {
        let announced_long_enough = self.next.facts.not_before.0 + EARLY_MS + NEXT_MS;
        Timestamp(announced_long_enough.min(self.present.facts.not_after.0 - LATE_MS))
    }

    /// What pages are told: the present one, then the next.
    pub(crate) fn facts(&self) -> Vec<BrowserCertificate> {
        vec![self.present.facts, self.next.facts]
    }

    /// The one that is shown, with its key.
    pub(crate) fn present(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        (self.present.certificate.clone(), self.present.key.clone_key().into())
    }
}

impl Issued {
    fn make(names: &[String], now: Timestamp) -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "Highwater for browsers");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = time(now.0 - EARLY_MS).into();
        params.not_after = time(now.0 + VALID_MS).into();
        let certificate = params.self_signed(&key)?.der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self::read(certificate, key).ok_or(CertificateError::Made)
    }

    fn read(certificate: CertificateDer<'static>, key: PrivatePkcs8KeyDer<'static>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).ok()?;
        let ms = |time: x509_parser::time::ASN1Time| Timestamp(time.timestamp().saturating_mul(1_000));
        let (not_before, not_after) = (ms(parsed.validity().not_before), ms(parsed.validity().not_after));
        let hash = ring::digest::digest(&ring::digest::SHA256, &certificate);
        let sha256 = hash.as_ref().try_into().ok()?;
        Some(Self { certificate, key, facts: BrowserCertificate { sha256, not_before, not_after } })
    }

    fn pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate) + &pem("PRIVATE KEY", self.key.secret_pkcs8_der())
    }
}

fn time(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms.max(0).unsigned_abs())
}

/// Base64 in lines of 64 characters between the markers of RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n");
    format!("-----BEGIN {label}-----\n{}-----END {label}-----\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn after(days: i64) -> Timestamp {
        Timestamp(NOW.0 + days * DAY_MS)
    }

    fn made() -> Certificates {
        Certificates::make(&["localhost".to_owned()], NOW).unwrap()
    }

    fn hashes(certificates: &Certificates) -> [[u8; 32]; 2] {
        [certificates.present.facts.sha256, certificates.next.facts.sha256]
    }

    #[test]
    fn a_certificate_is_what_browsers_take_by_its_hash() {
        let certificates = made();
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificates.present.certificate).unwrap();
        let validity = parsed.validity();
        let days = validity.not_after.timestamp() - validity.not_before.timestamp();
        assert!(days < 14 * 86_400, "{days}");
        let curve = parsed.public_key().algorithm.parameters.as_ref().unwrap().as_oid().unwrap();
        assert_eq!(curve.to_id_string(), "1.2.840.10045.3.1.7");
        assert_ne!(hashes(&certificates)[0], hashes(&certificates)[1]);
    }

    #[test]
    fn the_next_one_is_announced_for_days_before_it_takes_over_and_none_is_shown_to_its_end() {
        let mut certificates = made();
        for days in 1..200 {
            let [_, next] = hashes(&certificates);
            let long_enough = after(days).0 - certificates.next.facts.not_before.0 >= NEXT_MS;
            let renewed = certificates.renew(&[], after(days)).unwrap();
            assert_eq!(renewed, long_enough, "day {days}");
            assert!(!renewed || hashes(&certificates)[0] == next, "day {days}");
            assert!(certificates.present.facts.not_after >= after(days + 1), "day {days}");
            assert!(certificates.next.facts.not_after >= after(days + 6), "day {days}");
        }
    }

    #[test]
    fn after_a_long_stop_or_with_a_clock_set_back_both_are_fresh() {
        for days in [100, -100] {
            let mut certificates = made();
            assert!(certificates.renew(&[], after(days)).unwrap());
            for facts in certificates.facts() {
                assert!(facts.not_before <= after(days) && facts.not_after >= after(days + 12));
            }
        }
    }

    #[test]
    fn a_restart_keeps_them_and_a_damaged_file_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("browser.pem");
        assert!(Certificates::load(&path).is_none());
        let certificates = made();
        certificates.store(&path).unwrap();
        let loaded = Certificates::load(&path).unwrap();
        assert_eq!(loaded.facts(), certificates.facts());
        assert_eq!(loaded.present(), certificates.present());
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() / 3]).unwrap();
        assert!(Certificates::load(&path).is_none());
        fs::write(&path, text.replace('A', "!")).unwrap();
        assert!(Certificates::load(&path).is_none());
    }
}
