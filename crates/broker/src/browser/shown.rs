//! The certificates that clients are shown, exchanged while the broker runs.
//!
//! Locks: TLS asks during handshakes, on every thread, and takes each lock for the copy of a pointer; no path of records does.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::doors::ALPN_HTTP3;

/// Names that were asked for in vain and are told of; more would only fill the log.
const TOLD_MAX: usize = 32;

/// A certificate with its key, and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    pub(crate) key: Arc<CertifiedKey>,
    /// What it is called in messages: its file.
    pub(crate) called: String,
    /// The names it is for; none if clients know it by other means.
    pub(crate) names: Vec<String>,
}

/// What native clients and browsers are shown.
#[derive(Debug)]
pub(crate) struct Shown {
    clients: RwLock<Proof>,
    browsers: RwLock<Proof>,
    told: Mutex<BTreeSet<String>>,
}

impl Shown {
    pub(crate) fn new(clients: Proof, browsers: Proof) -> Self {
        Self { clients: RwLock::new(clients), browsers: RwLock::new(browsers), told: Mutex::default() }
    }

    pub(crate) fn show_clients(&self, proof: Proof) {
        *self.clients.write().unwrap_or_else(PoisonError::into_inner) = proof;
    }

    pub(crate) fn show_browsers(&self, proof: Proof) {
        *self.browsers.write().unwrap_or_else(PoisonError::into_inner) = proof;
    }

    /// A client that asks for a name that the certificate is not for will go away: the log tells why.
    fn check_name(&self, proof: &Proof, wanted: Option<&str>) {
        let Some(wanted) = wanted.filter(|wanted| !proof.names.is_empty() && !is_for(&proof.names, wanted))
        else {
            return;
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && told.insert(wanted.to_owned()) {
            let (called, names) = (&proof.called, proof.names.join(", "));
            tracing::warn!("the certificate {called} is for {names}, but a client asks for {wanted}");
        }
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_browser = hello.alpn().is_some_and(|mut offered| offered.any(|alpn| alpn == ALPN_HTTP3));
        let shown = if is_browser { &self.browsers } else { &self.clients };
        let proof = shown.read().unwrap_or_else(PoisonError::into_inner);
        self.check_name(&proof, hello.server_name());
        Some(proof.key.clone())
    }
}

/// Whether a certificate with these names is for a host (RFC 6125: a star stands for one whole label at the front).
pub(crate) fn is_for(names: &[String], host: &str) -> bool {
    let matches = |name: &String| match name.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain)),
        None => name.eq_ignore_ascii_case(host),
    };
    names.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        let names = ["*.example.com".to_owned(), "Logs.lan".to_owned(), "10.0.0.1".to_owned()];
        for (host, expected) in [
            ("a.example.com", true),
            ("example.com", false),
            ("b.a.example.com", false),
            ("logs.lan", true),
            ("10.0.0.1", true),
            ("10.0.0.2", false),
        ] {
            assert_eq!(is_for(&names, host), expected, "{host}");
        }
    }
}
