//! Control on its thread: everything that happens there is handed to the `Control` value, and what it wants is done.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use broker_core::ExitCode;
use broker_core::control::{Control, ControlAction, Peer};
use broker_core::message::{AdminAnswer, AdminCommand, AdminError, AdminId};
use log_core::{MonoTime, Now};
use log_store::Disk;
use metadata_core::{ClusterImage, MetadataQuorum};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::links::{ShardSender, Standing, ToControl, ToShard};
use crate::peers::ControlPeers;

type AdminResult = Result<AdminAnswer, AdminError>;

/// Control with its peers. Lives on one thread; tasks share it as `Rc`.
pub(crate) struct ControlHost<D: Disk, Q: MetadataQuorum> {
    control: RefCell<Control<D, Q>>,
    shards: Vec<ShardSender<D::File>>,
    pub(crate) peers: ControlPeers,
    clock: Clock,
    standing: watch::Sender<Standing>,
    image: watch::Sender<Arc<ClusterImage>>,
    /// The next deadline moved forward.
    rearm: Notify,
    armed: Cell<Option<MonoTime>>,
    commands: RefCell<BTreeMap<AdminId, oneshot::Sender<AdminResult>>>,
    commands_made: Cell<u64>,
    /// How Control ended: the code, and whether the clean mark may be written.
    ended: Cell<Option<(ExitCode, bool)>>,
}

impl<D, Q> ControlHost<D, Q>
where
    D: Disk + 'static,
    Q: MetadataQuorum + 'static,
{
    pub(crate) fn new(
        control: Control<D, Q>,
        shards: Vec<ShardSender<D::File>>,
        peers: ControlPeers,
        clock: Clock,
        standing: watch::Sender<Standing>,
    ) -> Rc<Self> {
        let image = watch::Sender::new(Arc::new(control.image().clone()));
        Rc::new(Self {
            control: RefCell::new(control),
            shards,
            peers,
            clock,
            standing,
            image,
            rearm: Notify::new(),
            armed: Cell::new(None),
            commands: RefCell::default(),
            commands_made: Cell::new(0),
            ended: Cell::new(None),
        })
    }

    /// Hands something to Control, then does what it wants.
    pub(crate) fn with<R>(self: &Rc<Self>, happened: impl FnOnce(&mut Control<D, Q>, Now) -> R) -> R {
        let result = happened(&mut self.control.borrow_mut(), self.clock.now());
        self.settle();
        result
    }

    /// The cluster as this broker knows it, and every change of it.
    pub(crate) fn image(&self) -> watch::Receiver<Arc<ClusterImage>> {
        self.image.subscribe()
    }

    /// The other voters of the quorum, if this broker is one.
    pub(crate) fn fellow_voters(&self) -> Vec<Peer> {
        self.control.borrow().fellow_voters()
    }

    /// Gives a command of the broker's own and waits for what comes of it.
    pub(crate) async fn command(self: &Rc<Self>, command: AdminCommand, patience: Duration) -> AdminResult {
        self.commands_made.set(self.commands_made.get() + 1);
        let id = AdminId(self.commands_made.get());
        let (sender, receiver) = oneshot::channel();
        self.commands.borrow_mut().insert(id, sender);
        self.with(|control, now| control.handle_command(now, id, now.mono.after(patience), command));
        receiver.await.unwrap_or(Err(AdminError::Stopping))
    }

    /// Takes what other threads hand in until Control has ended: why, and whether the clean mark may be written.
    pub(crate) async fn run(
        self: &Rc<Self>,
        mut inbox: mpsc::UnboundedReceiver<ToControl>,
    ) -> (ExitCode, bool) {
        self.settle();
        loop {
            if let Some(ended) = self.ended.get() {
                return ended;
            }
            tokio::select! {
                input = inbox.recv() => match input {
                    Some(ToControl::Shard(shard, request)) => {
                        self.with(|control, now| control.handle_request(now, shard, request));
                    }
                    Some(ToControl::Stop) => self.with(|control, now| control.handle_stop(now)),
                    Some(ToControl::Ended(code)) => return (code, false),
                    None => return (ExitCode::Clean, false),
                },
                () = self.due() => if self.ended.get().is_none() {
                    self.with(|control, now| control.handle_timeout(now));
                },
            }
        }
    }

    /// Returns when a deadline is over, or Control has ended: anything that another task handed in may be the end.
    async fn due(&self) {
        while self.ended.get().is_none() {
            match self.armed.get() {
                None => self.rearm.notified().await,
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(self.wake_at(at)) => return,
                    () = self.rearm.notified() => {}
                },
            }
        }
    }

    /// A deadline that is not soon is kept up to 64 ms late: none of them stands for more than that something be done now and then.
    fn wake_at(&self, deadline: MonoTime) -> tokio::time::Instant {
        timer_grid::aligned(self.clock.instant(deadline).into_std()).into()
    }

    /// Carries out what Control wants until it wants nothing more.
    fn settle(self: &Rc<Self>) {
        loop {
            let action = self.control.borrow_mut().poll_action();
            let Some(action) = action else { break };
            self.carry_out(action);
        }
        let deadline = self.control.borrow().poll_timeout();
        // A timer that is left where it was would wake the thread in vain.
        let moved = self.armed.replace(deadline) != deadline;
        if moved || self.ended.get().is_some() {
            self.rearm.notify_one();
        }
    }

    fn carry_out(self: &Rc<Self>, action: ControlAction) {
        match action {
            ControlAction::ToShard(shard, message) => {
                if let Some(shard) = self.shards.get(usize::from(shard.0)) {
                    // A shard that is gone has said so to this thread already.
                    let _ = shard.send(ToShard::Control(message));
                }
            }
            ControlAction::SendPeer { peer, frame } => crate::peers::send(self, peer, &frame),
            ControlAction::Reply { stream, frame } => self.peers.reply(stream, &frame),
            ControlAction::Answer { id, result } => {
                if let Some(waiting) = self.commands.borrow_mut().remove(&id) {
                    // Whoever asked and went away needs no answer.
                    let _ = waiting.send(result);
                }
            }
            ControlAction::Image(image) => drop(self.image.send_replace(image)),
            ControlAction::Status(status) => {
                self.standing.send_modify(|standing| standing.status = status);
            }
            ControlAction::Stop { code, clean } => {
                self.ended.set(Some((code, clean)));
                self.standing.send_modify(|standing| standing.ended = Some(code));
            }
            other => tracing::warn!("Control wants something that this driver does not know: {other:?}"),
        }
    }
}
