//! Handing something to a process, and carrying out everything that it wants then.

use broker_core::action::ShardAction;
use broker_core::control::ControlAction;
use broker_core::{ExitCode, Shard, ShardId};
use kafka_wire::Rope;
use log_core::Now;
use log_store::{MemoryDisk, MemoryFile};

use super::machine::{Process, clocks, index_of};
use super::queue::{Event, ProcessId};
use super::{Parcel, World};
use crate::plan::{MS, US};

/// How soon after work a process uses an idle moment.
const QUIET: (u64, u64) = (80 * MS, 400 * MS);

/// More idle steps in a row than any log here needs.
const IDLE_STEPS_MAX: u32 = 1_000;

impl World {
    /// Hands something to a process, if it runs.
    pub(super) fn with(&mut self, process: ProcessId, happened: impl FnOnce(&mut Process, Now)) {
        let now = clocks(self.now);
        let Some(machine) = self.machines.get_mut(process.broker) else { return };
        let Some(running) = machine.process.as_mut().filter(|running| running.id == process) else { return };
        happened(running, now);
        self.settle(process);
    }

    /// Hands something to a shard of a process, if it runs.
    pub(super) fn with_shard(
        &mut self,
        process: ProcessId,
        shard: ShardId,
        happened: impl FnOnce(&mut Shard<MemoryDisk>, Now),
    ) {
        self.with(process, |running, now| {
            if let Some(shard) = running.shards.get_mut(usize::from(shard.0)) {
                happened(shard, now);
            }
        });
    }

    pub(super) fn start(&mut self, broker: usize) {
        let machine = self.machine(broker);
        if machine.process.is_some() || !machine.starting && machine.starts > 0 {
            return;
        }
        let (now, plan, agreement) = (self.now, self.plan.clone(), self.agreement.clone());
        self.oracle_before_start(broker);
        if let Err(fault) = self.machine_mut(broker).start(&plan, &agreement, now) {
            return self.oracle.violate("start", format!("broker {broker} cannot start: {fault}"));
        }
        self.coverage.count("process starts");
        self.after_start(broker);
        let number = self.machine(broker).starts;
        self.trace.note(now, || format!("broker {broker} starts ({number})"));
        self.settle(ProcessId { broker, number });
    }

    pub(super) fn wake(&mut self, process: ProcessId) {
        let now = self.now;
        self.with(process, |running, clocks| {
            if running.wake_at.is_none_or(|at| at > now) {
                return;
            }
            running.wake_at = None;
            if running.control.poll_timeout().is_some_and(|at| at <= clocks.mono) {
                running.control.handle_timeout(clocks);
            }
            for shard in &mut running.shards {
                if shard.poll_timeout().is_some_and(|at| at <= clocks.mono) {
                    shard.handle_timeout(clocks);
                }
            }
        });
    }

    pub(super) fn idle(&mut self, process: ProcessId) {
        // Step by step, as the process does: what a step found is worked on before the next.
        for _ in 0..IDLE_STEPS_MAX {
            let mut worked = false;
            self.with(process, |running, now| {
                running.idle_planned = false;
                running.shards.iter_mut().for_each(|shard| worked |= shard.handle_idle(now));
            });
            if !worked {
                return;
            }
        }
        self.oracle
            .violate("rest", format!("broker {} always has something left to do when idle", process.broker));
    }

    /// One operation of the disk ends, mostly the oldest.
    pub(super) fn complete(&mut self, process: ProcessId) {
        let held = self.machine(process.broker).disk.held();
        let overtakes = self.dice.permille(self.plan.weather.overtaking_permille);
        let nth = if overtakes { self.dice.index(held.min(3)) } else { 0 };
        self.machine(process.broker).disk.release_nth(nth);
        self.with(process, |running, now| {
            running.disk_planned = running.disk_planned.saturating_sub(1);
            running.control.handle_disk(now);
            running.shards.iter_mut().for_each(|shard| shard.handle_disk(now));
        });
    }

    /// Carries out what a process wants until it wants nothing more.
    fn settle(&mut self, process: ProcessId) {
        loop {
            let Some(running) = self.running(process) else { return };
            let mut of_control = Vec::new();
            while let Some(action) = running.control.poll_action() {
                of_control.push(action);
            }
            let mut of_shards = Vec::new();
            for (shard, number) in running.shards.iter_mut().zip(0..) {
                while let Some(action) = shard.poll_action() {
                    of_shards.push((ShardId(number), action));
                }
            }
            if of_control.is_empty() && of_shards.is_empty() {
                break;
            }
            for action in of_control {
                self.act_for_control(process, action);
            }
            for (shard, action) in of_shards {
                self.act_for_shard(process, shard, action);
            }
        }
        self.note_applied(process);
        self.take_proposals();
        self.rearm(process);
        self.oracle_step(process.broker);
    }

    pub(super) fn running(&mut self, process: ProcessId) -> Option<&mut Process> {
        let machine = self.machines.get_mut(process.broker)?;
        machine.process.as_mut().filter(|running| running.id == process)
    }

    /// Plans the next deadline, the ends of new disk operations, and an idle moment.
    fn rearm(&mut self, process: ProcessId) {
        let now = self.now;
        let held = self.machine(process.broker).disk.held();
        let Some(running) = self.running(process) else { return };
        let shards = running.shards.iter().filter_map(Shard::poll_timeout);
        let next = shards.chain(running.control.poll_timeout()).min();
        let next = next.map(|at| (at.0 - clocks(0).mono.0).max(now + US));
        let wake = next.filter(|at| running.wake_at.is_none_or(|planned| *at < planned));
        if let Some(at) = wake {
            running.wake_at = Some(at);
        }
        let new = held.saturating_sub(running.disk_planned);
        running.disk_planned += new;
        let idle = !std::mem::replace(&mut running.idle_planned, true);
        if let Some(at) = wake {
            self.plan(at, Event::Wake(process));
        }
        for _ in 0..new {
            let takes = self.disk_time(process.broker);
            self.plan(now + takes, Event::Disk(process));
        }
        if idle {
            self.plan_within(QUIET, Event::Idle(process));
        }
    }

    /// A disk is as fast as others again, also with what it was asked for while it was slow.
    pub(super) fn hurry_disk(&mut self, broker: usize) {
        let machine = self.machine_mut(broker);
        machine.disk_factor = 1;
        let held = machine.disk.held();
        let Some(process) = machine.process.as_ref().map(|running| running.id) else { return };
        for _ in 0..held {
            let takes = self.disk_time(broker);
            self.plan(self.now + takes, Event::Disk(process));
        }
    }

    fn disk_time(&mut self, broker: usize) -> u64 {
        let (soonest, latest) = self.plan.weather.sync;
        let slow = self.dice.permille(self.plan.weather.slow_sync_permille);
        let factor = self.machine(broker).disk_factor * if slow { 20 } else { 1 };
        self.dice.between(soonest, latest) * factor
    }

    fn act_for_control(&mut self, process: ProcessId, action: ControlAction) {
        match action {
            ControlAction::ToShard(shard, message) => {
                let at = self.inside(process, None, Some(shard.0));
                self.plan(at, Event::ToShard(process, shard, message));
            }
            ControlAction::SendPeer { peer, frame } => self.send_peer(process, &peer, frame),
            ControlAction::Reply { stream, frame } => self.reply_peer(process, stream, frame),
            ControlAction::Image(image) => self.look_aside(process, &image),
            ControlAction::Stop { code, clean } => self.exit(process, code, clean),
            ControlAction::Answer { .. } | ControlAction::Status(_) => {}
            other => self.oracle.violate("action", format!("an unknown wish of Control: {other:?}")),
        }
    }

    fn act_for_shard(&mut self, process: ProcessId, shard: ShardId, action: ShardAction<MemoryFile>) {
        match action {
            ShardAction::Send { connection, rope } => self.send_client(process, connection, rope),
            // Clients here send little and read at once: a pause would not last.
            ShardAction::PauseReading(_) | ShardAction::ResumeReading(_) => {}
            ShardAction::Close { connection, .. } => self.close_connection(connection),
            ShardAction::Move { connection, door, to } => {
                self.coverage.count("connections moved");
                self.move_connection(process, connection, door, to);
            }
            ShardAction::ToControl(request) => {
                let at = self.inside(process, Some(shard.0), None);
                self.plan(at, Event::ToControl(process, shard, request));
            }
            ShardAction::ToShard(to, message) => {
                let at = self.inside(process, Some(shard.0), Some(to.0));
                self.plan(at, Event::Peer(process, shard, to, message));
            }
            ShardAction::ConnectReplica { key, broker, shard: to_shard, .. } => {
                let at = self.now + self.latency();
                let to = index_of(broker);
                self.plan(at, Event::Dial { from: process, shard, key, to, to_shard });
            }
            ShardAction::ReplicaSend { stream, rope } => self.send_replica(process, stream, rope),
            ShardAction::CloseReplica { stream } => self.close_replica(process, stream),
            ShardAction::Stop(code) => self.exit(process, code, false),
        }
    }

    /// When a word between two threads of a process arrives: never before one that was said earlier.
    fn inside(&mut self, process: ProcessId, from: Option<u16>, to: Option<u16>) -> u64 {
        let (soonest, latest) = self.plan.weather.inside;
        let at = self.now + self.dice.between(soonest, latest);
        let Some(running) = self.running(process) else { return at };
        let last = running.ways.entry((from, to)).or_default();
        *last = at.max(*last);
        *last
    }

    /// A process ends by itself; it starts again soon.
    fn exit(&mut self, process: ProcessId, code: ExitCode, clean: bool) {
        let broker = process.broker;
        self.trace.note(self.now, || format!("broker {broker} exits: {code}, clean {clean}"));
        match code {
            ExitCode::Clean => self.coverage.count(if clean { "clean stops" } else { "unclean stops" }),
            ExitCode::DirectoryPoisoned => self.coverage.count("exits with a poisoned directory"),
            ExitCode::DuplicateBroker | ExitCode::Unregistered => self.coverage.count("exits unregistered"),
            other => self.oracle.violate("exit", format!("broker {broker} exits: {other}")),
        }
        if clean {
            self.machine_mut(broker).disk.hold(false);
            let mut disk = self.machine(broker).disk.another_handle();
            // A mark that cannot be written is a stop that was not clean.
            let _ = log_store::directory::write_clean_mark(&mut disk, log_store::Disk::poll);
        }
        self.end_process(broker, None);
        let down = self.operator.take_down_time(broker).unwrap_or((10 * MS, 900 * MS));
        self.machine_mut(broker).starting = true;
        self.plan_within(down, Event::Start(broker));
    }

    pub(super) fn rope_of(rope: Rope<MemoryFile>) -> Parcel {
        Parcel::Rope(rope)
    }
}
