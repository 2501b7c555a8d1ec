//! What happens on streams: calls, parcels, ends.

use broker_core::action::StreamId;
use broker_core::control::{FrameSource, Peer, PeerStreamId};
use broker_core::{ConnectionId, Door, DoorKind, ReplicaKey, ShardId};
use bytes::Bytes;
use kafka_wire::Rope;
use log_core::{DirectoryId, Frame};
use log_store::MemoryFile;
use metadata_core::ControlFrame;
use replica_core::{FOLLOWER_FRAME_LIMITS, LEADER_FRAME_LIMITS};

use super::World;
use super::machine::broker_id;
use super::net::{End, PATIENCE, Parcel, Stream, flatten};
use super::queue::{Event, ProcessId};
use crate::plan::MS;

impl World {
    /// How long a message takes; where a packet is lost, several times as long.
    pub(crate) fn latency(&mut self) -> u64 {
        let (soonest, latest) = self.plan.weather.latency;
        let lost = self.dice.permille(self.plan.weather.loss_permille);
        let again = if lost { self.dice.between(10 * MS, 250 * MS) } else { 0 };
        self.dice.between(soonest, latest) * self.net.factor + again
    }

    pub(crate) fn send_parcel(&mut self, number: u64, lane: usize, parcel: Parcel) {
        let at = self.now + self.latency();
        let Some(stream) = self.net.streams.get_mut(&number) else { return };
        let Some(lane_of) = stream.lanes.get_mut(lane) else { return };
        if let Some(at) = lane_of.send(at, parcel) {
            self.plan(at, Event::Arrive { stream: number, lane });
        }
    }

    pub(super) fn send_replica(&mut self, process: ProcessId, id: StreamId, rope: Rope<MemoryFile>) {
        let Some(number) = self.net.replicas.get(&(process, id)).copied() else { return };
        let lane = usize::from(id.0 != number);
        self.send_parcel(number, lane, Self::rope_of(rope));
    }

    pub(super) fn close_replica(&mut self, process: ProcessId, id: StreamId) {
        let Some(number) = self.net.replicas.get(&(process, id)).copied() else { return };
        self.close_end(number, usize::from(id.0 != number));
    }

    /// An end closes: what it sent in memory still arrives, what comes to it is dropped.
    fn close_end(&mut self, number: u64, lane: usize) {
        if let Some(stream) = self.net.streams.get_mut(&number) {
            if let Some(own) = stream.lanes.get_mut(lane) {
                own.drop_file_ranges();
            }
            if let Some(other) = stream.lanes.get_mut(1 - lane) {
                other.deaf = true;
            }
        }
        self.send_parcel(number, lane, Parcel::Fin);
    }

    /// The first parcel of a lane may arrive.
    pub(super) fn arrive(&mut self, number: u64, lane: usize) {
        let now = self.now;
        let Some(stream) = self.net.streams.get(&number) else { return };
        let passes = stream.way(lane).is_none_or(|(from, to)| self.net.passes(from, to, now));
        let receiver = stream.ends.get(1 - lane).and_then(End::process);
        let paused =
            receiver.map(|process| self.machine(process.broker)).filter(|found| found.is_paused(now));
        let paused_until = paused.map(|machine| machine.paused_until);
        let Some(stream) = self.net.streams.get_mut(&number) else { return };
        let Some(found) = stream.lanes.get_mut(lane) else { return };
        if let Some(until) = paused_until {
            return self.plan(until, Event::Arrive { stream: number, lane });
        }
        if !passes {
            let since = *found.blocked_since.get_or_insert(now);
            found.put_off();
            if now - since > PATIENCE {
                return self.break_stream(number);
            }
            return self.plan_within((20 * MS, 60 * MS), Event::Arrive { stream: number, lane });
        }
        let (parcel, deaf) = (found.arrive(true), found.deaf);
        if let Some(at) = found.plan() {
            self.plan(at, Event::Arrive { stream: number, lane });
        }
        match parcel {
            Some(Parcel::Fin) => self.take_fin(number, lane),
            Some(parcel) if !deaf => self.take_parcel(number, lane, parcel),
            _ => {}
        }
    }

    fn take_parcel(&mut self, number: u64, lane: usize, parcel: Parcel) {
        let Some(stream) = self.net.streams.get(&number) else { return };
        let [first, second] = stream.ends;
        let (from, to) = if lane == 0 { (first, second) } else { (second, first) };
        let alive = |end: &End| {
            end.process().is_none_or(|process| {
                self.machine(process.broker).process.as_ref().is_some_and(|running| running.id == process)
            })
        };
        if !alive(&to) {
            return;
        }
        match parcel {
            Parcel::Frame(frame) => self.take_frame(from, to, frame),
            Parcel::Bytes(bytes) => self.take_bytes(number, lane, from, to, &bytes),
            Parcel::Rope(rope) => match flatten(rope) {
                Some(bytes) => self.take_bytes(number, lane, from, to, &bytes),
                // The sender can read no more: its process is gone.
                None => self.break_stream(number),
            },
            Parcel::Fin => {}
        }
    }

    fn take_frame(&mut self, from: End, to: End, frame: ControlFrame) {
        let Some(sender) = from.process() else { return };
        let broker = broker_id(sender.broker);
        let (process, source) = match to {
            End::Dialled { process, directory } => (process, FrameSource::Dialled(directory)),
            End::Accepted { process, stream } => (process, FrameSource::Accepted(stream)),
            End::Replica { .. } | End::Served { .. } | End::Client { .. } => return,
        };
        self.with(process, |running, now| {
            running.control.handle_peer_frame(now, source, broker, frame);
        });
    }

    fn take_bytes(&mut self, number: u64, lane: usize, from: End, to: End, bytes: &[u8]) {
        match to {
            End::Replica { process, shard, stream } => {
                let limits = if lane == 0 { FOLLOWER_FRAME_LIMITS } else { LEADER_FRAME_LIMITS };
                let Some(frames) = self.frames(number, lane, bytes, limits) else { return };
                self.with_shard(process, shard, |shard, now| {
                    frames.iter().for_each(|frame| shard.handle_replica_frame(now, stream, frame));
                });
            }
            End::Served { process, shard, connection } => {
                let frame = Bytes::copy_from_slice(bytes);
                self.with_shard(process, shard, |shard, now| shard.handle_frame(now, connection, frame));
            }
            End::Client { client, connection, .. } => {
                if let End::Served { process, shard, .. } = from {
                    let written = bytes.len() as u64;
                    self.with_shard(process, shard, |shard, now| {
                        shard.handle_written(now, connection, written);
                    });
                }
                self.client_bytes(number, lane, client, bytes);
            }
            End::Dialled { .. } | End::Accepted { .. } => {}
        }
    }

    fn frames(
        &mut self,
        number: u64,
        lane: usize,
        bytes: &[u8],
        limits: log_core::FrameLimits,
    ) -> Option<Vec<Frame>> {
        let received = &mut self.net.streams.get_mut(&number)?.lanes.get_mut(lane)?.received;
        received.extend_from_slice(bytes);
        let mut frames = Vec::new();
        loop {
            match Frame::take(received, limits) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => return Some(frames),
                Err(error) => {
                    self.oracle.violate("frames", format!("a broker sends a malformed frame: {error}"));
                    return None;
                }
            }
        }
    }

    fn take_fin(&mut self, number: u64, lane: usize) {
        let Some(stream) = self.net.forget(number) else { return };
        if stream.lanes.get(lane).is_some_and(|found| found.deaf) {
            return;
        }
        if let Some(end) = stream.ends.get(1 - lane) {
            self.tell_end(*end, true);
        }
    }

    /// A stream breaks: both ends learn it, each in its own time.
    pub(crate) fn break_stream(&mut self, number: u64) {
        let Some(stream) = self.net.forget(number) else { return };
        let Stream { ends: [first, second], lanes } = &stream;
        let [to_second, to_first] = lanes;
        if !to_first.deaf {
            self.tell_end(*first, false);
        }
        if !to_second.deaf {
            self.tell_end(*second, false);
        }
    }

    /// An end learns that its stream is gone: at once, or when it notices.
    fn tell_end(&mut self, end: End, at_once: bool) {
        let when = if at_once { (0, 0) } else { (MS, 1_500 * MS) };
        match end {
            End::Replica { process, shard, stream } => {
                self.plan_within(when, Event::Gone { at: process, shard, stream });
            }
            End::Dialled { process, directory } => {
                self.plan_within(when, Event::PeerClosed(process, directory));
            }
            // Control asks nothing of streams that it accepted.
            End::Accepted { .. } => {}
            End::Served { process, shard, connection } => self.with_shard(process, shard, |shard, now| {
                shard.handle_connection_closed(now, connection);
            }),
            End::Client { client, broker, .. } => self.client_closed(client, broker),
        }
    }

    /// A follower calls a leader.
    pub(super) fn dial(
        &mut self,
        from: ProcessId,
        shard: ShardId,
        key: ReplicaKey,
        to: usize,
        to_shard: ShardId,
    ) {
        let answered = self.now + self.latency();
        let leader = self.machines.get(to).and_then(|machine| machine.process.as_ref());
        let leader = leader.filter(|_| self.net.connects(from.broker, to, self.now));
        let Some(leader) = leader.filter(|_| self.machine(to).is_up(self.now)) else {
            let late = self.now + self.dice.between(MS, 800 * MS);
            return self.plan(late, Event::Dialled { from, shard, key, stream: None });
        };
        let leader = leader.id;
        let number = self.net.number();
        let (near, far) = (StreamId(number), StreamId(number + 1));
        let ends = [
            End::Replica { process: from, shard, stream: near },
            End::Replica { process: leader, shard: to_shard, stream: far },
        ];
        self.net.open(number, ends);
        let peer = broker_id(from.broker);
        self.with_shard(leader, to_shard, |shard, now| shard.handle_replica_accepted(now, far, peer));
        self.plan(answered, Event::Dialled { from, shard, key, stream: Some(number) });
    }

    pub(super) fn dialled(&mut self, from: ProcessId, shard: ShardId, key: ReplicaKey, stream: Option<u64>) {
        let open = stream.filter(|number| self.net.streams.contains_key(number));
        self.with_shard(from, shard, |shard, now| match open {
            Some(number) => shard.handle_replica_connected(now, key, StreamId(number)),
            None => shard.handle_replica_refused(now, key),
        });
    }

    /// Control speaks to a node; a stream is opened if there is none.
    pub(super) fn send_peer(&mut self, process: ProcessId, peer: &Peer, frame: ControlFrame) {
        let directory = peer.directory;
        if let Some(number) = self.net.dialled.get(&(process, directory)).copied() {
            return self.send_parcel(number, 0, Parcel::Frame(frame));
        }
        match self.called(process, directory) {
            Some(node) => {
                let number = self.net.number();
                let stream = PeerStreamId(number);
                let ends = [End::Dialled { process, directory }, End::Accepted { process: node, stream }];
                self.net.open(number, ends);
                self.send_parcel(number, 0, Parcel::Frame(frame));
            }
            None => self.plan_within((MS, 900 * MS), Event::PeerClosed(process, directory)),
        }
    }

    /// The process that answers for a directory, if it can be reached.
    fn called(&self, process: ProcessId, directory: DirectoryId) -> Option<ProcessId> {
        let broker = self.broker_of(directory)?;
        let reached =
            self.net.connects(process.broker, broker, self.now) && self.machine(broker).is_up(self.now);
        self.machine(broker).process.as_ref().filter(|_| reached).map(|running| running.id)
    }

    pub(super) fn reply_peer(&mut self, process: ProcessId, stream: PeerStreamId, frame: ControlFrame) {
        if let Some(number) = self.net.accepted.get(&(process, stream)).copied() {
            self.send_parcel(number, 1, Parcel::Frame(frame));
        }
    }

    pub(super) fn send_client(
        &mut self,
        process: ProcessId,
        connection: ConnectionId,
        rope: Rope<MemoryFile>,
    ) {
        if let Some(number) = self.net.connections.get(&connection).copied()
            && self
                .net
                .streams
                .get(&number)
                .is_some_and(|stream| stream.ends.iter().any(|end| end.process() == Some(process)))
        {
            self.send_parcel(number, 1, Self::rope_of(rope));
        }
    }

    /// A client comes in at a shard.
    pub(crate) fn open_connection(&mut self, process: ProcessId, shard: ShardId, connection: ConnectionId) {
        let door = Door { kind: DoorKind::Tcp, local: None, peer: None };
        self.with_shard(process, shard, |shard, now| shard.handle_connection_opened(now, connection, door));
    }

    /// What is still on its way to a connection arrives where it has moved to.
    pub(super) fn move_connection(
        &mut self,
        process: ProcessId,
        connection: ConnectionId,
        door: Door,
        to: ShardId,
    ) {
        let Some(number) = self.net.connections.get(&connection).copied() else { return };
        let ends = self.net.streams.get_mut(&number).into_iter().flat_map(|stream| &mut stream.ends);
        for end in ends {
            if let End::Served { shard, .. } = end {
                *shard = to;
            }
        }
        self.with_shard(process, to, |shard, now| shard.handle_connection_moved(now, connection, door));
    }

    pub(super) fn close_connection(&mut self, connection: ConnectionId) {
        if let Some(number) = self.net.connections.get(&connection).copied() {
            self.close_end(number, 1);
        }
    }

    /// The process of a broker is gone, and its streams with it.
    pub(super) fn end_process(&mut self, broker: usize, power: Option<u64>) {
        let process = self.machine(broker).process.as_ref().map(|running| running.id);
        self.oracle_before_crash(broker, power.is_some());
        self.machine_mut(broker).end(power);
        for number in process.into_iter().flat_map(|process| self.net.of(process)).collect::<Vec<_>>() {
            self.break_stream(number);
        }
        self.oracle_after_crash(broker);
    }
}
