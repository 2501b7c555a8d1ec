//! Truncation: has the log under a new leader what was read under the old one?

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kafka_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopic,
};
use kafka_wire::{ApiKey, DecodeError, decode_response};
use log_core::Now;

use super::{Consumer, Key, PartState, lost};
use crate::action::ConnectionId;
use crate::core::Core;
use crate::error::{ClientError, LostPosition, Place};
use crate::network::Channel;
use crate::purpose::Purpose;

impl Consumer {
    /// Asks wherever the leader's epoch is newer than the one under which was read.
    pub(super) fn drive_checks(&mut self, core: &mut Core, now: Now) {
        let mut by_leader: BTreeMap<i32, Vec<Key>> = BTreeMap::new();
        for (key, part) in &mut self.parts {
            let Some(leader) = core.cluster.leader(&key.0, key.1) else { continue };
            if let PartState::Fetching { offset } = part.state
                && !part.in_flight
                && part.epoch_read >= 0
                && leader.epoch > part.epoch_checked
            {
                part.state = PartState::Checking { offset, asked: false };
            }
            let waits = matches!(part.state, PartState::Checking { asked: false, .. });
            if waits && part.not_before <= now.mono {
                match leader.broker {
                    Some(broker) => by_leader.entry(broker).or_default().push(key.clone()),
                    None => core.cluster.want_update(),
                }
            }
        }
        for (broker, keys) in by_leader {
            if let Some(connection) = core.connection(now, broker, Channel::General) {
                self.send_check(core, now, connection, &keys);
            }
        }
    }

    fn send_check(&mut self, core: &mut Core, now: Now, connection: ConnectionId, keys: &[Key]) {
        let version = core.network.version(connection, ApiKey::OffsetForLeaderEpoch, i16::MAX);
        let mut topics: Vec<OffsetForLeaderTopic<'_>> = Vec::new();
        let mut asked = Vec::new();
        for key in keys {
            let Some(part) = self.parts.get_mut(key) else { continue };
            let PartState::Checking { offset, .. } = part.state else { continue };
            let epoch = core.cluster.leader(&key.0, key.1).map_or(-1, |leader| leader.epoch);
            if version.is_none() {
                // A broker without this question cannot be asked; reading on is all that is left.
                part.state = PartState::Fetching { offset };
                part.epoch_checked = epoch;
                continue;
            }
            part.state = PartState::Checking { offset, asked: true };
            let partition = OffsetForLeaderPartition {
                partition: i32::try_from(key.1).unwrap_or(i32::MAX),
                current_leader_epoch: epoch,
                leader_epoch: part.epoch_read,
            };
            match topics.last_mut() {
                Some(topic) if *topic.topic == *key.0 => topic.partitions.push(partition),
                _ => topics.push(OffsetForLeaderTopic {
                    topic: key.0.to_string().into(),
                    partitions: vec![partition],
                }),
            }
            asked.push((Arc::clone(&key.0), key.1, part.generation));
        }
        let Some(version) = version.filter(|_| !asked.is_empty()) else { return };
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
        let purpose = Purpose::EpochEnds { consumer: self.handle, partitions: asked };
        let patience = core.options.request_timeout;
        core.send(now, connection, version, &request, purpose, patience);
    }

    pub(crate) fn on_epoch_ends(
        &mut self,
        core: &mut Core,
        now: Now,
        version: i16,
        frame: &Bytes,
        asked: &[(Arc<str>, u32, u32)],
    ) -> Result<(), DecodeError> {
        let (_, answer) =
            decode_response::<OffsetForLeaderEpochResponse<'_>>(frame, version).inspect_err(|_| {
                self.on_epoch_ends_lost(core, now, asked);
            })?;
        for (topic, partition, generation) in asked {
            let key = (Arc::clone(topic), *partition);
            let found = answer
                .topics
                .iter()
                .filter(|answer| *answer.topic == **topic)
                .flat_map(|answer| answer.partitions.iter())
                .find(|answer| u32::try_from(answer.partition) == Ok(*partition));
            if self.parts.get(&key).is_some_and(|part| part.generation == *generation) {
                self.on_epoch_end(core, now, &key, found);
            }
        }
        Ok(())
    }

    pub(crate) fn on_epoch_ends_lost(&mut self, core: &mut Core, now: Now, asked: &[(Arc<str>, u32, u32)]) {
        core.cluster.want_update();
        for (topic, partition, generation) in asked {
            let key = (Arc::clone(topic), *partition);
            if self.parts.get(&key).is_some_and(|part| part.generation == *generation) {
                self.check_again(core, now, &key);
            }
        }
    }

    fn on_epoch_end(&mut self, core: &mut Core, now: Now, key: &Key, answer: Option<&EpochEndOffset>) {
        let epoch = core.cluster.leader(&key.0, key.1).map_or(-1, |leader| leader.epoch);
        let Some(part) = self.parts.get_mut(key) else { return };
        let PartState::Checking { offset, .. } = part.state else { return };
        let Some(answer) = answer else { return self.check_again(core, now, key) };
        let code = answer.error_code;
        if code.is_retriable() {
            core.cluster.want_update();
            return self.check_again(core, now, key);
        }
        if !code.is_ok() {
            let place = Place::offset(&key.0, key.1, offset);
            return self.fail_part(core, now, key, ClientError::broker(code, None, place));
        }
        // An end of -1: the leader knows no epoch as old as the one read, so nothing of it is left to differ.
        let log_end = answer.end_offset;
        if log_end >= 0 && log_end < offset {
            return self.fail_part(core, now, key, lost(key, offset, LostPosition::BeyondLogEnd { log_end }));
        }
        part.epoch_checked = epoch;
        part.state = PartState::Fetching { offset };
        (part.failures, part.not_before) = (0, log_core::MonoTime(0));
    }

    fn check_again(&mut self, core: &mut Core, now: Now, key: &Key) {
        let Some(part) = self.parts.get_mut(key) else { return };
        if let PartState::Checking { offset, .. } = part.state {
            part.state = PartState::Checking { offset, asked: false };
            part.failures += 1;
            part.not_before = core.retry_at(now, part.failures);
        }
    }
}
