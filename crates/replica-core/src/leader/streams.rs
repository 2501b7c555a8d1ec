//! The streams of a leader's followers: the handshake, acknowledgements, and which push is due (the steps in `docs/format/replica-frames.md`; L7, L8).

use alloc::vec::Vec;

use log_core::{BrokerEpoch, BrokerId, EpochCache, LeaderEpoch, MonoTime, Offset, Session};

use super::Leader;
use super::progress::{Cursor, FollowerStream, Progress};
use crate::action::{LeaderAction, LeaderAlarm, PushOrder};
use crate::frames::{Ack, FollowerFrame, LeaderFrame, Lineage, Open, Push, StreamRefusal};
use crate::mutation::{Mutation, on};
use crate::stream::{CloseReason, StreamId};

impl Leader {
    /// A frame came from a follower. The first one of a stream is an Open.
    pub fn handle_frame(
        &mut self,
        now: MonoTime,
        stream: StreamId,
        frame: &FollowerFrame,
        epochs: &EpochCache,
    ) {
        match *frame {
            FollowerFrame::Open(ref open) => self.handle_open(now, stream, open, epochs),
            FollowerFrame::Ask { session, epoch } => self.handle_ask(now, stream, session, epoch, epochs),
            FollowerFrame::From { session, offset, credit } => {
                self.handle_from(now, stream, session, offset, credit);
            }
            FollowerFrame::Ack(ref ack) => self.handle_ack(now, stream, ack),
            FollowerFrame::LogStart { session, log_start } => {
                self.handle_confirmed_start(now, stream, session, log_start);
            }
            FollowerFrame::Conflict { session, high_watermark, cut_to } => {
                let alarm = |follower| LeaderAlarm::Conflict { follower, high_watermark, cut_to };
                self.handle_trouble(now, stream, session, CloseReason::Conflict, alarm);
            }
            FollowerFrame::BadBatch { session, offset } => {
                let alarm = |follower| LeaderAlarm::BadBatch { follower, offset };
                self.handle_trouble(now, stream, session, CloseReason::BadBatch, alarm);
            }
        }
    }

    /// A follower asks to follow on a stream that it opened (steps 1 and 2).
    pub fn handle_open(&mut self, now: MonoTime, stream: StreamId, open: &Open, epochs: &EpochCache) {
        if self.streams.contains_key(&stream) {
            self.on_protocol_breach(stream);
        } else if let Err(refusal) = self.admit(open) {
            let frame = LeaderFrame::Refused { session: open.session, refusal };
            self.actions.push_back(LeaderAction::Send { stream, frame });
            self.actions.push_back(LeaderAction::Close { stream, reason: CloseReason::Refused });
        } else if self.is_old_session(open) {
            self.actions.push_back(LeaderAction::Close { stream, reason: CloseReason::Replaced });
        } else {
            self.begin_session(stream, open);
            self.send_lineage(stream, open.session, open.last_epoch, epochs);
        }
        self.settle(now);
    }

    /// A follower does not know the epoch of the last lineage and asks about a smaller one (step 3).
    pub fn handle_ask(
        &mut self,
        now: MonoTime,
        stream: StreamId,
        session: Session,
        epoch: LeaderEpoch,
        epochs: &EpochCache,
    ) {
        if let Some((_, progress)) = self.session_on(stream, session) {
            if progress.cursor().is_some() {
                self.on_protocol_breach(stream);
            } else {
                self.send_lineage(stream, session, Some(epoch), epochs);
            }
        }
        self.settle(now);
    }

    /// The follower's log agrees below `offset`: pushes begin there.
    pub fn handle_from(
        &mut self,
        now: MonoTime,
        stream: StreamId,
        session: Session,
        offset: Offset,
        credit: u64,
    ) {
        let (start, end) = (self.log.first_batch.unwrap_or(self.log.log_start), self.log.appended_end);
        if let Some((follower, progress)) = self.session_on(stream, session) {
            if progress.cursor().is_some() || offset > end {
                self.on_protocol_breach(stream);
            } else if offset < start {
                self.close(stream, CloseReason::BelowLogStart);
            } else {
                progress.appended = offset;
                if let Some(stream) = &mut progress.stream {
                    stream.cursor = Some(Cursor::at(offset, credit));
                }
                self.judge_end(follower, offset);
            }
        }
        self.settle(now);
    }

    /// Where a follower's log stands (step 6). Acks of any other session than the stream's are not applied.
    pub fn handle_ack(&mut self, now: MonoTime, stream: StreamId, ack: &Ack) {
        let end = self.log.appended_end;
        let Some((follower, progress)) = self.session_on(stream, ack.session) else {
            self.settle(now);
            return;
        };
        let possible = progress.cursor().is_some_and(|cursor| {
            ack.appended_end <= cursor.next_offset && ack.durable_end <= ack.appended_end
        });
        let forward = ack.appended_end >= progress.appended
            && progress.durable.is_none_or(|old| ack.durable_end >= old);
        let tolerant = on(Mutation::T13Ack) || on(Mutation::H8);
        if !(tolerant || possible && forward) {
            self.on_protocol_breach(stream);
            self.settle(now);
            return;
        }
        progress.appended = progress.appended.max(ack.appended_end);
        if let Some(cursor) = progress.cursor_mut() {
            cursor.credit = cursor.credit.max(ack.credit);
        }
        if progress.behind {
            progress.withheld = Some(ack.durable_end);
        } else {
            progress.durable = progress.durable.max(Some(ack.durable_end));
            progress.lag.on_durable(now, ack.durable_end, end);
            self.judge_end(follower, ack.durable_end);
        }
        self.settle(now);
    }

    /// A push is handed to the stream: batches up to `next_offset`, `bytes` of them. For an order whose log read found
    /// nothing, its own base offset and zero: if batches were wanted the stream is closed, and the follower comes back
    /// after a pause.
    pub fn handle_pushed(&mut self, now: MonoTime, stream: StreamId, next_offset: Offset, bytes: usize) {
        let progress = self.streams.get(&stream).and_then(|follower| self.followers.get_mut(follower));
        if let Some(cursor) = progress.and_then(Progress::cursor_mut) {
            let wanted = cursor.pushing.take().is_some_and(|max_bytes| max_bytes > 0);
            cursor.next_offset = next_offset;
            cursor.pushed_bytes =
                cursor.pushed_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            if wanted && bytes == 0 {
                self.close(stream, CloseReason::Faulty);
            }
        }
        self.settle(now);
    }

    /// A stream ended. What its follower acknowledged on it stays true.
    pub fn handle_stream_closed(&mut self, now: MonoTime, stream: StreamId) {
        self.forget_stream(stream);
        self.settle(now);
    }

    /// Step 2: the leader serves exactly its epoch, to replicas under the registration that it has applied.
    fn admit(&self, open: &Open) -> Result<(), StreamRefusal> {
        if self.left {
            return Err(StreamRefusal::NotLeader);
        }
        if open.partition != self.view.partition {
            return Err(StreamRefusal::OtherTopic);
        }
        if open.leader_epoch < self.identity.epoch && !on(Mutation::T8) {
            return Err(StreamRefusal::OldEpoch);
        }
        if open.leader_epoch > self.identity.epoch && !on(Mutation::T8) {
            return Err(StreamRefusal::NewEpoch);
        }
        let known = self.followers.get(&open.follower).ok_or(StreamRefusal::NotReplica)?;
        if open.broker_epoch < known.broker_epoch && !on(Mutation::H10) {
            return Err(StreamRefusal::OldBrokerEpoch);
        }
        if open.broker_epoch > known.broker_epoch && !on(Mutation::H10) {
            return Err(StreamRefusal::NotYet);
        }
        // A follower that began at the log start, in the midst of a batch, could append nothing.
        match self.log.first_batch {
            Some(_) => Ok(()),
            None => Err(StreamRefusal::NotYet),
        }
    }

    fn is_old_session(&self, open: &Open) -> bool {
        let known = self.followers.get(&open.follower).and_then(|progress| progress.session);
        known.is_some_and(|known| open.session <= known) && !on(Mutation::H10)
    }

    /// The newest session replaces the one before. Its ends are unknown until it acknowledges them.
    fn begin_session(&mut self, stream: StreamId, open: &Open) {
        let replaced = self.followers.get(&open.follower).and_then(|progress| progress.stream);
        if let Some(replaced) = replaced.filter(|_| !on(Mutation::T13Ack)) {
            self.close(replaced.id, CloseReason::Replaced);
        }
        let progress =
            self.followers.get_mut(&open.follower).expect("a stream is admitted for a known follower only");
        progress.broker_epoch = if on(Mutation::H10) { open.broker_epoch } else { progress.broker_epoch };
        progress.session = Some(open.session);
        progress.stream = Some(FollowerStream { id: stream, cursor: None });
        progress.log_start = Offset::ZERO;
        if !on(Mutation::H8) && !on(Mutation::L7) {
            (progress.durable, progress.withheld) = (None, None);
            progress.appended = Offset::ZERO;
        }
        self.streams.insert(stream, open.follower);
        self.judge_end(open.follower, open.log_end);
    }

    /// L7: a member of the ISR that has less than it must have acknowledged holds the high watermark. An undecided
    /// addition may lawfully come back with less: under a new registration, which makes the addition void.
    fn judge_end(&mut self, follower: BrokerId, end: Offset) {
        let high_watermark = self.log.high_watermark;
        if !self.view.in_isr(follower) || end >= high_watermark || on(Mutation::L7) {
            return;
        }
        let Some(progress) = self.followers.get_mut(&follower) else { return };
        progress.durable = None;
        if !progress.behind {
            progress.behind = true;
            let alarm = LeaderAlarm::MemberBehind { member: follower, end, high_watermark };
            self.actions.push_back(LeaderAction::Alarm(alarm));
        }
    }

    fn send_lineage(
        &mut self,
        stream: StreamId,
        session: Session,
        asked: Option<LeaderEpoch>,
        epochs: &EpochCache,
    ) {
        let Some(log_start) = self.log.first_batch else { return self.close(stream, CloseReason::Refused) };
        let log_end = self.log.appended_end;
        // The first epoch begins where the log does, in the midst of a batch too; logs part between batches.
        let begins = |start: Offset| if start <= self.log.log_start { log_start } else { start };
        let first = epochs.entries().first().map_or(log_end, |first| begins(first.start));
        let known = asked.and_then(|asked| epochs.end_offset_for(asked, log_end));
        let (epoch, end) = match known {
            Some((epoch, _)) if on(Mutation::T2) && Some(epoch) != asked => (asked, log_end),
            Some((epoch, end)) => (Some(epoch), end),
            None => (asked, first),
        };
        let frame = LeaderFrame::Lineage(Lineage { session, epoch, end, log_start });
        self.actions.push_back(LeaderAction::Send { stream, frame });
    }

    fn handle_trouble(
        &mut self,
        now: MonoTime,
        stream: StreamId,
        session: Session,
        reason: CloseReason,
        alarm: impl FnOnce(BrokerId) -> LeaderAlarm,
    ) {
        if let Some((follower, _)) = self.session_on(stream, session) {
            self.actions.push_back(LeaderAction::Alarm(alarm(follower)));
            self.actions.push_back(LeaderAction::ScrubBelowHighWatermark { follower });
            self.close(stream, reason);
        }
        self.settle(now);
    }

    /// The follower whose present session runs on `stream`. A frame of another session breaks the protocol.
    pub(super) fn session_on(
        &mut self,
        stream: StreamId,
        session: Session,
    ) -> Option<(BrokerId, &mut Progress)> {
        let follower = *self.streams.get(&stream)?;
        let same = self.followers.get(&follower)?.session == Some(session);
        if !same && !on(Mutation::T13Ack) {
            self.on_protocol_breach(stream);
            return None;
        }
        Some((follower, self.followers.get_mut(&follower)?))
    }

    pub(super) fn on_protocol_breach(&mut self, stream: StreamId) {
        if let Some(&follower) = self.streams.get(&stream) {
            self.actions.push_back(LeaderAction::Alarm(LeaderAlarm::Protocol { follower }));
        }
        self.close(stream, CloseReason::Protocol);
    }

    fn close(&mut self, stream: StreamId, reason: CloseReason) {
        self.forget_stream(stream);
        self.actions.push_back(LeaderAction::Close { stream, reason });
    }

    fn forget_stream(&mut self, stream: StreamId) {
        let follower = self.streams.remove(&stream);
        if let Some(progress) = follower.and_then(|follower| self.followers.get_mut(&follower)) {
            progress.stream.take_if(|running| running.id == stream);
        }
    }

    /// What a follower needs next is deleted: it has to begin anew (step 4).
    pub(super) fn close_streams_below_log_start(&mut self) {
        let first_batch = self.log.first_batch.unwrap_or(self.log.log_start);
        let below = |progress: &Progress| {
            let stream = progress.stream?;
            stream.cursor.is_some_and(|cursor| cursor.next_offset < first_batch).then_some(stream.id)
        };
        let streams: Vec<StreamId> = self.followers.values().filter_map(below).collect();
        for stream in streams {
            self.close(stream, CloseReason::BelowLogStart);
        }
    }

    /// Takes the replicas of the applied view: new ones are unknown, gone ones are forgotten, and a new incarnation
    /// makes old ends unknown (L7).
    pub(super) fn meet_replicas(&mut self, now: MonoTime) {
        let gone = |broker: &BrokerId| self.view.replica(*broker).is_none() && !on(Mutation::H9);
        let gone: Vec<BrokerId> = self.followers.keys().copied().filter(gone).collect();
        for broker in gone {
            self.close_stream_of(broker);
            self.followers.remove(&broker);
        }
        let own = self.identity.own;
        let met: Vec<(BrokerId, BrokerEpoch)> = (self.view.replicas.iter())
            .filter(|replica| replica.broker != own)
            .map(|replica| (replica.broker, replica.broker_epoch))
            .collect();
        for (broker, broker_epoch) in met {
            let unknown = Progress::unknown(now, broker_epoch, self.log.appended_end);
            let known = self.followers.entry(broker).or_insert(unknown).broker_epoch;
            if known != broker_epoch && !on(Mutation::L7) && !on(Mutation::H10) {
                self.close_stream_of(broker);
                let behind = self.followers.get(&broker).is_some_and(|progress| progress.behind);
                let anew = Progress { behind, ..Progress::unknown(now, broker_epoch, self.log.appended_end) };
                self.followers.insert(broker, anew);
            } else if let (Some(progress), true) = (self.followers.get_mut(&broker), on(Mutation::L7)) {
                progress.broker_epoch = broker_epoch;
                progress.session = None;
            }
            let (member, end) = (self.view.in_isr(broker), self.log.appended_end);
            if let Some(progress) =
                self.followers.get_mut(&broker).filter(|progress| progress.behind && !member)
            {
                progress.end_behind(now, end);
            }
        }
    }

    fn close_stream_of(&mut self, broker: BrokerId) {
        if let Some(stream) = self.followers.get(&broker).and_then(|progress| progress.stream) {
            self.close(stream.id, CloseReason::NotReplica);
        }
    }

    /// The next push that is due: batches where there are some and the follower takes them, else high watermark and
    /// log start alone where they moved (L8). A stream with a push under way waits for it.
    pub(super) fn next_push(&mut self) -> Option<PushOrder> {
        let (log, push_bytes_max) = (self.log, self.settings.push_bytes_max);
        for progress in self.followers.values_mut() {
            let Some((session, stream)) = progress.session.zip(progress.stream.as_mut()) else { continue };
            let (id, Some(cursor)) = (stream.id, stream.cursor.as_mut()) else { continue };
            let credit = usize::try_from(cursor.credit_left()).unwrap_or(usize::MAX);
            let batches = cursor.next_offset < log.appended_end && credit > 0;
            let moved = cursor.told_high_watermark != Some(log.high_watermark)
                || cursor.told_log_start != Some(log.log_start);
            if cursor.pushing.is_some() || !(batches || (moved && !on(Mutation::L8))) {
                continue;
            }
            let max_bytes = if batches { push_bytes_max.min(credit) } else { 0 };
            cursor.pushing = Some(max_bytes);
            cursor.told_high_watermark = Some(log.high_watermark);
            cursor.told_log_start = Some(log.log_start);
            let (base_offset, high_watermark) = (cursor.next_offset, log.high_watermark);
            let push = Push { session, base_offset, high_watermark, log_start: log.log_start };
            return Some(PushOrder { stream: id, push, max_bytes });
        }
        None
    }
}
