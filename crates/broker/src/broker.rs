//! A running broker: its threads, from their start to the clean mark.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use broker_core::ExitCode;
use broker_core::ShardId;
use broker_core::control::{Control, Recovered};
use disk::{FileDisk, Waker};
use log_core::BrokerId;
use log_store::directory::{set_unknown_topics_aside, write_clean_mark};
use metadata_core::record::BrowserDoor;
use quorum::{ENTRIES_KEPT_BEHIND_SNAPSHOT, RaftQuorum, Start};
use replica::{PeerEndpoint, Pool, Target};
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::runtime::LocalRuntime;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::spawn_local;

use crate::boot::{self, Addresses, Bound, Home, Sockets};
use crate::browser::{Keeper, Origins, Rules};
use crate::clock::Clock;
use crate::config::Config;
use crate::control_host::ControlHost;
use crate::doors::accept_clients;
use crate::error::BootError;
use crate::hold::Hold;
use crate::http::{self, Site, WebSocket};
use crate::joining::{self, Gate};
use crate::links::{ControlSender, Links, ShardSender, Standing, ToControl, ToShard, Turns};
use crate::peers::{ControlPeers, RaftCaller, accept, keep_voters_in_reach, raft_calls};
use crate::seats::Seats;
use crate::shard_loads::ShardLoads;
use crate::shard_thread::{self, ShardStart, ShardThreads};
use crate::status::Status;

pub(crate) mod memory;

/// Where the quorum keeps its log.
const RAFT_DIR: &str = "raft";

/// How long peers may take to confirm that their connections are closed (a guess: some round trips of a slow link).
const FAREWELL: Duration = Duration::from_secs(5);

/// Bytes that an in-process client's pipe holds each way.
const PIPE_BYTES: usize = 256 << 10;

/// A running broker. Dropping it asks it to stop and does not wait.
pub struct Broker {
    addresses: Option<Addresses>,
    control: ControlSender,
    standing: watch::Receiver<Standing>,
    clients: Clients,
    thread: Option<JoinHandle<ExitCode>>,
}

/// Lets clients of the same process in.
#[derive(Clone)]
struct Clients {
    connect: Arc<dyn Fn(DuplexStream) + Send + Sync>,
}

impl Broker {
    /// Starts a broker on a log directory; returns once it listens. It serves clients when [`Broker::ready`] says so.
    ///
    /// # Errors
    /// A directory, an address or a certificate that cannot be used, or a cluster that does not let the node in. Nothing
    /// was changed, except that an empty directory may have been formatted.
    pub fn start(config: Config) -> Result<Self, BootError> {
        let (control, inbox) = mpsc::unbounded_channel();
        let (standing, shown) = watch::channel(Standing::default());
        let (started, waiting) = std_mpsc::channel();
        let own = control.clone();
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || serve(config, own, inbox, standing, started))
            .map_err(BootError::Thread)?;
        let (addresses, clients) = waiting.recv().unwrap_or(Err(BootError::Ended))?;
        Ok(Self { addresses: Some(addresses), control, standing: shown, clients, thread: Some(thread) })
    }

    /// Starts a broker that keeps everything in memory and listens nowhere: for tests and for embedding. Clients come in by
    /// [`Broker::connect`].
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn in_memory() -> Result<Self, BootError> {
        let (control, inbox) = mpsc::unbounded_channel();
        let (standing, shown) = watch::channel(Standing::default());
        let (started, waiting) = std_mpsc::channel();
        let own = control.clone();
        let thread = thread::Builder::new()
            .name("broker in memory".to_owned())
            .spawn(move || memory::serve(own, inbox, standing, started))
            .map_err(BootError::Thread)?;
        let clients = waiting.recv().unwrap_or(Err(BootError::Ended))?;
        Ok(Self { addresses: None, control, standing: shown, clients, thread: Some(thread) })
    }

    /// Where it listens; nowhere if it is in memory.
    #[must_use]
    pub fn addresses(&self) -> Option<&Addresses> {
        self.addresses.as_ref()
    }

    /// Connects a client of the same process: the other end speaks the Kafka protocol.
    #[must_use]
    pub fn connect(&self) -> DuplexStream {
        self.connector()()
    }

    /// A way to let further clients of the same process in, that can be handed to another thread.
    pub fn connector(&self) -> impl Fn() -> DuplexStream + Clone + Send + Sync + 'static {
        let clients = self.clients.clone();
        move || {
            let (client, broker) = tokio::io::duplex(PIPE_BYTES);
            (clients.connect)(broker);
            client
        }
    }

    /// Waits until clients are served; the exit code if the broker ends before.
    ///
    /// # Errors
    /// The broker ended.
    pub async fn ready(&self) -> Result<(), ExitCode> {
        let mut standing = self.standing.clone();
        let decided =
            standing.wait_for(|standing| standing.status.is_ready() || standing.ended.is_some()).await;
        match decided.map(|standing| standing.ended) {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(code),
            Err(_) => Err(ExitCode::Clean),
        }
    }

    /// How it stands, and every change of that.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Asks it to stop: leaderships are handed over, logs are closed.
    pub fn stop(&self) {
        // A broker that has ended need not be asked.
        let _ = self.control.send(ToControl::Stop);
    }

    /// Waits until it has ended: none of its threads is left, and its directory is free.
    #[must_use]
    pub fn wait(mut self) -> ExitCode {
        let thread =
            self.thread.take().expect("only this method takes the thread, and it takes the broker too");
        thread.join().unwrap_or(ExitCode::DirectoryPoisoned)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}

type Started<T> = std_mpsc::Sender<Result<T, BootError>>;

fn runtime() -> Result<LocalRuntime, BootError> {
    let runtime = shard_thread::runtime().map_err(BootError::Thread)?;
    timer_grid::adopt(Instant::now());
    Ok(runtime)
}

/// Control's thread of a broker on disk. Whatever keeps it from starting is told to whoever waits.
fn serve(
    config: Config,
    control: ControlSender,
    inbox: mpsc::UnboundedReceiver<ToControl>,
    standing: watch::Sender<Standing>,
    started: Started<(Addresses, Clients)>,
) -> ExitCode {
    let hold = Hold::default();
    let held = hold.clone();
    let ended = runtime().and_then(|runtime| {
        let started = started.clone();
        shard_thread::block_on(&runtime, async move {
            let running = Running::start(&config, control, standing, &started, held).await?;
            Ok(running.run(inbox).await)
        })
    });
    // Its tasks, the quorum's too, went with the runtime: nothing of this broker writes any more.
    drop(hold);
    ended.unwrap_or_else(|error| {
        // Whoever started the broker and went away need not be told.
        let _ = started.send(Err(error));
        ExitCode::ForeignDirectory
    })
}

/// A broker on disk, on Control's thread.
struct Running {
    host: Rc<ControlHost<FileDisk, RaftQuorum>>,
    home: Home,
    shards: ShardThreads,
    peers: PeerEndpoint,
}

impl Running {
    async fn start(
        config: &Config,
        control: ControlSender,
        standing: watch::Sender<Standing>,
        started: &Started<(Addresses, Clients)>,
        hold: Hold,
    ) -> Result<Self, BootError> {
        let clock = Clock::start();
        let bound = Bound::bind(config)?;
        let mut home = boot::open_home(config, bound.replica()?, |lock| hold.keep(lock)).await?;
        let keeper = Rc::new(Keeper::open(config, &home.identity, clock)?);
        let (sockets, addresses) = bound.open(&keeper, &home.identity)?;
        let endpoints = boot::endpoints(config, &addresses);
        let door = boot::browser_door(&keeper, &endpoints);
        let control_config = boot::control_config(config, &home.format, home.clean, endpoints, clock);
        let (wake, disk_wake) = waker();
        let recovered = Recovered::open(&control_config, home.handle.disk(wake))?;
        let quorum_wake = Arc::new(Notify::new());
        let (quorum, caller) = start_quorum(&home, &recovered, quorum_wake.clone()).await?;
        let service = quorum.service();
        let control_value = Control::start(clock.now(), control_config, recovered, quorum);

        let count = boot::shards(config);
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::unbounded_channel()).unzip();
        let rules = Arc::new(Rules {
            origins: Origins::new(config.allowed_origins.clone()),
            idle: config.connection_idle,
        });
        let seats = Seats::new(config.connections_max);
        let loads = ShardLoads::new(count);
        let mut shards = ShardThreads::new(hold);
        for (number, inbox) in (0..count).zip(receivers) {
            let (wake, disk_wake) = waker();
            let links = Links {
                shard: ShardId(number),
                control: control.clone(),
                shards: senders.clone(),
                loads: loads.clone(),
            };
            let start = ShardStart {
                config: boot::shard_config(config, home.format.broker, home.clean, number, count),
                disk: home.handle.disk(wake),
                disk_wake,
                links,
                inbox,
                peers: Some(sockets.peers.clone()),
                doors: Some((sockets.tls.clone(), rules.clone(), seats.clone())),
                clock,
            };
            shards.spawn(start).map_err(BootError::Thread)?;
        }
        let pool = Pool::new(sockets.peers.clone());
        let peers = ControlPeers::new(Some(pool.clone()), Some(service), Gate::new(home.ca.take()));
        let shown = standing.subscribe();
        let host = ControlHost::new(control_value, senders.clone(), peers, clock, standing);
        let clients = clients(senders.clone());
        let running = Self { host: host.clone(), home, shards, peers: sockets.peers.clone() };
        // One pool for both: the quorum's messages and the heartbeats take the same connection.
        spawn_local(caller.run(host.clone(), pool.clone()));
        spawn_local(keep_voters_in_reach(host, pool));
        let browsers = Browsers { rules, seats, keeper, door };
        running.spawn_doors(sockets, senders.clone(), shown.clone(), clock, browsers)?;
        running.spawn_tasks(senders, shown, clock, [disk_wake, quorum_wake]);
        // Whoever started the broker and went away has dropped it: it is asked to stop.
        let _ = started.send(Ok((addresses, clients)));
        Ok(running)
    }

    fn spawn_tasks(
        &self,
        shards: Vec<ShardSender<disk::File>>,
        shown: watch::Receiver<Standing>,
        clock: Clock,
        [disk_wake, quorum_wake]: [Arc<Notify>; 2],
    ) {
        let host = &self.host;
        let watched = host.clone();
        spawn_local(on_wake(disk_wake, move || watched.with(|control, now| control.handle_disk(now))));
        let watched = host.clone();
        spawn_local(on_wake(quorum_wake, move || watched.with(|control, now| control.handle_quorum(now))));
        spawn_local(accept_peers(host.clone(), self.peers.clone(), shards));
        spawn_local(set_aside(
            host.clone(),
            self.home.handle.path().to_owned(),
            boot::quiet_disk(&self.home.handle),
        ));
        spawn_local(joining::announce_first_tokens(
            host.clone(),
            self.home.handle.path().to_owned(),
            self.home.identity.ca.clone(),
            shown,
            clock,
        ));
    }

    fn spawn_doors(
        &self,
        sockets: Sockets,
        shards: Vec<ShardSender<disk::File>>,
        shown: watch::Receiver<Standing>,
        clock: Clock,
        browsers: Browsers,
    ) -> Result<(), BootError> {
        let host = &self.host;
        let Browsers { rules, seats, keeper, door } = browsers;
        let tls = keeper.is_of_the_user().then(|| sockets.tls.http.clone());
        let http = TcpListener::from_std(sockets.http).map_err(BootError::Socket)?;
        let peers = self.peers.clone();
        let status = status(self.home.format.broker, host, peers, shards.clone(), shown.clone(), clock);
        let announce = announcer(host.clone(), keeper.clone(), door);
        let (rotated, announced) = (keeper.clone(), announce.clone());
        let rotate = Box::new(move || rotated.rotate().map(|()| announced()));
        let site = Site { status, rules, seats, tls, rotate, let_in: let_in(shards.clone()) };
        spawn_local(http::serve(http, Rc::new(site)));
        announce();
        spawn_local(async move { keeper.keep(announce).await });
        let kafka = TcpListener::from_std(sockets.kafka).map_err(BootError::Socket)?;
        let mut ready = shown;
        spawn_local(async move {
            if ready.wait_for(|standing| standing.status.is_ready()).await.is_ok() {
                spawn_local(sockets.quic.accept_clients(shards.clone()));
                accept_clients(kafka, shards).await;
            }
        });
        Ok(())
    }

    async fn run(mut self, inbox: mpsc::UnboundedReceiver<ToControl>) -> ExitCode {
        let (code, clean) = self.host.run(inbox).await;
        if clean {
            let mut disk = boot::quiet_disk(&self.home.handle);
            if let Err(e) = write_clean_mark(&mut disk, FileDisk::wait) {
                tracing::error!("the clean mark cannot be written; the next start scans: {e}");
            }
        }
        tracing::info!("{code}");
        // Shards drive connections of it too; a peer that is told nothing finds out by itself.
        if tokio::time::timeout(FAREWELL, self.peers.close()).await.is_err() {
            tracing::debug!("not every peer has confirmed the end of its connection");
        }
        self.shards.end();
        code
    }
}

/// What the doors for browsers need.
struct Browsers {
    rules: Arc<Rules>,
    seats: Seats,
    keeper: Rc<Keeper>,
    door: BrowserDoor,
}

/// Tells the cluster how pages reach this broker, with the certificates of the moment.
fn announcer(
    host: Rc<ControlHost<FileDisk, RaftQuorum>>,
    keeper: Rc<Keeper>,
    door: BrowserDoor,
) -> impl Fn() + Clone {
    move || {
        let door = BrowserDoor { certificates: keeper.facts(), ..door.clone() };
        host.with(|control, now| control.handle_browser_door(now, door));
    }
}

/// What a disk calls when a completion waits, and what it wakes.
fn waker() -> (Waker, Arc<Notify>) {
    let notify = Arc::new(Notify::new());
    let woken = notify.clone();
    (Arc::new(move || woken.notify_one()), notify)
}

async fn on_wake(wake: Arc<Notify>, mut then: impl FnMut()) {
    loop {
        wake.notified().await;
        then();
    }
}

async fn start_quorum(
    home: &Home,
    recovered: &Recovered<FileDisk>,
    wake: Arc<Notify>,
) -> Result<(RaftQuorum, RaftCaller), BootError> {
    let (calls, caller) = raft_calls();
    let (disk_wake, told) = waker();
    let image = recovered.image();
    let start = Start {
        directory: home.format.directory_id,
        applied: image.applied(),
        snapshot: image.applied().map(|upto| (upto, image.encode().into())),
        entries_kept: ENTRIES_KEPT_BEHIND_SNAPSHOT,
        transport: Arc::new(calls),
        wake: Box::new(move || wake.notify_one()),
        disk_wake: told,
    };
    Ok((RaftQuorum::start(home.handle.disk(disk_wake), RAFT_DIR, start).await?, caller))
}

/// Lets peers in, each on the thread that its connection is for.
async fn accept_peers<F: 'static>(
    host: Rc<ControlHost<FileDisk, RaftQuorum>>,
    endpoint: PeerEndpoint,
    shards: Vec<ShardSender<F>>,
) {
    while let Some(arrival) = endpoint.accept().await {
        match arrival.target {
            Target::Shard(shard) => match shards.get(usize::from(shard)) {
                // A shard that is gone has ended the process.
                Some(shard) => drop(shard.send(ToShard::Replica(arrival))),
                None => tracing::debug!("a peer asks for shard {shard}, which this broker does not have"),
            },
            Target::Control => {
                let host = host.clone();
                spawn_local(async move {
                    match arrival.complete().await {
                        Ok(connection) => accept(host, connection).await,
                        Err(e) => tracing::info!("a peer is not let in: {e}"),
                    }
                });
            }
        }
    }
}

/// Moves folders of unknown topics out of the way once the copy of the metadata is read, and says where they went.
async fn set_aside(
    host: Rc<ControlHost<FileDisk, RaftQuorum>>,
    path: std::path::PathBuf,
    mut disk: FileDisk,
) {
    let mut image = host.image();
    if image.changed().await.is_err() {
        return;
    }
    let image = image.borrow().clone();
    let known = |topic| image.topic(topic).is_some() || image.deleted_topic(topic).is_some();
    match set_unknown_topics_aside(&mut disk, known, FileDisk::wait) {
        Ok(moved) => moved.iter().for_each(|to| {
            tracing::warn!("a folder of no known topic was moved to {}", path.join(to).display());
        }),
        Err(e) => tracing::error!("folders of unknown topics cannot be moved out of the way: {e}"),
    }
}

fn clients<F: Send + 'static>(shards: Vec<ShardSender<F>>) -> Clients {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let connect = move |stream| {
        let turn = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if let Some(shard) = shards.get(turn % shards.len()) {
            // A broker that has ended drops the stream, which the client sees.
            let _ = shard.send(ToShard::Memory(stream));
        }
    };
    Clients { connect: Arc::new(connect) }
}

/// Hands WebSockets to the shards in turn.
fn let_in(shards: Vec<ShardSender<disk::File>>) -> Box<dyn Fn(WebSocket)> {
    let turns = std::cell::RefCell::new(Turns::default());
    Box::new(move |socket| {
        // A shard that is gone drops the socket, which the page sees.
        let _ = turns.borrow_mut().next(&shards).send(ToShard::WebSocket(socket));
    })
}

fn status(
    broker: BrokerId,
    host: &Rc<ControlHost<FileDisk, RaftQuorum>>,
    peers: PeerEndpoint,
    shards: Vec<ShardSender<disk::File>>,
    standing: watch::Receiver<Standing>,
    clock: Clock,
) -> Status {
    let ask = move || {
        let asked = shards.iter().map(|shard| {
            let (reply, answer) = tokio::sync::oneshot::channel();
            // A shard that is gone drops the question, and so answers nothing.
            let _ = shard.send(ToShard::Metrics(reply));
            answer
        });
        asked.collect()
    };
    let gate = host.clone();
    let make_token = move || {
        let host = gate.clone();
        let made =
            async move { joining::make_token(&host, clock.now().wall).await.map(|token| token.to_string()) };
        Box::pin(made) as std::pin::Pin<Box<dyn Future<Output = _>>>
    };
    let (shards, make_token) = (Box::new(ask), Box::new(make_token));
    Status { broker, standing, image: host.image(), peers, shards, make_token }
}

#[cfg(test)]
mod tests;
