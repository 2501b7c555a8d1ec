//! What may happen next, and how often.

use alloc::vec::Vec;

use log_core::{Frame, Offset};

use super::{Role, World, id, index};
use crate::action::IsrAnswer;
use crate::frames::{FOLLOWER_FRAME_LIMITS, FollowerFrame, LEADER_FRAME_LIMITS, LeaderFrame};
use crate::view::LogFacts;

impl World {
    /// One thing happens; most things are calm, some are faults.
    pub(crate) fn step(&mut self) {
        let broker = self.random.below(self.processes.len());
        self.now.0 += self.random.next() % 60_000_000;
        if self.random.below(1000) < self.faults {
            self.fault(broker);
        } else {
            self.calm(broker);
        }
        self.poll_left(broker);
        if self.wiped.is_some_and(|wiped| self.has_registered(wiped) && self.metadata.head().in_isr(wiped)) {
            self.wiped = None;
        }
        self.check();
    }

    fn calm(&mut self, broker: usize) {
        match self.random.below(100) {
            0..12 => self.produce(broker),
            12..26 => self.sync(broker),
            26..44 => self.deliver_down(),
            44..60 => self.deliver_up(),
            60..70 => self.apply_metadata(broker),
            70..76 => self.dial(),
            76..81 => self.carry_request(),
            81..86 => (0..self.processes.len()).for_each(|broker| self.time_out(broker)),
            86..89 => self.finish_cut(broker),
            89..93 => self.tell_of_an_end(),
            93..99 => self.revive(broker),
            _ => self.retain(broker),
        }
    }

    fn fault(&mut self, broker: usize) {
        match self.random.below(9) {
            0 | 1 => self.crash(broker),
            8 => self.break_channel(),
            2 | 3 => self.metadata.prefer(id(broker)),
            4 => self.wipe(broker),
            5 if self.metadata.head().replica(id(broker)).is_some_and(|replica| !replica.fenced) => {
                self.metadata.fence(id(broker));
            }
            _ => self.time_passes(),
        }
    }

    fn time_passes(&mut self) {
        self.now.0 += 4_000_000_000;
        (0..self.processes.len()).for_each(|broker| self.time_out(broker));
    }

    pub(crate) fn produce(&mut self, broker: usize) {
        let (now, all) = (self.now, self.random.percent(70));
        let Role::Leader(leader) = &mut self.processes[broker].role else { return };
        let enough = leader.view().isr.len() >= leader.view().effective_min_isr;
        assert_eq!(leader.accepts_acks_all(), enough, "ISR {:?}", leader.view().isr);
        if self.logs[broker].end() - self.logs[broker].start > 30 || (all && !enough) {
            return;
        }
        self.logs[broker].append(leader.epoch().0, self.next_value);
        self.next_value += 1;
        leader.handle_appended(now, Offset(self.logs[broker].end()));
        self.settle(broker);
    }

    pub(crate) fn sync(&mut self, broker: usize) {
        if !self.processes[broker].up || self.logs[broker].cut.is_some() {
            return;
        }
        self.logs[broker].sync();
        let LogFacts { durable_end: end, durable_log_start: start, .. } = self.logs[broker].facts();
        let now = self.now;
        match &mut self.processes[broker].role {
            Role::Leader(leader) => {
                leader.handle_durable(now, end);
                leader.handle_durable_log_start(now, start);
            }
            Role::Follower(follower) => {
                follower.handle_durable(now, end);
                follower.handle_durable_log_start(now, start);
            }
            Role::None => {}
        }
        self.settle(broker);
    }

    fn retain(&mut self, broker: usize) {
        let (now, log) = (self.now, &mut self.logs[broker]);
        if let Role::Leader(leader) = &mut self.processes[broker].role {
            log.start = self.random.between(log.start, log.high_watermark);
            self.oracle.deleted = self.oracle.deleted.max(log.start);
            leader.handle_log_start(now, Offset(log.start), Some(Offset(log.start)));
            self.settle(broker);
        }
    }

    pub(crate) fn deliver_up(&mut self) {
        let waiting: Vec<usize> =
            (0..self.channels.len()).filter(|&n| !self.channels[n].up.is_empty()).collect();
        if let Some(&number) = waiting.get(self.random.below(waiting.len())) {
            self.deliver_up_on(number);
        }
    }

    pub(crate) fn deliver_up_on(&mut self, number: usize) {
        let channel = &mut self.channels[number];
        let (stream, leader, incarnation) = (channel.ids.1, index(channel.leader), channel.incarnations.1);
        let Some(bytes) = channel.up.pop_front() else { return };
        let (now, gone) = (self.now, channel.ended.1);
        let frame = FollowerFrame::decode(&Frame::parse(bytes, FOLLOWER_FRAME_LIMITS).unwrap()).unwrap();
        let process = &mut self.processes[leader];
        if !process.up || process.incarnation != incarnation {
            return;
        }
        match &mut process.role {
            Role::Leader(machine) => machine.handle_frame(now, stream, &frame, &self.logs[leader].epochs()),
            _ if gone => {}
            _ => self.refuse(stream, frame.session()),
        }
        self.settle(leader);
    }

    pub(crate) fn deliver_down(&mut self) {
        let waiting: Vec<usize> =
            (0..self.channels.len()).filter(|&n| !self.channels[n].down.is_empty()).collect();
        if let Some(&number) = waiting.get(self.random.below(waiting.len())) {
            self.deliver_down_on(number);
        }
    }

    pub(crate) fn deliver_down_on(&mut self, number: usize) {
        let channel = &mut self.channels[number];
        let (stream, follower, incarnation) =
            (channel.ids.0, index(channel.follower), channel.incarnations.0);
        let Some(bytes) = channel.down.pop_front() else { return };
        let frame = LeaderFrame::decode(&Frame::parse(bytes, LEADER_FRAME_LIMITS).unwrap()).unwrap();
        let (now, process) = (self.now, &mut self.processes[follower]);
        if !process.up || process.incarnation != incarnation {
            return;
        }
        if let Role::Follower(machine) = &mut process.role {
            machine.handle_frame(now, stream, frame, &self.logs[follower].epochs());
        }
        self.settle(follower);
    }

    /// One metadata record more; the slow broker often does not.
    pub(crate) fn apply_metadata(&mut self, broker: usize) {
        let lazy = broker == self.slow.0 && !self.random.percent(self.slow.1);
        if !lazy && self.processes[broker].up {
            self.apply_next(broker);
        }
    }

    pub(crate) fn apply_next(&mut self, broker: usize) {
        let (now, process) = (self.now, &mut self.processes[broker]);
        let Some(view) = self.metadata.history.get(process.applied + 1).cloned() else { return };
        process.applied += 1;
        let own = (process.applied, id(broker), process.incarnation);
        let registered = self.metadata.registrations.contains(&own);
        if registered {
            process.epoch = view.replica(id(broker)).map(|replica| replica.broker_epoch);
        }
        match &mut process.role {
            Role::Leader(leader) => leader.handle_view(now, view),
            Role::Follower(follower) => {
                if let (true, Some(epoch)) = (registered, process.epoch) {
                    follower.handle_registered(now, epoch);
                }
                follower.handle_view(now, view);
            }
            Role::None => {}
        }
        self.settle(broker);
        self.assume_role(broker);
    }

    fn dial(&mut self) {
        if !self.dials.is_empty() {
            let number = self.random.below(self.dials.len());
            self.finish_dial(number);
        }
    }

    /// A proposal reaches the controller, or an answer its leader; either may be lost.
    pub(crate) fn carry_request(&mut self) {
        if self.requests.is_empty() {
            return;
        }
        let mut request = self.requests.swap_remove(self.random.below(self.requests.len()));
        let Some(answer) = request.answer else {
            let applied = self.metadata.change_isr(request.from, &request.proposal);
            request.answer = Some(if applied { IsrAnswer::Applied } else { IsrAnswer::Refused });
            if self.random.percent(20) {
                request.answer = Some(IsrAnswer::Unknown);
            }
            if !self.random.percent(20) {
                self.requests.push(request);
            }
            return;
        };
        let (now, broker) = (self.now, index(request.from));
        let process = &mut self.processes[broker];
        if let (Role::Leader(leader), true) = (&mut process.role, process.incarnation == request.incarnation)
        {
            leader.handle_isr_answer(now, request.proposal.leader_epoch, request.attempt, answer);
            self.settle(broker);
        }
    }

    pub(crate) fn time_out(&mut self, broker: usize) {
        let now = self.now;
        match &mut self.processes[broker].role {
            Role::Leader(leader) if leader.poll_timeout().is_some_and(|due| due <= now) => {
                leader.handle_timeout(now)
            }
            Role::Follower(follower) if follower.poll_timeout().is_some_and(|due| due <= now) => {
                follower.handle_timeout(now);
            }
            _ => return,
        }
        self.settle(broker);
    }

    pub(crate) fn finish_cut(&mut self, broker: usize) {
        if !self.processes[broker].up || self.logs[broker].cut.is_none() {
            return;
        }
        assert!(!matches!(self.processes[broker].role, Role::Leader(_)), "{broker} leads during a cut");
        self.logs[broker].finish_cut();
        let (now, facts) = (self.now, self.logs[broker].facts());
        if let Role::Follower(follower) = &mut self.processes[broker].role {
            follower.handle_cut_finished(now, facts);
        }
        self.settle(broker);
        self.assume_role(broker);
    }

    fn break_channel(&mut self) {
        if !self.channels.is_empty() {
            let number = self.random.below(self.channels.len());
            let (up, down) = (self.random.below(4), self.random.below(4));
            let channel = &mut self.channels[number];
            channel.broken = true;
            channel.up.truncate(up);
            channel.down.truncate(down);
        }
    }

    /// One side learns that a stream ended, once it has read what was in flight.
    pub(crate) fn tell_of_an_end(&mut self) {
        if !self.channels.is_empty() {
            let number = self.random.below(self.channels.len());
            self.tell(number);
        }
    }

    pub(crate) fn tell(&mut self, number: usize) {
        let (now, channel) = (self.now, &mut self.channels[number]);
        let (follower, leader) = (index(channel.follower), index(channel.leader));
        let over = (channel.broken || channel.ended.0, channel.broken || channel.ended.1);
        if over.1 && !channel.ended.0 && channel.down.is_empty() {
            channel.ended.0 = true;
            let same = self.processes[follower].incarnation == channel.incarnations.0;
            if let (Role::Follower(machine), true) = (&mut self.processes[follower].role, same) {
                machine.handle_closed(now, channel.ids.0);
            }
            self.settle(follower);
        } else if over.0 && !channel.ended.1 && channel.up.is_empty() {
            channel.ended.1 = true;
            let same = self.processes[leader].incarnation == channel.incarnations.1;
            if let (Role::Leader(machine), true) = (&mut self.processes[leader].role, same) {
                machine.handle_stream_closed(now, channel.ids.1);
            }
            self.settle(leader);
        } else if channel.ended == (true, true) && channel.up.is_empty() && channel.down.is_empty() {
            self.channels.remove(number);
        }
    }

    fn crash(&mut self, broker: usize) {
        let process = &mut self.processes[broker];
        if !process.up {
            return;
        }
        process.up = false;
        process.role = Role::None;
        process.left.clear();
        process.epoch = None;
        process.incarnation = self.next_incarnation;
        self.next_incarnation += 1;
        self.logs[broker].crash(&mut self.random);
        let own = id(broker);
        for channel in
            self.channels.iter_mut().filter(|channel| channel.follower == own || channel.leader == own)
        {
            channel.broken = true;
        }
    }

    /// A disk is lost: one at a time, and less than min ISR of them, or the intact member could be fenced first.
    fn wipe(&mut self, broker: usize) {
        let head = self.metadata.head();
        let others = head.isr.iter().filter(|member| **member != id(broker)).count();
        if self.wiped.is_none() && head.effective_min_isr > 1 && others > 0 {
            self.crash(broker);
            if !self.processes[broker].up {
                self.logs[broker] = super::log::FakeLog::default();
                self.wiped = Some(id(broker));
            }
        }
    }

    /// A broker starts, registers, or is unfenced once it has applied its registration.
    pub(crate) fn revive(&mut self, broker: usize) {
        let (own, applied_epoch) = (id(broker), self.own_epoch_in_metadata(broker));
        let registered = self.has_registered(own);
        let process = &mut self.processes[broker];
        let incarnation = process.incarnation;
        if !process.up {
            process.up = true;
            self.assume_role(broker);
        } else if incarnation > 0 && !registered {
            let new_disk =
                self.wiped == Some(own) && self.logs[broker].end() == 0 && self.logs[broker].durable == 0;
            self.metadata.register(own, incarnation, new_disk);
        } else if process.epoch.is_some()
            && process.epoch == applied_epoch
            && self.metadata.head().replica(own).is_some_and(|replica| replica.fenced)
        {
            self.metadata.unfence(own);
        }
    }
}
