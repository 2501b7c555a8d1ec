//! Values as people write them: addresses, sizes, durations.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// `host:port`; the host may be a name or an address, IPv6 in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tcp {
    /// Name or address, without brackets.
    pub host: String,
    /// Port; 0 lets the system choose.
    pub port: u16,
}

impl fmt::Display for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Tcp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (host, port) = text.rsplit_once(':').ok_or(Invalid::NotAnAddress)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().map_err(|_| Invalid::NotAnAddress)?;
        match host.is_empty() || host.contains(char::is_whitespace) {
            true => Err(Invalid::NotAnAddress),
            false => Ok(Self { host: host.to_owned(), port }),
        }
    }
}

/// `scheme://host[:port]`, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOrigin(String);

impl PageOrigin {
    /// Whether a browser means this one.
    pub(crate) fn is(&self, origin: &str) -> bool {
        self.0.eq_ignore_ascii_case(origin)
    }
}

impl FromStr for PageOrigin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let host = text.split_once("://").map(|(_, host)| host).ok_or(Invalid::NotAnOrigin)?;
        let strange = |c: char| c.is_whitespace() || matches!(c, '/' | '*' | '?' | '#' | '@');
        match host.is_empty() || host.contains(strange) {
            true => Err(Invalid::NotAnOrigin),
            false => Ok(Self(text.to_ascii_lowercase())),
        }
    }
}

impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What does not fit about a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// A table, an array or a date.
    #[error("must be a text, a number or true/false")]
    NotAScalar,
    /// Neither true nor false.
    #[error("must be true or false")]
    NotABoolean,
    /// No whole number, or one outside its range.
    #[error("must be a whole number from {min} to {max}")]
    NotInRange {
        /// The least that fits.
        min: i64,
        /// The greatest that fits.
        max: i64,
    },
    /// Not `host:port`.
    #[error("must be an address, as in 127.0.0.1:9092")]
    NotAnAddress,
    /// Not a duration.
    #[error("must be a duration, as in 500ms, 30s, 10m, 12h or 7d")]
    NotADuration,
    /// Neither a duration nor for ever.
    #[error("must be forever, or a duration, as in 12h or 7d")]
    NotARetention,
    /// A duration in which nothing can be done.
    #[error("must be at least {0}")]
    TooShort(&'static str),
    /// Not a size.
    #[error("must be a size, as in 1048576, 512KiB, 64MiB or 1GiB")]
    NotASize,
    /// Not one of a few words.
    #[error("must be one of {0}")]
    NotOneOf(&'static str),
    /// Not an origin.
    #[error("must be origins separated by commas, as in https://app.example.com,http://localhost:5173")]
    NotAnOrigin,
    /// Nothing.
    #[error("must not be empty")]
    Empty,
}

/// A TOML scalar as the text that a flag would have.
pub(super) fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

pub(super) fn boolean(text: &str) -> Result<bool, Invalid> {
    text.parse().map_err(|_| Invalid::NotABoolean)
}

/// A whole number from `min` to `max`.
pub(super) fn number<T: TryFrom<i64>>(text: &str, min: i64, max: i64) -> Result<T, Invalid> {
    let refused = Invalid::NotInRange { min, max };
    let number: i64 = text.replace('_', "").parse().map_err(|_| refused.clone())?;
    match (min..=max).contains(&number) {
        true => T::try_from(number).map_err(|_| refused),
        false => Err(refused),
    }
}

/// Origins between commas.
pub(super) fn origins(text: &str) -> Result<Vec<PageOrigin>, Invalid> {
    text.split(',').map(|origin| origin.trim().parse()).collect()
}

pub(super) fn some_text(text: &str) -> Result<String, Invalid> {
    match text.is_empty() {
        true => Err(Invalid::Empty),
        false => Ok(text.to_owned()),
    }
}

/// Digits and a unit: `500ms`, `30s`, `10m`, `12h`, `7d`.
pub(super) fn duration(text: &str) -> Result<Duration, Invalid> {
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or(Invalid::NotADuration)?;
    let (digits, unit) = text.split_at(split);
    let count: u64 = digits.parse().map_err(|_| Invalid::NotADuration)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(Invalid::NotADuration),
    };
    count.checked_mul(unit_ms).map(Duration::from_millis).ok_or(Invalid::NotADuration)
}

/// Digits, with a binary unit if any.
pub(super) fn size(text: &str) -> Result<u64, Invalid> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let count: u64 = digits.parse().map_err(|_| Invalid::NotASize)?;
    let shift = match unit {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return Err(Invalid::NotASize),
    };
    count.checked_mul(1 << shift).ok_or(Invalid::NotASize)
}
