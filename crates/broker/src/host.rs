//! One shard on its thread: everything that happens there is handed to the `Shard` value, and what it wants is done.
//!
//! Connections, timers and messages from other threads are tasks of one current-thread runtime. Each calls in here with
//! what happened, and before it returns [`Host::settle`] carries out every action: answers are with their connections'
//! writers when the burst that caused them is done, so that a burst costs one write.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use broker_core::{ConnectionId, Door, DoorKind, Limits, Shard, ShardAction, ShardId};
use kafka_wire::{FrameError, FrameReader};
use log_core::{MonoTime, Now};
use log_store::Disk;
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::carrier::{Outlet, Served};
use crate::clock::Clock;
use crate::links::{Links, Moved, ShardReport};
use crate::replication::{self, Replication};

/// A shard is idle when nothing has happened for this long (a guess: several times the pause between two bursts of a client).
const QUIET: Duration = Duration::from_millis(100);

/// How a connection comes to a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A client has just come in.
    New,
    /// Another shard of this broker has handed it on.
    Moved,
}

/// A shard with its connections. Lives on one thread; tasks share it as `Rc`.
pub(crate) struct Host<D: Disk> {
    state: RefCell<State<D>>,
    links: Links<D::File>,
    replication: Replication<D::File>,
    clock: Clock,
    limits: Limits,
    /// The shard's next deadline moved forward.
    rearm: Notify,
    armed: Cell<Option<MonoTime>>,
    /// Something happened that may leave work for idle moments.
    worked: Notify,
    busy: Cell<bool>,
    connections_made: Cell<u64>,
}

struct State<D: Disk> {
    shard: Shard<D>,
    outlets: BTreeMap<ConnectionId, Rc<Outlet<D::File>>>,
}

impl<D> Host<D>
where
    D: Disk + 'static,
    D::File: Served,
{
    pub(crate) fn new(
        shard: Shard<D>,
        links: Links<D::File>,
        replication: Replication<D::File>,
        clock: Clock,
        limits: Limits,
    ) -> Rc<Self> {
        Rc::new(Self {
            state: RefCell::new(State { shard, outlets: BTreeMap::new() }),
            links,
            replication,
            clock,
            limits,
            rearm: Notify::new(),
            armed: Cell::new(None),
            worked: Notify::new(),
            busy: Cell::new(false),
            connections_made: Cell::new(0),
        })
    }

    /// The bounds of a connection by this door.
    pub(crate) fn limits(&self, kind: DoorKind) -> Limits {
        self.limits.at(kind)
    }

    pub(crate) fn replication(&self) -> &Replication<D::File> {
        &self.replication
    }

    /// Hands something to the shard, which works on it with whatever else comes until [`Host::settle`].
    pub(crate) fn hand_in(&self, happened: impl FnOnce(&mut Shard<D>, Now)) {
        self.note_work();
        happened(&mut self.state.borrow_mut().shard, self.clock.now());
    }

    /// Hands something to the shard, then does what it wants.
    pub(crate) fn with<R>(self: &Rc<Self>, happened: impl FnOnce(&mut Shard<D>, Now) -> R) -> R {
        self.note_work();
        self.with_quietly(happened)
    }

    fn note_work(&self) {
        if !self.busy.replace(true) {
            self.worked.notify_one();
        }
    }

    /// A client came in, or goes on here.
    pub(crate) fn open(self: &Rc<Self>, door: Door, entry: Entry) -> (ConnectionId, Rc<Outlet<D::File>>) {
        let id = self.next_connection();
        let outlet = Rc::new(Outlet::new());
        self.state.borrow_mut().outlets.insert(id, outlet.clone());
        self.with(|shard, now| match entry {
            Entry::New => {
                self.links.loads.opened(self.links.shard);
                shard.handle_connection_opened(now, id, door);
            }
            Entry::Moved => shard.handle_connection_moved(now, id, door),
        });
        (id, outlet)
    }

    /// A number that no shard of this process has given.
    fn next_connection(&self) -> ConnectionId {
        let made = self.connections_made.get();
        self.connections_made.set(made + 1);
        ConnectionId(made * self.links.shards.len() as u64 + u64::from(self.links.shard.0))
    }

    /// A client's bytes came: every whole frame in them is handled as one burst. How many there were.
    pub(crate) fn received(
        self: &Rc<Self>,
        id: ConnectionId,
        frames: &mut FrameReader,
    ) -> Result<usize, FrameError> {
        self.note_work();
        let now = self.clock.now();
        let outcome = {
            let mut state = self.state.borrow_mut();
            let mut handled = 0;
            loop {
                match frames.next_frame() {
                    Ok(Some(frame)) => {
                        state.shard.handle_frame(now, id, frame);
                        handled += 1;
                    }
                    Ok(None) => break Ok(handled),
                    Err(e) => break Err(e),
                }
            }
        };
        self.settle();
        outcome
    }

    /// A client took this many bytes.
    pub(crate) fn written(self: &Rc<Self>, id: ConnectionId, bytes: usize) {
        self.with(|shard, now| shard.handle_written(now, id, bytes as u64));
    }

    /// A client is gone.
    pub(crate) fn closed(self: &Rc<Self>, id: ConnectionId) {
        if self.state.borrow_mut().outlets.remove(&id).is_some() {
            self.links.loads.closed(self.links.shard);
            self.with(|shard, now| shard.handle_connection_closed(now, id));
        }
    }

    pub(crate) fn shard_id(&self) -> ShardId {
        self.links.shard
    }

    /// A connection ends on its way to a shard.
    pub(crate) fn lose(&self, on_its_way_to: ShardId, why: &io::Error) {
        tracing::warn!("a connection ends on its way to shard {on_its_way_to}: {why}");
        self.links.loads.closed(on_its_way_to);
    }

    /// Hands on what [`Outlet::handed_on`] told.
    pub(crate) fn hand_on(&self, to: ShardId, moved: Moved) {
        self.links.hand_on(to, moved);
    }

    /// Completions wait in the disk.
    pub(crate) fn disk(self: &Rc<Self>) {
        self.with(|shard, now| shard.handle_disk(now));
    }

    pub(crate) fn report(&self) -> ShardReport {
        let state = self.state.borrow();
        ShardReport {
            shard: self.links.shard,
            metrics: state.shard.metrics().clone(),
            gauges: state.shard.gauges(),
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks() as u64,
            replica_streams: self.replication.open_streams(),
        }
    }

    /// Wakes the shard at its deadlines, for ever.
    pub(crate) async fn keep_time(self: Rc<Self>) {
        loop {
            match self.armed.get() {
                None => self.rearm.notified().await,
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(self.clock.instant(at)) => {
                        self.with(|shard, now| shard.handle_timeout(now));
                    }
                    () = self.rearm.notified() => {}
                },
            }
        }
    }

    /// Lets the shard use moments in which nothing happens, for ever.
    pub(crate) async fn use_idle_moments(self: Rc<Self>) {
        loop {
            self.worked.notified().await;
            while self.busy.replace(false) {
                tokio::time::sleep(QUIET).await;
            }
            while !self.busy.get() && self.with_quietly(|shard, now| shard.handle_idle(now)) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Like [`Host::with`], for what is not worth an idle moment by itself.
    fn with_quietly<R>(self: &Rc<Self>, happened: impl FnOnce(&mut Shard<D>, Now) -> R) -> R {
        let result = happened(&mut self.state.borrow_mut().shard, self.clock.now());
        self.settle();
        result
    }

    /// Carries out what the shard wants until it wants nothing more.
    pub(crate) fn settle(self: &Rc<Self>) {
        let mut state = self.state.borrow_mut();
        while let Some(action) = state.shard.poll_action() {
            self.carry_out(&mut state, action);
        }
        let deadline = state.shard.poll_timeout();
        let sooner = deadline.is_some_and(|at| self.armed.get().is_none_or(|armed| at < armed));
        self.armed.set(deadline);
        if sooner {
            self.rearm.notify_one();
        }
    }

    fn carry_out(self: &Rc<Self>, state: &mut State<D>, action: ShardAction<D::File>) {
        match action {
            ShardAction::Send { connection, rope } => {
                if let Some(outlet) = state.outlets.get(&connection) {
                    outlet.push(rope);
                }
            }
            ShardAction::PauseReading(connection) => {
                if let Some(outlet) = state.outlets.get(&connection) {
                    outlet.pause(true);
                }
            }
            ShardAction::ResumeReading(connection) => {
                if let Some(outlet) = state.outlets.get(&connection) {
                    outlet.pause(false);
                }
            }
            ShardAction::Close { connection, reason } => {
                if let Some(outlet) = state.outlets.remove(&connection) {
                    self.links.loads.closed(self.links.shard);
                    tracing::info!("connection {} is closed: {reason}", connection.0);
                    outlet.close(reason);
                }
            }
            ShardAction::Move { connection, door, to } => {
                if !self.links.loads.try_move(self.links.shard, to) {
                    state.shard.handle_connection_kept(self.clock.now(), connection, door);
                } else if let Some(outlet) = state.outlets.remove(&connection) {
                    outlet.hand_on(to);
                }
            }
            ShardAction::ToControl(request) => self.links.to_control(request),
            ShardAction::ToShard(shard, message) => self.links.to_shard(shard, message),
            ShardAction::ConnectReplica { key, broker, addresses, shard } => {
                spawn_local(replication::follow(self.clone(), key, broker, addresses, shard));
            }
            ShardAction::ReplicaSend { stream, rope } => self.replication.send(stream, rope),
            ShardAction::CloseReplica { stream } => self.replication.close(stream),
            ShardAction::Stop(code) => self.links.ended(code),
        }
    }
}
