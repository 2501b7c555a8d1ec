//! The thread of one shard: a current-thread runtime on which its connections, streams and timers are tasks.

use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use broker_core::{Door, DoorKind, Shard, ShardConfig};
use log_store::{Disk, MemoryDisk, MemoryFile};
use replica::PeerEndpoint;
use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::browser::{Rules, Seats};
use crate::carrier::{self, Served};
use crate::clock::Clock;
use crate::doors::{self, ClientTls, Shared};
use crate::host::Host;
use crate::links::{Links, ShardReceiver, ToShard};
use crate::replication::{self, Replication};

/// Messages of other threads that are worked on as one burst, before sockets and timers have their turn again (a guess).
const BURST_MAX: usize = 256;

/// What a shard's thread is started with.
pub(crate) struct ShardStart<D: Disk> {
    pub(crate) config: ShardConfig,
    pub(crate) disk: D,
    /// Told by the disk when a completion waits in it.
    pub(crate) disk_wake: Arc<Notify>,
    pub(crate) links: Links<D::File>,
    pub(crate) inbox: ShardReceiver<D::File>,
    pub(crate) peers: Option<PeerEndpoint>,
    /// For the doors by which clients come in; none in memory.
    pub(crate) doors: Option<(ClientTls, Arc<Rules>, Seats)>,
    pub(crate) clock: Clock,
}

/// Starts the thread; it ends when every sender of its inbox is gone.
pub(crate) fn spawn<D>(start: ShardStart<D>) -> std::io::Result<thread::JoinHandle<()>>
where
    D: Disk + Send + 'static,
    D::File: Served + Send,
{
    let name = format!("shard-{}", start.config.shard);
    thread::Builder::new().name(name).spawn(move || match runtime() {
        Ok(runtime) => block_on(&runtime, run(start)),
        Err(e) => tracing::error!("a shard's runtime cannot be made: {e}"),
    })
}

/// One scheduler for all tasks of a thread, which therefore can say how many there are.
pub(crate) fn runtime() -> std::io::Result<LocalRuntime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

/// Runs a thread's work to its end, as a task: waking the future that a runtime blocks on costs a system call each time, also from the
/// thread itself.
pub(crate) fn block_on<T: 'static>(runtime: &LocalRuntime, work: impl Future<Output = T> + 'static) -> T {
    match runtime.block_on(runtime.spawn_local(work)) {
        Ok(done) => done,
        // Nothing aborts it: it has panicked, and so does the thread.
        Err(ended) => std::panic::resume_unwind(ended.into_panic()),
    }
}

async fn run<D>(start: ShardStart<D>)
where
    D: Disk + 'static,
    D::File: Served,
{
    let ShardStart { config, disk, disk_wake, links, mut inbox, peers, doors, clock } = start;
    let shared = doors.map(|(tls, rules, seats)| Rc::new(Shared { tls, rules, seats }));
    let limits = config.limits;
    let shard = Shard::new(clock.now(), config, disk);
    let host = Host::new(shard, links, Replication::new(peers), clock, limits);
    spawn_local(host.clone().keep_time());
    spawn_local(host.clone().use_idle_moments());
    spawn_local(watch_disk(host.clone(), disk_wake));
    let mut burst = Vec::with_capacity(BURST_MAX);
    while inbox.recv_many(&mut burst, BURST_MAX).await > 0 {
        let is_full = burst.len() == BURST_MAX;
        burst.drain(..).for_each(|input| take(&host, shared.as_ref(), input));
        host.settle();
        if is_full {
            tokio::task::yield_now().await;
        }
    }
}

/// The shard of a broker in memory, on the thread of its Control. A memory disk completes at once, so it is looked at after
/// everything that happens.
pub(crate) async fn serve_memory(
    config: ShardConfig,
    disk: MemoryDisk,
    links: Links<MemoryFile>,
    inbox: ShardReceiver<MemoryFile>,
    clock: Clock,
) {
    let disk_wake = Arc::new(Notify::new());
    let wake = Arc::clone(&disk_wake);
    spawn_local(async move {
        loop {
            wake.notify_one();
            tokio::time::sleep(crate::broker::memory::LOOK).await;
        }
    });
    run(ShardStart { config, disk, disk_wake, links, inbox, peers: None, doors: None, clock }).await;
}

async fn watch_disk<D>(host: Rc<Host<D>>, wake: Arc<Notify>)
where
    D: Disk + 'static,
    D::File: Served,
{
    loop {
        wake.notified().await;
        host.disk();
    }
}

fn take<D>(host: &Rc<Host<D>>, shared: Option<&Rc<Shared>>, input: ToShard<D::File>)
where
    D: Disk + 'static,
    D::File: Served,
{
    match input {
        ToShard::Control(message) => host.hand_in(|shard, now| shard.handle_message(now, message)),
        ToShard::Peer(from, message) => host.hand_in(|shard, now| shard.handle_peer(now, from, message)),
        ToShard::Tcp(stream) => {
            if let Some(shared) = shared.cloned() {
                spawn_local(doors::tcp(host.clone(), shared, stream));
            }
        }
        ToShard::Moved(moved) => {
            spawn_local(doors::go_on(host.clone(), moved));
        }
        ToShard::Memory(stream) => {
            let door = Door { kind: DoorKind::Memory, ..Door::MEMORY };
            let (reader, writer) = tokio::io::split(stream);
            spawn_local(carrier::stream::serve(host.clone(), door, reader, writer));
        }
        ToShard::WebSocket(arrived) => {
            spawn_local(doors::websocket(host.clone(), arrived));
        }
        ToShard::Quic(incoming) => {
            if let Some(shared) = shared.cloned() {
                spawn_local(doors::quic(host.clone(), shared, incoming));
            }
        }
        ToShard::Replica(arrival) => {
            spawn_local(replication::accept(host.clone(), arrival));
        }
        // Whoever asked and went away needs no answer.
        ToShard::Metrics(reply) => drop(reply.send(host.report())),
    }
}
