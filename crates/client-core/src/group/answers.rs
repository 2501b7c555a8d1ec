//! What a member is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::heartbeat::HeartbeatResponse;
use kafka_wire::messages::join_group::JoinGroupResponse;
use kafka_wire::messages::offset_commit::OffsetCommitResponse;
use kafka_wire::messages::sync_group::SyncGroupResponse;
use kafka_wire::{DecodeError, ErrorCode, decode_response};
use log_core::Now;

use super::{Phase, offsets, protocol};
use crate::action::Answer;
use crate::consumer::{Consumer, Key};
use crate::core::Core;
use crate::cure::needs_coordinator;
use crate::error::{ClientError, Damage, NetworkError, Place};
use crate::options::Start;
use crate::purpose::GroupStep;

impl Consumer {
    pub(crate) fn on_group_answer(
        &mut self,
        core: &mut Core,
        now: Now,
        step: &GroupStep,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let result = match step {
            GroupStep::FindCoordinator => self.on_coordinator(core, now, version, frame),
            GroupStep::Join => self.on_joined(core, now, version, frame),
            GroupStep::Sync => self.on_synced(core, now, version, frame),
            GroupStep::Heartbeat => self.on_heartbeat(core, now, version, frame),
            GroupStep::Leave => {
                self.finish_leaving(core, true);
                Ok(())
            }
            GroupStep::FetchOffsets => self.on_offsets(core, now, version, frame),
            GroupStep::Commit => self.on_committed(core, now, version, frame),
        };
        if result.is_err() {
            self.group_request_failed(core, now, step);
        }
        result
    }

    pub(crate) fn on_group_lost(&mut self, core: &mut Core, now: Now, step: &GroupStep, _: &NetworkError) {
        self.group_request_failed(core, now, step);
    }

    fn group_request_failed(&mut self, core: &mut Core, now: Now, step: &GroupStep) {
        let Some(member) = &mut self.member else { return };
        match step {
            GroupStep::FindCoordinator => member.is_finding = false,
            GroupStep::Heartbeat => member.heartbeat_in_flight = false,
            GroupStep::Commit => member.committing = None,
            GroupStep::Join | GroupStep::Sync | GroupStep::Leave | GroupStep::FetchOffsets => {
                member.ask_again()
            }
        }
        member.lose_coordinator(core, now);
    }

    fn on_coordinator(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let found = offsets::coordinator_of(version, frame)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        member.is_finding = false;
        match found {
            Ok(broker) => member.coordinator = Some(broker),
            Err(code) if code.is_retriable() => member.delay(core, now),
            Err(code) => self.refuse_membership(core, now, ClientError::broker(code, None, Place::NOWHERE)),
        }
        Ok(())
    }

    fn on_joined(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = decode_response::<JoinGroupResponse<'_>>(frame, version)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        if !matches!(member.phase, Phase::Joining { .. }) {
            return Ok(());
        }
        match answer.error_code {
            ErrorCode::None => {}
            ErrorCode::MemberIdRequired => {
                member.member_id = answer.member_id.into_owned();
                member.phase = Phase::Joining { asked: false };
                return Ok(());
            }
            code => {
                self.on_group_error(core, now, code);
                return Ok(());
            }
        }
        member.failures = 0;
        member.generation = answer.generation_id;
        member.member_id = answer.member_id.clone().into_owned();
        member.phase = if answer.leader == answer.member_id && !answer.skip_assignment {
            let subscribed = answer.members.iter().map(|joined| {
                // A member whose subscription cannot be read gets nothing; the others are not to suffer.
                let topics = protocol::decode_subscription(&joined.metadata).unwrap_or_default();
                (joined.member_id.clone().into_owned(), topics)
            });
            Phase::Assigning { members: subscribed.collect() }
        } else {
            Phase::Syncing { asked: false, assignments: Vec::new() }
        };
        Ok(())
    }

    fn on_synced(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = decode_response::<SyncGroupResponse<'_>>(frame, version)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        if !matches!(member.phase, Phase::Syncing { .. }) {
            return Ok(());
        }
        if !answer.error_code.is_ok() {
            self.on_group_error(core, now, answer.error_code);
            return Ok(());
        }
        match protocol::decode_assignment(&answer.assignment) {
            Ok(assigned) => {
                assigned.iter().for_each(|(topic, _)| core.cluster.add_interest(topic, false));
                member.phase = Phase::Positioning { asked: false, assigned };
            }
            Err(protocol::Malformed) => {
                let damage = Damage::Rule("the group's leader sent an assignment that cannot be read");
                let error = ClientError::Damaged { damage, place: Place::NOWHERE, resume_at: None };
                self.refuse_membership(core, now, error);
            }
        }
        Ok(())
    }

    fn on_offsets(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let found = offsets::committed(version, frame)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        let Phase::Positioning { assigned, .. } = &member.phase else { return Ok(()) };
        let committed = match found {
            Ok(committed) => committed,
            Err(code) => {
                self.on_group_error(core, now, code);
                return Ok(());
            }
        };
        let mut starts: BTreeMap<Key, Start> =
            assigned.iter().map(|key| (key.clone(), self.options.start)).collect();
        member.unset = assigned.iter().cloned().collect();
        for found in committed {
            member.unset.remove(&(Arc::clone(&found.topic), found.partition));
            if let Some(start) = starts.get_mut(&(Arc::clone(&found.topic), found.partition)) {
                *start = Start::Offset(found.offset);
            }
        }
        member.failures = 0;
        member.phase = Phase::Stable;
        member.next_heartbeat = now.mono.after(member.group.heartbeat_interval);
        member.next_commit = member.group.auto_commit.map(|interval| now.mono.after(interval));
        self.assign(core, starts, false);
        Ok(())
    }

    fn on_heartbeat(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = decode_response::<HeartbeatResponse>(frame, version)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        member.heartbeat_in_flight = false;
        member.next_heartbeat = now.mono.after(member.group.heartbeat_interval);
        if !member.is_stable() {
            return Ok(());
        }
        match answer.error_code {
            ErrorCode::None => member.failures = 0,
            // What is marked can still be committed before the partitions go: members are waited for.
            ErrorCode::RebalanceInProgress
                if !member.marks.is_empty() && member.group.auto_commit.is_some() =>
            {
                member.next_commit = Some(now.mono);
                member.next_heartbeat = now.mono;
            }
            code => self.on_group_error(core, now, code),
        }
        Ok(())
    }

    fn on_committed(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
    ) -> Result<(), DecodeError> {
        let (_, answer) = decode_response::<OffsetCommitResponse<'_>>(frame, version)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        let committed = member.committing.take().unwrap_or_default();
        member.next_commit = member.group.auto_commit.map(|interval| now.mono.after(interval));
        let partitions = answer.topics.iter().flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(|partition| (&topic.name, partition.partition_index, partition.error_code))
        });
        let refused = partitions.clone().find(|(_, _, code)| !code.is_ok());
        let Some((topic, index, code)) = refused else {
            member.failures = 0;
            // Marks that were made meanwhile stay for the next commit.
            member.marks.retain(|key, mark| committed.get(key) != Some(mark));
            for (call, _) in std::mem::take(&mut member.commit_calls) {
                core.answer(call, Ok(Answer::Done));
            }
            return Ok(());
        };
        if code.is_retriable() {
            self.on_group_error(core, now, code);
            return Ok(());
        }
        let place = Place::partition(&Arc::from(&**topic), u32::try_from(index).unwrap_or(0));
        let error = ClientError::broker(code, None, place);
        for (call, _) in std::mem::take(&mut member.commit_calls) {
            core.answer(call, Err(error.clone()));
        }
        self.on_refused_commit(core, now, code, error);
        Ok(())
    }

    fn on_refused_commit(&mut self, core: &mut Core, now: Now, code: ErrorCode, error: ClientError) {
        let Some(member) = &mut self.member else { return };
        if member.is_leaving() {
            if let Phase::Leaving { call, .. } = &mut member.phase
                && let Some(call) = call.take()
            {
                core.answer(call, Err(error));
            }
            member.marks.clear();
            return;
        }
        match code {
            ErrorCode::RebalanceInProgress
            | ErrorCode::IllegalGeneration
            | ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId => self.on_group_error(core, now, code),
            // It will be refused again: who reads has to know, and the background shall not repeat it for ever.
            _ => {
                member.marks.clear();
                self.fail(core, now, error);
            }
        }
    }

    fn on_group_error(&mut self, core: &mut Core, now: Now, code: ErrorCode) {
        let Some(member) = &mut self.member else { return };
        member.ask_again();
        let error = ClientError::broker(code, None, Place::NOWHERE);
        match code {
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => self.rejoin(core, &error),
            ErrorCode::UnknownMemberId => {
                member.member_id.clear();
                if member.is_leaving() {
                    // Nobody to leave as.
                    return self.finish_leaving(core, true);
                }
                self.rejoin(core, &error);
            }
            code if needs_coordinator(code) => member.lose_coordinator(core, now),
            code if code.is_retriable() => member.delay(core, now),
            _ => self.refuse_membership(core, now, error),
        }
    }

    /// The group does not want this member, for good.
    pub(super) fn refuse_membership(&mut self, core: &mut Core, now: Now, error: ClientError) {
        let Some(member) = &mut self.member else { return };
        if member.is_leaving() {
            return self.finish_leaving(core, true);
        }
        member.phase = Phase::Refused;
        for (call, _) in std::mem::take(&mut member.commit_calls) {
            core.answer(call, Err(error.clone()));
        }
        self.assign(core, BTreeMap::new(), false);
        self.fail(core, now, error);
    }
}
