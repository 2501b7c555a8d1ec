//! Where two logs part, and the cut that follows from it (steps 1 to 4).

use log_core::{EpochCache, LeaderEpoch, MonoTime, Offset};

use super::{Follower, Handshake, State, Target};
use crate::action::{FollowerAction, FollowerAlarm};
use crate::frames::{FollowerFrame, LeaderFrame, Lineage, Open, StreamRefusal};
use crate::mutation::{Mutation, on};
use crate::stream::{CloseReason, StreamId};

/// What a lineage says to do.
enum Agreement {
    /// The own log knows the answered epoch not; this is its largest below.
    AskAbout(LeaderEpoch),
    /// The logs agree below this offset.
    Upto(Offset),
}

impl Follower {
    /// A frame came from the leader. Frames of any other stream or session than the present one are not applied.
    pub fn handle_frame(&mut self, now: MonoTime, stream: StreamId, frame: LeaderFrame, epochs: &EpochCache) {
        let present = self.stream() == Some(stream) && frame.session() == self.session;
        let stale_push = matches!(frame, LeaderFrame::Push { .. }) && on(Mutation::T13Push);
        if present || stale_push {
            match frame {
                LeaderFrame::Refused { refusal, .. } => self.on_refused(now, refusal),
                LeaderFrame::Lineage(lineage) => self.on_lineage(now, &lineage, epochs),
                LeaderFrame::Push { push, batches } => self.on_push(now, &push, batches),
            }
        }
        self.check();
    }

    /// The log refused the cut: it lies below the high watermark recorded on disk (D4).
    pub fn handle_cut_refused(&mut self, now: MonoTime, cut_to: Offset) {
        if let State::Cutting(handshake) = core::mem::replace(&mut self.state, State::Idle) {
            self.log.cutting = false;
            match handshake {
                Some(handshake) => self.on_conflict(now, handshake, cut_to),
                None => self.connect(now),
            }
        }
        self.check();
    }

    pub(super) fn open(&mut self, now: MonoTime, target: Target, stream: StreamId) {
        let last_epoch = if on(Mutation::T7) { Some(target.leader_epoch) } else { self.log.last_epoch };
        let open = Open {
            partition: self.view.partition,
            leader_epoch: target.leader_epoch,
            follower: self.own,
            broker_epoch: target.own_epoch,
            session: self.session,
            last_epoch,
            log_end: self.log.appended_end,
        };
        self.send(stream, FollowerFrame::Open(open));
        let until = now.after(self.settings.handshake_timeout);
        self.state = State::AwaitingLineage(Handshake { target, stream, until });
    }

    fn on_refused(&mut self, now: MonoTime, refusal: StreamRefusal) {
        let lasting = match refusal {
            StreamRefusal::NotLeader
            | StreamRefusal::OldEpoch
            | StreamRefusal::NewEpoch
            | StreamRefusal::NotYet => false,
            StreamRefusal::OtherTopic | StreamRefusal::NotReplica | StreamRefusal::OldBrokerEpoch => true,
        };
        if let (true, Some(target)) = (lasting, self.followed()) {
            self.alarm(FollowerAlarm::Refused { leader: target.leader, refusal });
        }
        self.close(now, CloseReason::Refused);
    }

    fn on_lineage(&mut self, now: MonoTime, lineage: &Lineage, epochs: &EpochCache) {
        let State::AwaitingLineage(handshake) = self.state else {
            self.close(now, CloseReason::Protocol);
            return;
        };
        if self.log.appended_end < lineage.log_start && !on(Mutation::T12) {
            self.begin_anew(now, handshake, lineage.log_start);
            return;
        }
        match self.agreement(lineage, epochs) {
            Agreement::AskAbout(epoch) => {
                self.send(handshake.stream, FollowerFrame::Ask { session: self.session, epoch });
                let until = now.after(self.settings.handshake_timeout);
                self.state = State::AwaitingLineage(Handshake { until, ..handshake });
            }
            Agreement::Upto(offset) if self.vouches_for_nothing(offset, lineage) => {
                self.begin_anew(now, handshake, lineage.log_start);
            }
            Agreement::Upto(offset) => self.cut(now, handshake, offset),
        }
    }

    /// Whether an agreement lies below everything that the leader has: whose records this log holds there, nobody can say (ADR 0013). A
    /// replica with a seat has what is committed there.
    fn vouches_for_nothing(&self, offset: Offset, lineage: &Lineage) -> bool {
        offset <= lineage.log_start && self.log.log_start < lineage.log_start && !self.view.has_seat(self.own)
    }

    /// Step 3. In a log without batches nothing can differ. Of an epoch below all own ones the own end is the start
    /// of the first: nothing of the own log is of that epoch or before.
    fn agreement(&self, lineage: &Lineage, epochs: &EpochCache) -> Agreement {
        let log_end = self.log.appended_end;
        let (Some(epoch), Some(first)) = (lineage.epoch, epochs.entries().first()) else {
            return Agreement::Upto(log_end);
        };
        if on(Mutation::T1) {
            return Agreement::Upto(self.log.high_watermark);
        }
        match epochs.end_offset_for(epoch, log_end) {
            Some((own, own_end)) if own == epoch => {
                Agreement::Upto(if on(Mutation::T3) { lineage.end } else { own_end.min(lineage.end) })
            }
            Some(_) if on(Mutation::T3) => Agreement::Upto(lineage.end),
            Some((own, _)) => Agreement::AskAbout(own),
            None => Agreement::Upto(first.start.min(lineage.end)),
        }
    }

    /// Step 4: nothing that the leader still has continues this log. Without a seat it drops all; with one it keeps
    /// all and waits for a view without it: the leader, whom Open has shown the end, has it removed and alarms (L7).
    /// That is so in the ISR. Of a member that is only eligible nobody else can say so (ADR 0018).
    fn begin_anew(&mut self, now: MonoTime, handshake: Handshake, log_start: Offset) {
        if self.view.has_seat(self.own) {
            if self.is_suspect_and_eligible() {
                self.actions.push_back(FollowerAction::GiveUpSeat);
            }
            self.close(now, CloseReason::BelowLogStart);
            return;
        }
        self.log.cutting = true;
        self.state = State::Cutting(Some(handshake));
        self.actions.push_back(FollowerAction::DropAll { start_at: log_start });
    }

    /// Whether it is a last resort: a member of the ELR that may have lost what was committed.
    fn is_suspect_and_eligible(&self) -> bool {
        let suspect = self.view.replica(self.own).is_some_and(|own| own.suspect);
        suspect && !self.view.isr.contains(&self.own)
    }

    fn cut(&mut self, now: MonoTime, handshake: Handshake, to: Offset) {
        if to >= self.log.appended_end || on(Mutation::T4) {
            self.stream_from_end(handshake);
        } else if to < self.log.high_watermark {
            self.on_conflict(now, handshake, to);
        } else {
            self.log.cutting = true;
            self.state = State::Cutting(Some(handshake));
            self.actions.push_back(FollowerAction::Cut { to });
        }
    }

    /// D4: one of the two is damaged, and it may be the leader. Data and seat are kept.
    fn on_conflict(&mut self, now: MonoTime, handshake: Handshake, cut_to: Offset) {
        let (leader, high_watermark) = (handshake.target.leader, self.log.high_watermark);
        self.alarm(FollowerAlarm::Conflict { leader, high_watermark, cut_to });
        let (session, stream) = (self.session, handshake.stream);
        self.send(stream, FollowerFrame::Conflict { session, high_watermark, cut_to });
        self.actions.push_back(FollowerAction::Close { stream, reason: CloseReason::Conflict });
        self.state = State::Idle;
        self.pause_until(now.after(self.settings.lag_max));
    }
}
