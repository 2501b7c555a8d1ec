//! From a configuration to a running broker: the directory, the identity, the sockets, the threads.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use broker_core::control::ControlConfig;
use compression::CODECS;
use disk::{DirectoryError, DirectoryHandle, DirectoryLock, FileDisk, LOCK_FILE_NAME};
use log_core::{BrokerId, ClusterId, DirectoryId, Incarnation};
use log_store::directory::{DirectoryFormat, read_format, take_clean_mark, write_format};
use metadata_core::controller::FEATURE_LEVEL_CALM;
use metadata_core::record::{BrowserDoor, FEATURE_LEVEL_MAX};
use metadata_core::{Endpoint, Listener};
use replica::{BindError, ClusterCa, Identity, JoinToken, PeerEndpoint};

use crate::browser::Keeper;
use crate::clock::Clock;
use crate::config::{Config, Tcp};
use crate::doors::{ClientTls, QuicDoor, WEBTRANSPORT_PATH, bind_tcp};
use crate::error::BootError;
use crate::http::WEBSOCKET_PATH;
use crate::random;

/// The checksum of everything that a broker writes.
pub(crate) const CRC: log_core::Crc32c = crc32c::crc32c_append;

/// How long a node goes on asking to be let in: the broker that it asks may be starting too.
const JOIN_PATIENCE: Duration = Duration::from_secs(30);
/// A node that has no answer after this long says so: a person watches.
const JOIN_NOTICE: Duration = Duration::from_secs(2);

/// The pause between two tries of a node to join its cluster.
const JOIN_RETRY: Duration = Duration::from_millis(50);

/// What is in a directory before it is formatted: the lock, and what a join leaves if it is cut short.
const OWN_NAMES: [&str; 2] = [LOCK_FILE_NAME, "tls"];

/// A log directory that is this broker's.
pub(crate) struct Home {
    pub(crate) handle: DirectoryHandle,
    pub(crate) format: DirectoryFormat,
    pub(crate) identity: Identity,
    pub(crate) ca: Option<ClusterCa>,
    /// Whether the last stop was clean; the mark is taken away.
    pub(crate) clean: bool,
}

/// Opens or makes the log directory, once `hold` has its lock. A new one forms a cluster, or joins one if the configuration says so;
/// joining needs the addresses of the replica door to tell.
pub(crate) async fn open_home(
    config: &Config,
    replica: SocketAddr,
    hold: impl FnOnce(DirectoryLock),
) -> Result<Home, BootError> {
    let path = &config.data_dir;
    let what =
        format!("highwater serve, node {}", config.node_id.map_or("?".to_owned(), |id| id.to_string()));
    hold(DirectoryLock::acquire(path, &what)?);
    let handle = open_directory(path)?;
    let mut disk = quiet_disk(&handle);
    let refused = |refusal| BootError::Refused { path: path.clone(), refusal };
    let found = read_format(&mut disk, &OWN_NAMES, CRC).map_err(refused)?;
    let (format, identity) = match found {
        Some(format) => (format, known(config, &format)?),
        None => {
            let (format, identity) = match (&config.join, &config.token) {
                (Some(address), Some(token)) => join(config, replica, address, token).await?,
                _ => form(path, config.node_id.unwrap_or(BrokerId(1)))?,
            };
            write_format(&mut disk, &format, CRC, FileDisk::wait).map_err(|cause| at(path, cause))?;
            (format, identity)
        }
    };
    let clean = take_clean_mark(&mut disk, FileDisk::wait).map_err(|cause| at(path, cause))?;
    Ok(Home { handle, format, identity, ca: ClusterCa::load(path)?, clean })
}

#[cfg(not(feature = "unsynced-in-memory"))]
fn open_directory(path: &Path) -> Result<DirectoryHandle, DirectoryError> {
    DirectoryHandle::open(path)
}

/// In a build for tests the variable `HIGHWATER_TEST_DISK` may choose a disk on which killing the process acts like a power cut:
/// `unsynced`, or `lying`, whose syncs do nothing.
#[cfg(feature = "unsynced-in-memory")]
fn open_directory(path: &Path) -> Result<DirectoryHandle, DirectoryError> {
    /// As on a disk, so that a kill finds something on its way.
    const SYNC_TAKES: Duration = Duration::from_millis(2);
    let sync_lies = match std::env::var("HIGHWATER_TEST_DISK").as_deref() {
        Ok("unsynced") => false,
        Ok("lying") => true,
        _ => return DirectoryHandle::open(path),
    };
    tracing::warn!(sync_lies, "what is not synced is lost when this process is killed");
    DirectoryHandle::open_unsynced(path, disk::UnsyncedOptions { sync_lies, sync_takes: SYNC_TAKES })
}

/// A disk for calls that wait by themselves.
pub(crate) fn quiet_disk(handle: &DirectoryHandle) -> FileDisk {
    handle.disk(std::sync::Arc::new(|| {}))
}

pub(crate) fn at(path: &Path, cause: log_store::DiskError) -> BootError {
    BootError::Disk { path: path.to_owned(), cause }
}

fn known(config: &Config, format: &DirectoryFormat) -> Result<Identity, BootError> {
    let path = &config.data_dir;
    if let Some(wanted) = config.node_id.filter(|wanted| *wanted != format.broker) {
        let refusal = log_store::directory::DirectoryRefusal::OtherNode { found: format.broker, wanted };
        return Err(BootError::Refused { path: path.clone(), refusal });
    }
    let identity = Identity::load(path)?.ok_or_else(|| BootError::NoIdentity { path: path.clone() })?;
    // A node that has joined may be started again as it was the first time; one that was pointed elsewhere may not.
    let token = config.token.as_ref().and_then(|token| token.parse::<JoinToken>().ok());
    if token.is_some_and(|token| !token.trusts(&identity.ca)) {
        return Err(BootError::OtherCluster { path: path.clone() });
    }
    Ok(identity)
}

/// Makes cluster, authority and identity of a first node.
pub(crate) fn form(path: &Path, broker: BrokerId) -> Result<(DirectoryFormat, Identity), BootError> {
    let cluster_id = ClusterId(random::bytes());
    let ca = ClusterCa::create(cluster_id)?;
    ca.store(path)?;
    let identity = ca.issue(broker)?;
    identity.store(path)?;
    let format =
        DirectoryFormat { cluster_id, directory_id: DirectoryId(random::bytes()), broker, forms: true };
    Ok((format, identity))
}

async fn join(
    config: &Config,
    replica: SocketAddr,
    address: &str,
    token: &str,
) -> Result<(DirectoryFormat, Identity), BootError> {
    let failed = |cause| BootError::Join { address: address.to_owned(), cause: Box::new(cause) };
    let token: JoinToken = token.parse().map_err(failed)?;
    let Tcp { host, port } = address.parse().map_err(|_| failed(replica::JoinError::Token))?;
    let directory_id = DirectoryId(random::bytes());
    let replica = config.replica_advertise.clone().unwrap_or_else(|| told(replica));
    let give_up = tokio::time::Instant::now() + JOIN_PATIENCE;
    tracing::info!("asks the replica door at {address} to be let into its cluster");
    let mut said = String::new();
    let joined = loop {
        let addresses = vec![(replica.host.clone(), replica.port)];
        let mut asked = Box::pin(replica::join(&host, port, &token, directory_id, config.node_id, addresses));
        let answer = match tokio::time::timeout(JOIN_NOTICE, &mut asked).await {
            Ok(answer) => answer,
            Err(_) => {
                tell_once(
                    &mut said,
                    format!(
                        "no answer from {address} yet: nobody may listen there on UDP, or it is no replica door \
                         (9093 by default, not the Kafka or HTTP port); goes on trying for {} s",
                        JOIN_PATIENCE.as_secs()
                    ),
                );
                asked.await
            }
        };
        match answer {
            Ok(joined) => break joined,
            Err(e) if e.may_pass() && tokio::time::Instant::now() < give_up => {
                tell_once(&mut said, format!("not let in yet: {e}"));
                tokio::time::sleep(JOIN_RETRY).await;
            }
            Err(e) => return Err(failed(e)),
        }
    };
    joined.identity.store(&config.data_dir)?;
    let broker = joined.identity.broker;
    let format = DirectoryFormat { cluster_id: joined.cluster, directory_id, broker, forms: false };
    Ok((format, joined.identity))
}

/// Warns, unless that was the last thing said.
fn tell_once(said: &mut String, what: String) {
    if *said != what {
        tracing::warn!("{what}");
        *said = what;
    }
}

/// The sockets of a broker before anything is spoken on them.
pub(crate) struct Bound {
    kafka: std::net::TcpListener,
    quic: std::net::UdpSocket,
    replica: std::net::UdpSocket,
    http: std::net::TcpListener,
}

/// The doors of a broker.
pub(crate) struct Sockets {
    pub(crate) kafka: std::net::TcpListener,
    pub(crate) quic: QuicDoor,
    pub(crate) peers: PeerEndpoint,
    pub(crate) http: std::net::TcpListener,
    pub(crate) tls: ClientTls,
}

/// Where a broker can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The Kafka door: TCP and TLS.
    pub kafka: SocketAddr,
    /// The QUIC door.
    pub quic: SocketAddr,
    /// The replica door.
    pub replica: SocketAddr,
    /// The HTTP port.
    pub http: SocketAddr,
}

impl Bound {
    /// Binds every socket, before the directory is looked at: an address that is taken is told while nothing has been made or joined,
    /// and who calls early is answered late, not never.
    ///
    /// Errors: an address that cannot be found or bound.
    pub(crate) fn bind(config: &Config) -> Result<Self, BootError> {
        let listen = |address: &Tcp| bind_tcp(resolve(address)?).map_err(|cause| listening(address, cause));
        let address = resolve(&config.replica_listen)?;
        let replica = replica::bind_socket(address).map_err(|cause| BindError::Bind { address, cause })?;
        let kafka = listen(&config.listen)?;
        let bound = kafka.local_addr().map_err(BootError::Socket)?;
        let quic = replica::bind_socket(bound).map_err(|cause| listening(&config.listen, cause))?;
        Ok(Self { kafka, quic, replica, http: listen(&config.http_listen)? })
    }

    /// Where the replica door is bound.
    pub(crate) fn replica(&self) -> Result<SocketAddr, BootError> {
        self.replica.local_addr().map_err(BootError::Socket)
    }

    /// Makes doors of them.
    pub(crate) fn open(
        self,
        keeper: &Keeper,
        identity: &Identity,
    ) -> Result<(Sockets, Addresses), BootError> {
        let tls = ClientTls::new(&keeper.shown())?;
        let quic = QuicDoor::open(self.quic, &tls)?;
        let peers = PeerEndpoint::open(self.replica, identity)?;
        let addresses = Addresses {
            kafka: self.kafka.local_addr().map_err(BootError::Socket)?,
            quic: quic.local_addr().map_err(BootError::Socket)?,
            replica: peers.local_addr().map_err(BootError::Socket)?,
            http: self.http.local_addr().map_err(BootError::Socket)?,
        };
        Ok((Sockets { kafka: self.kafka, quic, peers, http: self.http, tls }, addresses))
    }
}

fn listening(address: &Tcp, cause: std::io::Error) -> BootError {
    BootError::Listen { address: address.to_string(), cause }
}

fn resolve(address: &Tcp) -> Result<SocketAddr, BootError> {
    let mut found =
        (address.host.as_str(), address.port).to_socket_addrs().map_err(|e| listening(address, e))?;
    found.next().ok_or_else(|| listening(address, std::io::ErrorKind::AddrNotAvailable.into()))
}

/// What others are told: what the user advertises, else the address bound; the machine's name where that is every address.
pub(crate) fn endpoints(config: &Config, bound: &Addresses) -> Vec<Endpoint> {
    let endpoint = |listener, advertised: &Option<Tcp>, bound: SocketAddr| {
        let Tcp { host, port } = advertised.clone().unwrap_or_else(|| told(bound));
        Endpoint { listener, host, port: if port == 0 { bound.port() } else { port } }
    };
    vec![
        endpoint(Listener::Kafka, &config.advertise, bound.kafka),
        endpoint(Listener::Quic, &config.advertise, bound.quic),
        endpoint(Listener::Http, &config.http_advertise, bound.http),
        endpoint(Listener::Replica, &config.replica_advertise, bound.replica),
    ]
}

/// How pages are told to reach this broker.
pub(crate) fn browser_door(keeper: &Keeper, endpoints: &[Endpoint]) -> BrowserDoor {
    let address = |listener| {
        let found = endpoints.iter().find(|endpoint| endpoint.listener == listener)?;
        Some(Tcp { host: found.host.clone(), port: found.port }.to_string())
    };
    let scheme = if keeper.is_of_the_user() { "wss" } else { "ws" };
    BrowserDoor {
        webtransport: address(Listener::Quic).map(|address| format!("https://{address}{WEBTRANSPORT_PATH}")),
        websocket: address(Listener::Http).map(|address| format!("{scheme}://{address}{WEBSOCKET_PATH}")),
        certificates: keeper.facts(),
    }
}

fn told(bound: SocketAddr) -> Tcp {
    let host = match bound.ip().is_unspecified() {
        true => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        false => bound.ip().to_string(),
    };
    Tcp { host, port: bound.port() }
}

/// What Control is told at the start.
pub(crate) fn control_config(
    config: &Config,
    format: &DirectoryFormat,
    clean: bool,
    endpoints: Vec<Endpoint>,
    clock: Clock,
) -> ControlConfig {
    let micros = u64::try_from(clock.now().wall.0).unwrap_or_default().saturating_mul(1_000);
    ControlConfig {
        broker: format.broker,
        directory: format.directory_id,
        cluster_id: format.cluster_id,
        forms: format.forms,
        incarnation: Incarnation(micros),
        clean,
        rack: config.rack.clone(),
        endpoints,
        shards: shards(config),
        feature_level_max: config.feature_level_max.unwrap_or(FEATURE_LEVEL_MAX),
        feature_level_calm: FEATURE_LEVEL_CALM,
        cluster_configs: cluster_configs(config),
        seed: random::bytes(),
        crc: CRC,
    }
}

/// How many shards the configuration asks for.
pub(crate) fn shards(config: &Config) -> u16 {
    match config.shards {
        0 => std::thread::available_parallelism()
            .map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(u16::MAX)),
        shards => shards,
    }
}

fn cluster_configs(config: &Config) -> Vec<(String, String)> {
    let retention =
        config.default_retention.map_or(-1, |keep| i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
    let configs = [
        ("num.partitions", config.default_partitions.to_string()),
        ("default.replication.factor", config.default_replication_factor.to_string()),
        ("min.insync.replicas", config.default_min_insync_replicas.to_string()),
        ("log.retention.ms", retention.to_string()),
        ("auto.create.topics.enable", config.auto_create_topics.to_string()),
    ];
    configs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The size of the disk that a directory is on; without bound if it cannot be told.
fn disk_bytes(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize))
}

/// What a shard is told at its making.
pub(crate) fn shard_config(
    config: &Config,
    broker: BrokerId,
    clean: bool,
    shard: u16,
    shards: u16,
) -> broker_core::ShardConfig {
    broker_core::ShardConfig {
        broker,
        shard: broker_core::ShardId(shard),
        shards,
        crc: CRC,
        codecs: CODECS,
        seed: u64::from_be_bytes(random::bytes()),
        limits: broker_core::Limits {
            request_bytes_max: usize::try_from(config.request_bytes_max).unwrap_or(usize::MAX),
            idle: config.connection_idle,
            ..broker_core::Limits::default()
        },
        groups: coordinator_core::GroupConfig::default(),
        replication: replica_core::Settings::default(),
        clean_start: clean,
        log_dir: config.data_dir.to_string_lossy().into(),
        reserve_bytes: config.disk_reserve_bytes.min(disk_bytes(&config.data_dir) / 4),
    }
}
