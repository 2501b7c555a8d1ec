//! Which pages may connect: those of the same host, those of this machine, and those that the user names.
//!
//! A browser sends a page's origin with each request to another place; a program that is no browser sends none and is not
//! asked, since it could claim any. The check defends the users of browsers: without it any page that they visit could use
//! the brokers that their machine reaches.

use std::net::IpAddr;

use crate::config::PageOrigin;

/// A page that may not connect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "pages of {origin} may not connect to {host}: the setting allowed-origins of the broker can allow it"
)]
pub(crate) struct OriginRefused {
    origin: String,
    host: String,
}

/// The pages that may connect.
#[derive(Debug)]
pub(crate) struct Origins {
    allowed: Vec<PageOrigin>,
}

/// What a browser says and where it came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    /// The page's origin; none from programs that are no browsers.
    pub(crate) origin: Option<&'a str>,
    /// The host that the page meant, with its port if any.
    pub(crate) host: &'a str,
    /// Our address that it came to.
    pub(crate) local: Option<IpAddr>,
}

impl Origins {
    pub(crate) const fn new(allowed: Vec<PageOrigin>) -> Self {
        Self { allowed }
    }

    /// # Errors
    /// A page that may not connect.
    pub(crate) fn check(&self, visit: Visit<'_>) -> Result<(), OriginRefused> {
        let Some(origin) = visit.origin else { return Ok(()) };
        let named = self.allowed.iter().any(|allowed| allowed.is(origin));
        if named || is_of_this_machine(origin) || is_same_host(origin, visit) {
            return Ok(());
        }
        Err(OriginRefused { origin: shortened(origin), host: shortened(visit.host) })
    }
}

fn is_of_this_machine(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, host)| is_loopback(name_of(host)))
}

/// The same name counts for nothing where the client came by loopback: a foreign page can let its own name mean this
/// machine (DNS rebinding), and would then be of the same host.
fn is_same_host(origin: &str, visit: Visit<'_>) -> bool {
    let host = name_of(visit.host);
    let by_loopback = visit.local.is_some_and(|local| local.to_canonical().is_loopback());
    let same = origin.split_once("://").is_some_and(|(_, from)| name_of(from).eq_ignore_ascii_case(host));
    same && !host.is_empty() && (!by_loopback || is_loopback(host))
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let by_name = name == "localhost" || name.ends_with(".localhost");
    by_name || name.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// A host without its port and without the brackets of IPv6.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// What goes into an answer and the log has a bound.
fn shortened(text: &str) -> String {
    /// Of a longer origin the beginning is told.
    const CHARACTERS_MAX: usize = 200;
    text.chars().take(CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origin: &str, host: &str, local: &str) -> Result<(), String> {
        let origins = Origins::new(vec!["https://App.example.com".parse().unwrap()]);
        let visit = Visit { origin: Some(origin), host, local: Some(local.parse().unwrap()) };
        origins.check(visit).map_err(|refused| refused.to_string())
    }

    #[test]
    fn the_same_host_this_machine_and_named_origins_are_let_in() {
        for (origin, host) in [
            ("http://logs.lan:3000", "logs.lan:8092"),
            ("https://[2001:db8::1]", "[2001:db8::1]:8092"),
            ("http://127.0.0.1:5173", "logs.lan:8092"),
            ("http://localhost", "10.0.0.7:8092"),
            ("http://[::1]:5173", "logs.lan:8092"),
            ("http://chat.localhost:1", "logs.lan:8092"),
            ("https://app.example.com", "logs.lan:8092"),
        ] {
            assert_eq!(check(origin, host, "10.0.0.7"), Ok(()), "{origin}");
        }
    }

    #[test]
    fn a_foreign_origin_is_refused_with_its_name_and_the_setting() {
        assert_eq!(
            check("https://evil.example", "logs.lan:8092", "10.0.0.7").unwrap_err(),
            "pages of https://evil.example may not connect to logs.lan:8092: \
             the setting allowed-origins of the broker can allow it"
        );
        for origin in ["null", "", "https://localhost.evil.example", "https://app.example.com:444"] {
            assert!(check(origin, "logs.lan:8092", "10.0.0.7").is_err(), "{origin}");
        }
    }

    #[test]
    fn a_foreign_name_that_means_this_machine_is_not_the_same_host() {
        assert!(check("http://evil.example:8092", "evil.example:8092", "127.0.0.1").is_err());
        assert_eq!(check("http://localhost:8092", "localhost:8092", "127.0.0.1"), Ok(()));
    }

    #[test]
    fn programs_that_are_no_browsers_are_not_asked() {
        let visit = Visit { origin: None, host: "", local: None };
        assert_eq!(Origins::new(Vec::new()).check(visit), Ok(()));
    }
}
