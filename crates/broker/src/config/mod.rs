//! Configuration: one TOML file, flags and environment variables, all from one table of settings.
//!
//! A setting `data-dir` is `data-dir = "…"` in the file, `--data-dir …` as a flag and `HIGHWATER_DATA_DIR` in the
//! environment. A flag wins over the environment, the environment over the file, the file over the default.
//! An unknown key is refused with the nearest known one named.

mod error;
mod settings;
mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use log_core::BrokerId;

pub use error::{ConfigError, Origin};
pub use settings::{SETTINGS, Setting, reference};
pub use value::{Invalid, LogFormat, PageOrigin, Tcp};

/// Everything that a broker process is told; see [`SETTINGS`] for what each field means and its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The log directory.
    pub data_dir: PathBuf,
    /// This broker's id.
    pub node_id: Option<BrokerId>,
    /// The failure domain for placement.
    pub rack: Option<String>,
    /// A broker's replica door (`host:port`) to join a cluster through.
    pub join: Option<String>,
    /// The single-use token for `join`.
    pub token: Option<String>,
    /// The address of the Kafka door, TCP and UDP.
    pub listen: Tcp,
    /// The address of the replica door, UDP.
    pub replica_listen: Tcp,
    /// The address of the HTTP port.
    pub http_listen: Tcp,
    /// What clients are told to connect to.
    pub advertise: Option<Tcp>,
    /// What other brokers are told to connect to.
    pub replica_advertise: Option<Tcp>,
    /// What people and tabs are told to connect to.
    pub http_advertise: Option<Tcp>,
    /// Origins of pages that may connect beside those of the same host and of this machine.
    pub allowed_origins: Vec<PageOrigin>,
    /// Shard threads; 0 is one per core.
    pub shards: u16,
    /// Certificate chain of the user's own, PEM.
    pub tls_cert: Option<PathBuf>,
    /// Its key, PEM.
    pub tls_key: Option<PathBuf>,
    /// Whether a produce or metadata request makes a missing topic.
    pub auto_create_topics: bool,
    /// Partitions of a topic that does not say.
    pub default_partitions: i32,
    /// Replication factor of a topic that does not say.
    pub default_replication_factor: i16,
    /// `min.insync.replicas` of a topic that does not say.
    pub default_min_insync_replicas: i16,
    /// `retention.ms` of a topic that does not say.
    pub default_retention: Option<Duration>,
    /// The greatest feature level that the cluster may rise to while this broker is in it.
    pub feature_level_max: Option<u16>,
    /// Free space in bytes that produces may not touch.
    pub disk_reserve_bytes: u64,
    /// The largest request frame in bytes.
    pub request_bytes_max: u32,
    /// Client connections at once.
    pub connections_max: u32,
    /// A connection that is silent for this long is closed.
    pub connection_idle: Duration,
    /// How long a graceful stop may take.
    pub shutdown_timeout: Duration,
    /// What is logged, as `tracing` filters.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
}

impl Config {
    /// The defaults, the file, the environment and the flags, in this order.
    ///
    /// `environment` and `flags` give the text of a setting by its name, or none.
    ///
    /// # Errors
    /// An unreadable file, an unknown key, or a value that does not fit; each names where it stands.
    pub fn load(
        file: Option<&Path>,
        environment: impl Fn(&str) -> Option<String>,
        flags: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|cause| ConfigError::Unreadable { path: path.to_owned(), cause })?;
            config.read_toml(path, &text)?;
        }
        for setting in SETTINGS {
            let variable = setting.variable();
            if let Some(text) = environment(&variable) {
                config.set(setting, &text, Origin::Environment(variable))?;
            }
            if let Some(text) = flags(setting.name) {
                config.set(setting, &text, Origin::Flag(setting.name))?;
            }
        }
        config.check()?;
        Ok(config)
    }

    /// The defaults and `text`, as it would stand in the file `path`; nothing is read.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn from_text(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        config.read_toml(path, text)?;
        config.check()?;
        Ok(config)
    }

    fn read_toml(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|cause: toml::de::Error| {
            let before = cause.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let (line, column) = place(before);
            ConfigError::Syntax { path: path.to_owned(), line, column, cause: Box::new(cause) }
        })?;
        for (key, value) in &table {
            let setting =
                SETTINGS.iter().find(|setting| setting.name == key).ok_or_else(|| ConfigError::Unknown {
                    path: path.to_owned(),
                    key: key.clone(),
                    nearest: settings::nearest(key),
                })?;
            let origin = Origin::File { path: path.to_owned(), key: setting.name };
            let Some(text) = value::text(value) else {
                return Err(ConfigError::Invalid { origin, invalid: Invalid::NotAScalar });
            };
            self.set(setting, &text, origin)?;
        }
        Ok(())
    }

    fn set(&mut self, setting: &Setting, text: &str, origin: Origin) -> Result<(), ConfigError> {
        (setting.set)(self, text).map_err(|invalid| ConfigError::Invalid { origin, invalid })
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.join.is_some() != self.token.is_some() {
            return Err(ConfigError::Incomplete { given: self.join.as_ref().map_or("token", |_| "join") });
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(ConfigError::Incomplete {
                given: self.tls_cert.as_ref().map_or("tls-key", |_| "tls-cert"),
            });
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        let mut config = Self::blank();
        for setting in SETTINGS.iter().filter(|setting| !setting.default.is_empty()) {
            (setting.set)(&mut config, setting.default).expect("a unit test sets every default");
        }
        config
    }
}

/// The line and the column of what follows a text, both from 1.
fn place(before: &str) -> (usize, usize) {
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[cfg(test)]
mod tests;
