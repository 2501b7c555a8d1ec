//! What the tests share: a partition of three brokers, batches, and shorthands for frames and actions.

use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use log_core::batch::{BatchBuilder, BatchSpec, NewRecord};
use log_core::{
    BrokerEpoch, BrokerId, Codecs, Crc32c, EpochCache, LeaderEpoch, MonoTime, Offset, PartitionEpoch,
    PartitionIndex, Session, Timestamp, TopicId, TopicPartition,
};

use crate::follower::{Follower, FollowerStart};
use crate::frames::{Ack, FollowerFrame, LeaderFrame, Open, Push};
use crate::leader::{Leader, LeaderStart};
use crate::view::{LogFacts, PartitionView, ReplicaView, Settings};
use crate::{FollowerAction, LeaderAction, StreamId};

/// Any function does that tells bytes apart (FNV-1a): a log and its readers only have to agree on it.
pub(crate) const CRC: Crc32c = |so_far, bytes| {
    bytes.iter().fold(so_far ^ 0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
};
pub(crate) const LEADER: BrokerId = BrokerId(0);
pub(crate) const A: BrokerId = BrokerId(1);
pub(crate) const B: BrokerId = BrokerId(2);
pub(crate) const EPOCH: LeaderEpoch = LeaderEpoch(5);
pub(crate) const CREDIT: u64 = 1 << 20;
pub(crate) const PARTITION: TopicPartition =
    TopicPartition { topic_id: TopicId([7; 16]), partition: PartitionIndex(3) };

pub(crate) const fn at(millis: u64) -> MonoTime {
    MonoTime(millis * 1_000_000)
}

/// Brokers 0, 1 and 2 under broker epoch 10; broker 0 leads epoch 5; min ISR 2.
pub(crate) fn view(isr: &[BrokerId]) -> PartitionView {
    let replica = |broker| ReplicaView {
        broker,
        broker_epoch: BrokerEpoch(10),
        fenced: false,
        shutting_down: false,
        faulty: false,
        suspect: false,
    };
    PartitionView {
        partition: PARTITION,
        leader: Some(LEADER),
        leader_epoch: EPOCH,
        partition_epoch: PartitionEpoch(20),
        isr: isr.to_vec(),
        elr: vec![],
        effective_min_isr: 2,
        confirms_log_starts: true,
        replicas: [LEADER, A, B].map(replica).to_vec(),
    }
}

pub(crate) fn changed(mut view: PartitionView, change: impl FnOnce(&mut PartitionView)) -> PartitionView {
    change(&mut view);
    view
}

pub(crate) fn replica_mut(view: &mut PartitionView, broker: BrokerId) -> &mut ReplicaView {
    view.replicas.iter_mut().find(|replica| replica.broker == broker).unwrap()
}

pub(crate) fn facts(log_start: i64, high_watermark: i64, end: i64, last_epoch: i32) -> LogFacts {
    LogFacts {
        log_start: Offset(log_start),
        first_batch: Some(Offset(log_start)),
        durable_log_start: Offset(log_start),
        high_watermark: Offset(high_watermark),
        appended_end: Offset(end),
        durable_end: Offset(end),
        last_epoch: (last_epoch >= 0).then_some(LeaderEpoch(last_epoch)),
        cutting: false,
    }
}

pub(crate) fn epochs(starts: &[(i32, i64)]) -> EpochCache {
    let mut cache = EpochCache::new();
    starts.iter().for_each(|(epoch, start)| cache.assign(LeaderEpoch(*epoch), Offset(*start)));
    cache
}

pub(crate) fn leader_start(view: PartitionView, log: LogFacts) -> LeaderStart {
    let (own_epoch, settings) = (Some(BrokerEpoch(10)), Settings::default());
    LeaderStart { own: LEADER, own_epoch, view, log, settings, seed: 1 }
}

/// A leader at time 0.
pub(crate) fn leader(isr: &[BrokerId], log: LogFacts) -> Leader {
    Leader::new(at(0), leader_start(view(isr), log)).unwrap()
}

pub(crate) fn follower_start(view: PartitionView, log: LogFacts) -> FollowerStart {
    FollowerStart {
        own: A,
        own_epoch: Some(BrokerEpoch(10)),
        view,
        log,
        last_session: Session(0),
        settings: Settings::default(),
        seed: 1,
        crc: CRC,
    }
}

pub(crate) fn open(follower: BrokerId, session: u64, last_epoch: i32, log_end: i64) -> Open {
    Open {
        partition: PARTITION,
        leader_epoch: EPOCH,
        follower,
        broker_epoch: BrokerEpoch(10),
        session: Session(session),
        last_epoch: (last_epoch >= 0).then_some(LeaderEpoch(last_epoch)),
        log_end: Offset(log_end),
    }
}

pub(crate) fn ack(session: u64, appended: i64, durable: i64) -> Ack {
    let (appended_end, durable_end) = (Offset(appended), Offset(durable));
    Ack { session: Session(session), appended_end, durable_end, credit: CREDIT }
}

pub(crate) fn leader_actions(leader: &mut Leader) -> Vec<LeaderAction> {
    core::iter::from_fn(|| leader.poll_action()).collect()
}

pub(crate) fn follower_actions(follower: &mut Follower) -> Vec<FollowerAction> {
    core::iter::from_fn(|| follower.poll_action()).collect()
}

/// Lets `follower` open stream `stream` as session 1 and ask from `from` on; answers what the leader wanted meanwhile.
pub(crate) fn join(
    leader: &mut Leader,
    now: u64,
    stream: u64,
    follower: BrokerId,
    from: i64,
) -> Vec<LeaderAction> {
    let (stream, none) = (StreamId(stream), EpochCache::new());
    leader.handle_open(at(now), stream, &open(follower, 1, -1, from), &none);
    leader.handle_from(at(now), stream, Session(1), Offset(from), CREDIT);
    leader_actions(leader)
}

/// As if the last push ordered on `stream` had carried everything up to `end`.
pub(crate) fn pushed(leader: &mut Leader, now: u64, stream: u64, end: i64) {
    leader.handle_pushed(at(now), StreamId(stream), Offset(end), 100);
    leader_actions(leader);
}

pub(crate) fn acked(
    leader: &mut Leader,
    now: u64,
    stream: u64,
    appended: i64,
    durable: i64,
) -> Vec<LeaderAction> {
    leader.handle_ack(at(now), StreamId(stream), &ack(1, appended, durable));
    leader_actions(leader)
}

/// One batch of one record.
pub(crate) fn batch(base_offset: i64, epoch: i32, value: u64) -> Bytes {
    let mut builder = BatchBuilder::new();
    let value = value.to_be_bytes();
    builder
        .push(&NewRecord { timestamp: Timestamp(1), key: None, value: Some(&value), headers: &[] })
        .unwrap();
    let (base_offset, leader_epoch) = (Offset(base_offset), LeaderEpoch(epoch));
    let spec = BatchSpec { base_offset, leader_epoch, ..BatchSpec::default() };
    Bytes::from(builder.build(&spec, Codecs::PLAIN, CRC).unwrap())
}

pub(crate) fn push(session: u64, base: i64, high_watermark: i64, log_start: i64) -> Push {
    Push {
        session: Session(session),
        base_offset: Offset(base),
        high_watermark: Offset(high_watermark),
        log_start: Offset(log_start),
    }
}

pub(crate) const fn push_frame(push: Push, batches: Bytes) -> LeaderFrame {
    LeaderFrame::Push { push, batches }
}

pub(crate) fn sent(actions: &[FollowerAction]) -> Vec<FollowerFrame> {
    let frame = |action: &FollowerAction| match action {
        FollowerAction::Send { frame, .. } => Some(*frame),
        _ => None,
    };
    actions.iter().filter_map(frame).collect()
}
