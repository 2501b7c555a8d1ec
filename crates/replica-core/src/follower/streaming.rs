//! Pushes: what is checked before it is appended, when the high watermark is taken, and what is acknowledged
//! (steps 5 and 6).

use alloc::collections::VecDeque;

use bytes::Bytes;
use log_core::batch::check_stored;
use log_core::{Crc32c, LeaderEpoch, MonoTime, Offset};

use super::{Follower, Handshake, State};
use crate::action::{FollowerAction, FollowerAlarm};
use crate::error::PushFault;
use crate::frames::{Ack, FollowerFrame, Push};
use crate::mutation::{Mutation, on};
use crate::stream::CloseReason;

/// A session that takes pushes.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) handshake: Handshake,
    /// Where the next push has to begin: the own end once all that was handed out is appended.
    pub(crate) next_offset: Offset,
    /// The epoch of the last batch handed out.
    last_epoch: Option<LeaderEpoch>,
    /// The leader's high watermark and log start.
    leader_high_watermark: Offset,
    leader_log_start: Offset,
    /// Bytes of batches received in this session.
    received_bytes: u64,
    /// Bytes of batches that are durable.
    durable_bytes: u64,
    /// Ends of pushes that are not durable yet, and the bytes received up to them.
    undurable: VecDeque<(Offset, u64)>,
    /// The credit that the leader was told.
    told_credit: u64,
    /// The log start that the leader was told.
    told_log_start: Offset,
    ack_due: bool,
}

impl Follower {
    /// Batches are appended; the log ends at `end`. The leader is told with the next sync: nothing that it does depends on
    /// more than that (ADR 0021).
    pub fn handle_appended(&mut self, _now: MonoTime, end: Offset) {
        self.log.appended_end = end;
        if let State::Streaming(flow) = &mut self.state {
            self.log.last_epoch = flow.last_epoch;
        }
        self.check();
    }

    /// The log refused an append; its owner knows why. The stream ends, and no other is opened.
    pub fn handle_append_failed(&mut self, _now: MonoTime) {
        self.stop(CloseReason::Faulty);
    }

    /// The log is durable up to `end`.
    pub fn handle_durable(&mut self, _now: MonoTime, end: Offset) {
        self.log.durable_end = end;
        if let State::Streaming(flow) = &mut self.state {
            while let Some((_, bytes)) = flow.undurable.pop_front_if(|(pushed, _)| *pushed <= end) {
                flow.durable_bytes = bytes;
            }
            flow.ack_due = true;
        }
        self.check();
    }

    /// A start after a power cut would find this log start.
    pub fn handle_durable_log_start(&mut self, _now: MonoTime, start: Offset) {
        self.log.durable_log_start = start;
        self.check();
    }

    /// The logs agree up to the own end: ask for what follows.
    pub(super) fn stream_from_end(&mut self, handshake: Handshake) {
        let (session, offset, credit) = (self.session, self.log.appended_end, self.settings.window_bytes);
        self.send(handshake.stream, FollowerFrame::From { session, offset, credit });
        self.state = State::Streaming(Flow {
            handshake,
            next_offset: offset,
            last_epoch: self.log.last_epoch,
            leader_high_watermark: Offset::ZERO,
            leader_log_start: Offset::ZERO,
            received_bytes: 0,
            durable_bytes: 0,
            undurable: VecDeque::new(),
            told_credit: credit,
            told_log_start: Offset::ZERO,
            ack_due: true,
        });
    }

    pub(super) fn on_push(&mut self, now: MonoTime, push: &Push, batches: Bytes) {
        if on(Mutation::T5) {
            self.take_high_watermark_at_once(push);
        }
        let State::Streaming(flow) = &mut self.state else {
            if !on(Mutation::T5) && !on(Mutation::T13Push) {
                self.close(now, CloseReason::Protocol);
            }
            return;
        };
        let uninvited = !batches.is_empty() && flow.received_bytes >= flow.told_credit;
        if uninvited || push.base_offset != flow.next_offset {
            if !on(Mutation::T13Push) {
                self.close(now, CloseReason::Protocol);
            }
            return;
        }
        match flow.check_batches(&batches, self.crc) {
            Ok((end, last_epoch)) => {
                flow.take(push, end, last_epoch, batches.len());
                let stream_epoch = flow.handshake.target.leader_epoch;
                if !batches.is_empty() {
                    self.backoff.reset();
                    self.actions.push_back(FollowerAction::Append { batches, stream_epoch });
                }
            }
            Err(fault) => self.on_bad_push(now, fault),
        }
    }

    fn on_bad_push(&mut self, now: MonoTime, fault: PushFault) {
        if let Some(target) = self.followed() {
            self.alarm(FollowerAlarm::BadPush { leader: target.leader, fault });
        }
        if let (PushFault::Batch { at, .. }, Some(stream)) = (fault, self.stream()) {
            self.send(stream, FollowerFrame::BadBatch { session: self.session, offset: at });
        }
        self.close(now, CloseReason::BadBatch);
    }

    fn take_high_watermark_at_once(&mut self, push: &Push) {
        let taken = push.high_watermark.min(self.log.appended_end);
        if taken > self.log.high_watermark {
            self.log.high_watermark = taken;
            self.actions.push_back(FollowerAction::HighWatermark(taken));
        }
    }

    /// The high watermark, at most the own appended end and never back; the log start, at most the high watermark.
    pub(super) fn next_offset_action(&mut self) -> Option<FollowerAction> {
        let State::Streaming(flow) = &self.state else { return None };
        let high_watermark = flow.leader_high_watermark.min(self.log.appended_end);
        if high_watermark > self.log.high_watermark {
            self.log.high_watermark = high_watermark;
            return Some(FollowerAction::HighWatermark(high_watermark));
        }
        let told = if on(Mutation::L9) { self.log.high_watermark } else { flow.leader_log_start };
        let log_start = told.min(self.log.high_watermark);
        if log_start > self.log.log_start {
            self.log.log_start = log_start;
            return Some(FollowerAction::LogStart(log_start));
        }
        None
    }

    /// L11: what is deleted here for good, where the leader does not know it. A log that begins at 0 has deleted nothing.
    pub(super) fn next_log_start(&mut self) -> Option<FollowerAction> {
        let (session, log_start) = (self.session, self.log.durable_log_start);
        let State::Streaming(flow) = &mut self.state else { return None };
        if !self.view.confirms_log_starts || log_start <= flow.told_log_start {
            return None;
        }
        flow.told_log_start = log_start;
        let frame = FollowerFrame::LogStart { session, log_start };
        Some(FollowerAction::Send { stream: flow.handshake.stream, frame })
    }

    /// One ack for all that was synced since the last one.
    pub(super) fn next_ack(&mut self) -> Option<FollowerAction> {
        let (session, window_bytes, log) = (self.session, self.settings.window_bytes, self.log);
        let State::Streaming(flow) = &mut self.state else { return None };
        if !core::mem::take(&mut flow.ack_due) {
            return None;
        }
        flow.told_credit = flow.durable_bytes.saturating_add(window_bytes);
        let durable_end = if on(Mutation::H5) { log.appended_end } else { log.durable_end };
        let ack = Ack { session, appended_end: log.appended_end, durable_end, credit: flow.told_credit };
        Some(FollowerAction::Send { stream: flow.handshake.stream, frame: FollowerFrame::Ack(ack) })
    }
}

impl Flow {
    fn take(&mut self, push: &Push, end: Offset, last_epoch: Option<LeaderEpoch>, bytes: usize) {
        self.next_offset = end;
        self.last_epoch = last_epoch;
        self.leader_high_watermark = self.leader_high_watermark.max(push.high_watermark);
        self.leader_log_start = self.leader_log_start.max(push.log_start);
        if bytes > 0 {
            self.received_bytes =
                self.received_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            self.undurable.push_back((end, self.received_bytes));
        }
    }

    /// Proves that the batches continue the log, hold their checksums, and are of epochs from the last one's to the
    /// stream's; answers the end and the epoch of the last.
    fn check_batches(&self, batches: &[u8], crc: Crc32c) -> Result<(Offset, Option<LeaderEpoch>), PushFault> {
        let (mut end, mut last_epoch) = (self.next_offset, self.last_epoch);
        let stream = self.handshake.target.leader_epoch;
        let mut rest = batches;
        while !rest.is_empty() {
            let batch = check_stored(rest, crc).map_err(|error| PushFault::Batch { at: end, error })?;
            let found = batch.leader_epoch;
            if batch.base_offset != end {
                return Err(PushFault::Gap { expected: end, found: batch.base_offset });
            }
            if found > stream && !on(Mutation::T6) {
                return Err(PushFault::AboveStream { stream, found });
            }
            if let Some(previous) = last_epoch.filter(|previous| found < *previous) {
                return Err(PushFault::BelowPrevious { previous, found });
            }
            (end, last_epoch) = (batch.next_offset(), Some(found));
            rest = rest.get(batch.batch_bytes..).expect("a checked batch ends inside its bytes");
        }
        Ok((end, last_epoch))
    }
}
