//! Why a configuration is refused: always with the place where the fault stands.

use std::fmt;
use std::path::PathBuf;

use super::value::Invalid;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The key in it.
        key: &'static str,
    },
    /// In this environment variable.
    Environment(String),
    /// By this flag, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, key } => write!(f, "{key} in {}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{} is not TOML: line {line}, column {column}: {}", path.display(), cause.message())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character in it, from 1.
        column: usize,
        /// What is wrong.
        cause: Box<toml::de::Error>,
    },
    /// A key that does not exist.
    #[error("{} has the unknown key {key}; the nearest known one is {nearest}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The key found.
        key: String,
        /// A known key with the least difference.
        nearest: &'static str,
    },
    /// A value that does not fit its setting.
    #[error("{origin} {invalid}")]
    Invalid {
        /// Where it stands.
        origin: Origin,
        /// What does not fit.
        invalid: Invalid,
    },
    /// A setting that needs another one.
    #[error("{given} is set without its other half: join needs token, tls-cert needs tls-key")]
    Incomplete {
        /// The one that is set.
        given: &'static str,
    },
}
