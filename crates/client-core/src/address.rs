//! Where brokers are: `tcp://`, `tls://` and `quic://` addresses as users write them.

use core::fmt;
use std::sync::Arc;

use crate::error::AddressError;

/// What carries the Kafka frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// Plain TCP: `tcp://`, or no scheme at all.
    #[default]
    Tcp,
    /// TLS over TCP: `tls://`.
    Tls,
    /// QUIC with ALPN `highwater/1`, one bidirectional stream per connection: `quic://`.
    Quic,
    /// WebTransport over HTTP/3, one bidirectional stream per connection: `https://`. Only browsers reach brokers by it.
    WebTransport,
    /// WebSocket, plain or over TLS: `ws://`. Only browsers reach brokers by it.
    WebSocket,
}

/// One broker's door.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// What carries the frames.
    pub transport: Transport,
    /// A name or an IP address; IPv6 without its brackets.
    pub host: Arc<str>,
    /// The port, TCP or UDP by transport.
    pub port: u16,
}

/// Kafka's port, taken when an address names none.
pub const DEFAULT_PORT: u16 = 9092;

impl Transport {
    /// The scheme in front of `://`.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
            Self::WebTransport => "https",
            Self::WebSocket => "ws",
        }
    }
}

impl Address {
    /// Parses one address: `[scheme://]host[:port]`, IPv6 in brackets.
    ///
    /// # Errors
    /// When the scheme is unknown, the host is empty or the port is no number from 1 to 65535.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let (transport, rest) = match text.split_once("://") {
            None => (Transport::Tcp, text),
            Some(("tcp" | "kafka", rest)) => (Transport::Tcp, rest),
            Some(("tls", rest)) => (Transport::Tls, rest),
            Some(("quic", rest)) => (Transport::Quic, rest),
            Some((scheme, _)) => return Err(AddressError::Scheme(scheme.into())),
        };
        let (host, port) = split_port(rest.trim_end_matches('/'))?;
        if host.is_empty() {
            return Err(AddressError::NoHost);
        }
        Ok(Self { transport, host: host.into(), port })
    }

    /// Parses a comma-separated list of at least one address.
    ///
    /// # Errors
    /// When the list is empty, or with the first address that is wrong.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, AddressError> {
        let list: Vec<Self> = text
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(Self::parse)
            .collect::<Result<_, _>>()?;
        if list.is_empty() { Err(AddressError::NoHost) } else { Ok(list) }
    }
}

fn split_port(text: &str) -> Result<(&str, u16), AddressError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or(AddressError::NoHost)?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, parse_port(port)?)),
            None if after.is_empty() => Ok((host, DEFAULT_PORT)),
            None => Err(AddressError::Port(after.into())),
        };
    }
    match text.rsplit_once(':') {
        // More than one colon without brackets can only be a bare IPv6 address.
        Some((host, _)) if host.contains(':') => Ok((text, DEFAULT_PORT)),
        Some((host, port)) => Ok((host, parse_port(port)?)),
        None => Ok((text, DEFAULT_PORT)),
    }
}

fn parse_port(text: &str) -> Result<u16, AddressError> {
    match text.parse() {
        Ok(0) | Err(_) => Err(AddressError::Port(text.into())),
        Ok(port) => Ok(port),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transport, host, port } = self;
        match (transport, host.contains(':')) {
            (Transport::Tcp, false) => write!(f, "{host}:{port}"),
            (Transport::Tcp, true) => write!(f, "[{host}]:{port}"),
            (_, false) => write!(f, "{}://{host}:{port}", transport.scheme()),
            (_, true) => write!(f, "{}://[{host}]:{port}", transport.scheme()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_they_are_written() {
        for (text, printed) in [
            ("localhost", "localhost:9092"),
            ("node-1:9192", "node-1:9192"),
            ("tcp://10.0.0.1:1", "10.0.0.1:1"),
            ("tls://node:9093/", "tls://node:9093"),
            ("quic://[::1]:9092", "quic://[::1]:9092"),
            ("::1", "[::1]:9092"),
            ("[fe80::1]", "[fe80::1]:9092"),
        ] {
            assert_eq!(Address::parse(text).map(|a| a.to_string()).as_deref(), Ok(printed));
        }
    }

    #[test]
    fn a_browsers_addresses_print_but_are_not_what_a_native_client_takes() {
        for (transport, printed) in
            [(Transport::WebTransport, "https://[::1]:9092"), (Transport::WebSocket, "ws://[::1]:9092")]
        {
            let address = Address { transport, host: "::1".into(), port: 9092 };
            assert_eq!(address.to_string(), printed);
            assert!(Address::parse(printed).is_err());
        }
    }

    #[test]
    fn wrong_addresses_are_refused_with_the_part_that_is_wrong() {
        assert_eq!(Address::parse("http://x:1"), Err(AddressError::Scheme("http".into())));
        assert_eq!(Address::parse("x:0"), Err(AddressError::Port("0".into())));
        assert_eq!(Address::parse("x:99999"), Err(AddressError::Port("99999".into())));
        assert_eq!(Address::parse(":9092"), Err(AddressError::NoHost));
        assert_eq!(Address::parse("[::1"), Err(AddressError::NoHost));
        assert_eq!(Address::parse_list(" , "), Err(AddressError::NoHost));
        assert_eq!(Address::parse_list("a:1, b:2").map(|list| list.len()), Ok(2));
    }
}
