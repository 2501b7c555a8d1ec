//! The thread of one shard: a current-thread runtime on which its connections, streams and timers are tasks.

use std::rc::Rc;
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread;
use std::time::{Duration, Instant};

use broker_core::{Door, DoorKind, Shard, ShardConfig};
use log_store::{Disk, MemoryDisk, MemoryFile};
use replica::PeerEndpoint;
use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;

use crate::browser::Rules;
use crate::carrier::{self, Served};
use crate::clock::Clock;
use crate::doors::{self, ClientTls, Shared};
use crate::hold::Hold;
use crate::host::Host;
use crate::links::{Links, ShardReceiver, ToShard};
use crate::replication::{self, Replication};
use crate::seats::Seats;

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

/// How long all shards have to end (a guess: none of them ever waits, but a write to a disk that fails may take seconds).
const END_PATIENCE: Duration = Duration::from_secs(10);

/// The shards' threads. Dropped, it ends them and waits for that: they hold ways to each other, so that none ends by itself.
pub(crate) struct ShardThreads {
    all: Vec<ShardThread>,
    hold: Hold,
}

struct ShardThread {
    /// Dropped to have the thread end.
    end: oneshot::Sender<()>,
    /// Its other end goes with everything that the thread holds.
    ended: std_mpsc::Receiver<()>,
    handle: thread::JoinHandle<()>,
}

impl ShardThreads {
    /// None yet, of the directory that is held.
    pub(crate) const fn new(hold: Hold) -> Self {
        Self { all: Vec::new(), hold }
    }

    /// Starts one more.
    pub(crate) fn spawn<D>(&mut self, start: ShardStart<D>) -> std::io::Result<()>
    where
        D: Disk + Send + 'static,
        D::File: Served + Send,
    {
        let name = format!("shard-{}", start.config.shard);
        let (end, asked_to_end) = oneshot::channel();
        let (ends, ended) = std_mpsc::channel();
        let handle = thread::Builder::new().name(name).spawn(move || {
            // Goes last: the runtime is gone by then.
            let _ends: std_mpsc::Sender<()> = ends;
            match runtime() {
                Ok(runtime) => block_on(&runtime, run_until(asked_to_end, run(start))),
                Err(e) => tracing::error!("a shard's runtime cannot be made: {e}"),
            }
        })?;
        self.all.push(ShardThread { end, ended, handle });
        Ok(())
    }

    /// Has all threads end, whatever they are at, and waits for them. The directory of one that does not end is not let go.
    pub(crate) fn end(&mut self) {
        let until = Instant::now() + END_PATIENCE;
        let ending = self.all.drain(..).map(|ShardThread { end, ended, handle }| {
            drop(end);
            (ended, handle)
        });
        // All are asked before one is waited for.
        for (ended, handle) in ending.collect::<Vec<_>>() {
            if !has_ended(&ended, handle, until) {
                self.hold.never_let_go();
            }
        }
    }
}

impl Drop for ShardThreads {
    fn drop(&mut self) {
        self.end();
    }
}

fn has_ended(ended: &std_mpsc::Receiver<()>, handle: thread::JoinHandle<()>, until: Instant) -> bool {
    let patience = until.saturating_duration_since(Instant::now());
    if ended.recv_timeout(patience) == Err(std_mpsc::RecvTimeoutError::Timeout) {
        tracing::error!("{} does not end", handle.thread().name().unwrap_or("a shard"));
        return false;
    }
    if handle.join().is_err() {
        tracing::error!("a shard's thread had panicked");
    }
    true
}

/// Works until the work is done or whoever started it wants an end. Two tasks: asking for the end costs the work nothing.
async fn run_until(asked_to_end: oneshot::Receiver<()>, work: impl Future<Output = ()> + 'static) {
    tokio::select! {
        worked = spawn_local(work) => match worked {
            Ok(()) => {}
            Err(ended) => std::panic::resume_unwind(ended.into_panic()),
        },
        _ = asked_to_end => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_end_is_waited_for_no_longer_than_that() {
        for (stuck, expected) in [(false, true), (true, false)] {
            let (ends, ended) = std_mpsc::channel();
            let (go_on, wait) = std_mpsc::channel::<()>();
            let handle = thread::spawn(move || {
                let _ends: std_mpsc::Sender<()> = ends;
                // Told nothing, only let go.
                let _ = wait.recv();
            });
            let patience = if stuck { Duration::ZERO } else { Duration::from_secs(60) };
            let go_on = Some(go_on).filter(|_| stuck);
            assert_eq!(has_ended(&ended, handle, Instant::now() + patience), expected);
            drop(go_on);
        }
    }
}
