//! The table of settings: the only place that knows their names, defaults, meanings and types.

use std::path::PathBuf;
use std::time::Duration;

use log_core::BrokerId;
use metadata_core::image::PARTITIONS_PER_TOPIC_MAX;
use metadata_core::record::{FEATURE_LEVEL_MAX, FEATURE_LEVEL_MIN};

use super::Config;
use super::value::{self, Invalid, LogFormat, Tcp};

/// One setting.
pub struct Setting {
    /// Its key in the file and, after two dashes, its flag.
    pub name: &'static str,
    /// What the flag's value is called in help.
    pub value: &'static str,
    /// The value when nothing is said; empty if there is none.
    pub default: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Why one would change it.
    pub why: &'static str,
    /// Reads the text into its field.
    pub(super) set: fn(&mut Config, &str) -> Result<(), Invalid>,
}

impl Setting {
    /// Its environment variable.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("HIGHWATER_{}", self.name.replace('-', "_").to_uppercase())
    }
}

macro_rules! settings {
    ($($name:literal $value:literal = $default:literal, $about:literal, $why:literal, |$config:ident, $text:ident| $set:expr;)*) => {
        /// All settings, in the order of the reference.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            name: $name,
            value: $value,
            default: $default,
            about: $about,
            why: $why,
            set: |$config, $text| { $set; Ok(()) },
        }),*];
    };
}

settings! {
    "data-dir" "DIR" = "highwater-data", "The log directory: everything that this broker keeps.",
        "To put it on the disk that you mean.", |c, t| c.data_dir = PathBuf::from(value::some_text(t)?);
    "node-id" "N" = "", "This broker's id, unique in the cluster, from 1. Taken from the log directory once that is formatted; 1 for the first node.",
        "Each further node needs its own.", |c, t| c.node_id = Some(BrokerId(value::number(t, 1, i64::from(i32::MAX))?));
    "rack" "NAME" = "", "The failure domain: replicas of a partition go to different racks where they can.",
        "Nodes that fail together should share one.", |c, t| c.rack = Some(value::some_text(t)?);
    "join" "HOST:PORT" = "", "The replica door of a broker whose cluster to join. Without it an empty directory forms a cluster of its own.",
        "For every node but the first.", |c, t| c.join = Some(t.parse::<Tcp>()?.to_string());
    "token" "TOKEN" = "", "The single-use token that `highwater cluster token` printed, for join.",
        "Needed once for each joining node.", |c, t| c.token = Some(value::some_text(t)?);
    "listen" "HOST:PORT" = "127.0.0.1:9092", "The Kafka door: plain TCP, TLS on the same port, QUIC and WebTransport on the same UDP port.",
        "To let other machines in: 0.0.0.0:9092 or [::]:9092.", |c, t| c.listen = t.parse()?;
    "replica-listen" "HOST:PORT" = "127.0.0.1:9093", "The replica door, UDP, for brokers only.",
        "To let brokers on other machines in.", |c, t| c.replica_listen = t.parse()?;
    "http-listen" "HOST:PORT" = "127.0.0.1:8092", "The HTTP port: health, metrics, and WebSockets at /ws; HTTPS on the same port where tls-cert is set.",
        "To let monitoring and pages on other machines in.", |c, t| c.http_listen = t.parse()?;
    "advertise" "HOST:PORT" = "", "What clients are told to connect to. Without it they are told the address that they came to.",
        "Behind a proxy or a port mapping.", |c, t| c.advertise = Some(t.parse()?);
    "replica-advertise" "HOST:PORT" = "", "What other brokers are told to connect to. Without it, the address listened on.",
        "Where the address listened on is 0.0.0.0 or mapped.", |c, t| c.replica_advertise = Some(t.parse()?);
    "http-advertise" "HOST:PORT" = "", "What people and pages are told to connect to. Without it, the address listened on.",
        "Where the address listened on is 0.0.0.0 or mapped.", |c, t| c.http_advertise = Some(t.parse()?);
    "allowed-origins" "ORIGINS" = "", "Origins of pages that may connect, separated by commas, beside pages of the same host and of this machine.",
        "For a page that another server serves, as in https://app.example.com.", |c, t| c.allowed_origins = value::origins(t)?;
    "shards" "N" = "0", "Threads that serve partitions and connections; 0 is one per core.",
        "To share a machine with others, or run several nodes on one.", |c, t| c.shards = value::number(t, 0, 256)?;
    "tls-cert" "FILE" = "", "Certificate chain (PEM) for clients and browsers, read again when the file changes. Without it, one of the cluster's own authority, and one that browsers know by its hash.",
        "In production, with a name that clients know.", |c, t| c.tls_cert = Some(PathBuf::from(value::some_text(t)?));
    "tls-key" "FILE" = "", "The key (PEM) of tls-cert.", "With tls-cert.", |c, t| c.tls_key = Some(PathBuf::from(value::some_text(t)?));
    "auto-create-topics" "BOOL" = "true", "Whether producing to, or asking for, a missing topic makes it, when the client allows it.",
        "Off in production: a typing error then does not make a topic.", |c, t| c.auto_create_topics = value::boolean(t)?;
    "default-partitions" "N" = "1", "Partitions of a topic that does not say.",
        "More partitions let more consumers share the work.", |c, t| c.default_partitions = value::number(t, 1, i64::from(PARTITIONS_PER_TOPIC_MAX))?;
    "default-replication-factor" "N" = "3", "Replicas of a topic that does not say; never more than there are brokers.",
        "5 survives more, and costs more.", |c, t| c.default_replication_factor = value::number(t, 1, 32)?;
    "default-min-insync-replicas" "N" = "2", "min.insync.replicas of a topic that does not say; counts at most the replication factor.",
        "Higher refuses writes sooner and loses less when disks are lost.", |c, t| c.default_min_insync_replicas = value::number(t, 1, 32)?;
    "default-retention" "DURATION" = "7d", "How long records stay in a topic that does not say; \"forever\" keeps them.",
        "What you may and can keep.", |c, t| c.default_retention = retention(t)?;
    "feature-level-max" "N" = "", "The greatest feature level that the cluster rises to while this node is in it; a greater one that it has is kept. Without it, the greatest that this version knows.",
        "After an upgrade, to keep the way back open for longer than ten minutes: 1 keeps the level as it is.", |c, t| c.feature_level_max = Some(feature_level(t)?);
    "disk-reserve" "SIZE" = "256MiB", "Free space that produces may not touch, so that deleting and truncating still work on a full disk. At most a quarter of the disk.",
        "Larger on disks that others fill too.", |c, t| c.disk_reserve_bytes = value::size(t)?;
    "request-bytes-max" "SIZE" = "100MiB", "The largest request.",
        "Rarely; max.message.bytes of a topic is what limits records.", |c, t| c.request_bytes_max = bytes(t)?;
    "connections-max" "N" = "10000", "Clients at once, at all doors; a further one is refused.",
        "With very many clients; each over TCP needs a file descriptor, and they get half of those that the system allows.", |c, t| c.connections_max = value::number(t, 1, 1_000_000)?;
    "connection-idle" "DURATION" = "10m", "A connection that is silent for this long is closed.",
        "To match a firewall that forgets connections sooner.", |c, t| c.connection_idle = idle(t)?;
    "shutdown-timeout" "DURATION" = "30s", "How long a graceful stop may take to hand leaderships over.",
        "To match the patience of a supervisor.", |c, t| c.shutdown_timeout = value::duration(t)?;
    "log" "FILTER" = "info", "What is logged: error, warn, info, debug or trace, also by module.",
        "To find out why something happens.", |c, t| c.log = value::some_text(t)?;
    "log-format" "FORMAT" = "text", "text for people, json for programs.",
        "Where a program collects logs.", |c, t| c.log_format = log_format(t)?;
}

/// With less no client could do anything.
fn idle(text: &str) -> Result<Duration, Invalid> {
    let idle = value::duration(text)?;
    if idle >= Duration::from_millis(100) { Ok(idle) } else { Err(Invalid::TooShort("100ms")) }
}

fn feature_level(text: &str) -> Result<u16, Invalid> {
    value::number(text, FEATURE_LEVEL_MIN.into(), FEATURE_LEVEL_MAX.into())
}

fn retention(text: &str) -> Result<Option<Duration>, Invalid> {
    match text {
        "forever" => Ok(None),
        text => value::duration(text).map(Some).map_err(|invalid| match invalid {
            Invalid::NotADuration => Invalid::NotARetention,
            other => other,
        }),
    }
}

fn bytes(text: &str) -> Result<u32, Invalid> {
    let size = value::size(text)?;
    i32::try_from(size)
        .ok()
        .filter(|size| *size >= 1024)
        .map(i32::unsigned_abs)
        .ok_or(Invalid::NotInRange { min: 1024, max: i64::from(i32::MAX) })
}

fn log_format(text: &str) -> Result<LogFormat, Invalid> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(Invalid::NotOneOf("text, json")),
    }
}

impl Config {
    /// Every field at its type's zero; the defaults are then set from the table.
    pub(super) fn blank() -> Self {
        let nowhere = || Tcp { host: String::new(), port: 0 };
        Self {
            data_dir: PathBuf::new(),
            node_id: None,
            rack: None,
            join: None,
            token: None,
            listen: nowhere(),
            replica_listen: nowhere(),
            http_listen: nowhere(),
            advertise: None,
            replica_advertise: None,
            http_advertise: None,
            allowed_origins: Vec::new(),
            shards: 0,
            tls_cert: None,
            tls_key: None,
            auto_create_topics: false,
            default_partitions: 0,
            default_replication_factor: 0,
            default_min_insync_replicas: 0,
            default_retention: None,
            feature_level_max: None,
            disk_reserve_bytes: 0,
            request_bytes_max: 0,
            connections_max: 0,
            connection_idle: Duration::ZERO,
            shutdown_timeout: Duration::ZERO,
            log: String::new(),
            log_format: LogFormat::Text,
        }
    }
}

/// The known key that differs least from `key`.
pub(super) fn nearest(key: &str) -> &'static str {
    let key = key.replace('_', "-");
    SETTINGS
        .iter()
        .map(|setting| setting.name)
        .min_by_key(|name| difference(name, &key))
        .expect("the table of settings is not empty")
}

/// The number of characters to insert, remove or replace to make one text of the other (Levenshtein).
fn difference(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (to, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = (*above + 1).min(left + 1).min(diagonal + usize::from(from != *to));
            diagonal = std::mem::replace(above, cost);
            left = cost;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The reference of all settings as a Markdown page.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         Each setting is a key of the TOML file given by `--config`, a flag of `highwater serve`, and an environment\n\
         variable. A flag wins over the environment, the environment over the file. Unknown keys are refused.\n\n\
         | setting | environment | default | what it is | why change it |\n|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let default =
            if setting.default.is_empty() { "none".to_owned() } else { format!("`{}`", setting.default) };
        let Setting { name, about, why, .. } = setting;
        page.push_str(&format!("| `{name}` | `{}` | {default} | {about} | {why} |\n", setting.variable()));
    }
    page
}
