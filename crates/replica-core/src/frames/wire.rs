//! The bytes of a header: a version, a type, and the rkyv archive of one fixed-size struct of plain numbers. Each
//! archive's length is checked against its type, and its bytes by bytecheck, before anything is read from it.

use alloc::vec::Vec;

use log_core::{
    BrokerEpoch, BrokerId, Frame, LeaderEpoch, Offset, PartitionIndex, Session, TopicId, TopicPartition,
};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Failure;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Portable, Serialize};

use super::{Ack, FollowerFrame, LeaderFrame, Lineage, Open, Push, StreamRefusal};
use crate::error::DecodeError;

/// The version that this build writes and reads.
pub const FRAME_VERSION: u8 = 1;

/// The longest header in bytes.
pub const FRAME_HEADER_BYTES_MAX: usize = 2 + size_of::<ArchivedOpenHeader>();

const OPEN: u8 = 1;
const ASK: u8 = 2;
const FROM: u8 = 3;
const ACK: u8 = 4;
const CONFLICT: u8 = 5;
const BAD_BATCH: u8 = 6;
const LOG_START: u8 = 7;
const REFUSED: u8 = 65;
const LINEAGE: u8 = 66;
const PUSH: u8 = 67;

#[derive(Archive, Serialize, Deserialize)]
struct OpenHeader {
    session: u64,
    topic_id: [u8; 16],
    partition: i32,
    leader_epoch: i32,
    follower: i32,
    broker_epoch: i64,
    last_epoch: i32,
    log_end: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct AskHeader {
    session: u64,
    epoch: i32,
}

#[derive(Archive, Serialize, Deserialize)]
struct FromHeader {
    session: u64,
    offset: i64,
    credit: u64,
}

#[derive(Archive, Serialize, Deserialize)]
struct AckHeader {
    session: u64,
    appended_end: i64,
    durable_end: i64,
    credit: u64,
}

#[derive(Archive, Serialize, Deserialize)]
struct ConflictHeader {
    session: u64,
    high_watermark: i64,
    cut_to: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct BadBatchHeader {
    session: u64,
    offset: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct LogStartHeader {
    session: u64,
    log_start: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct RefusedHeader {
    session: u64,
    refusal: u8,
}

#[derive(Archive, Serialize, Deserialize)]
struct LineageHeader {
    session: u64,
    epoch: i32,
    end: i64,
    log_start: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct PushHeader {
    session: u64,
    base_offset: i64,
    high_watermark: i64,
    log_start: i64,
}

fn header<T>(frame_type: u8, value: &T) -> Vec<u8>
where
    T: for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, Failure>>,
{
    let archive = rkyv::to_bytes::<Failure>(value).expect("plain numbers always serialize into memory");
    let mut header = Vec::with_capacity(2 + archive.len());
    header.extend_from_slice(&[FRAME_VERSION, frame_type]);
    header.extend_from_slice(&archive);
    header
}

fn read<T>(frame_type: u8, archive: &[u8]) -> Result<T, DecodeError>
where
    T: Archive,
    T::Archived:
        for<'a> CheckBytes<HighValidator<'a, Failure>> + Deserialize<T, HighDeserializer<Failure>> + Portable,
{
    let expected = size_of::<T::Archived>();
    if archive.len() != expected {
        return Err(DecodeError::Length { frame_type, expected: expected + 2, found: archive.len() + 2 });
    }
    rkyv::from_bytes::<T, Failure>(archive).map_err(|_| DecodeError::Values { frame_type })
}

/// Splits a header into its type and its archive.
fn open_header(frame: &Frame) -> Result<(u8, &[u8]), DecodeError> {
    let (&[version, frame_type], archive) =
        frame.header.split_first_chunk::<2>().ok_or(DecodeError::NoType { found: frame.header.len() })?;
    if version != FRAME_VERSION {
        return Err(DecodeError::Version { found: version, known: FRAME_VERSION });
    }
    Ok((frame_type, archive))
}

const fn without_payload(frame_type: u8, frame: &Frame) -> Result<(), DecodeError> {
    let found = frame.payload.len();
    if found == 0 { Ok(()) } else { Err(DecodeError::Payload { frame_type, found }) }
}

fn epoch_number(epoch: Option<LeaderEpoch>) -> i32 {
    epoch.unwrap_or(LeaderEpoch::NONE).0
}

fn epoch_of(frame_type: u8, number: i32) -> Result<Option<LeaderEpoch>, DecodeError> {
    match number {
        -1 => Ok(None),
        0.. => Ok(Some(LeaderEpoch(number))),
        _ => Err(DecodeError::Values { frame_type }),
    }
}

fn offset_of(frame_type: u8, number: i64) -> Result<Offset, DecodeError> {
    if number >= 0 { Ok(Offset(number)) } else { Err(DecodeError::Values { frame_type }) }
}

pub(super) fn follower_header(frame: &FollowerFrame) -> Vec<u8> {
    match *frame {
        FollowerFrame::Open(ref open) => open_bytes(open),
        FollowerFrame::Ask { session, epoch } => {
            header(ASK, &AskHeader { session: session.0, epoch: epoch.0 })
        }
        FollowerFrame::From { session, offset, credit } => {
            header(FROM, &FromHeader { session: session.0, offset: offset.0, credit })
        }
        FollowerFrame::Ack(ack) => header(
            ACK,
            &AckHeader {
                session: ack.session.0,
                appended_end: ack.appended_end.0,
                durable_end: ack.durable_end.0,
                credit: ack.credit,
            },
        ),
        FollowerFrame::Conflict { session, high_watermark, cut_to } => header(
            CONFLICT,
            &ConflictHeader { session: session.0, high_watermark: high_watermark.0, cut_to: cut_to.0 },
        ),
        FollowerFrame::BadBatch { session, offset } => {
            header(BAD_BATCH, &BadBatchHeader { session: session.0, offset: offset.0 })
        }
        FollowerFrame::LogStart { session, log_start } => {
            header(LOG_START, &LogStartHeader { session: session.0, log_start: log_start.0 })
        }
    }
}

fn open_bytes(open: &Open) -> Vec<u8> {
    let value = OpenHeader {
        session: open.session.0,
        topic_id: open.partition.topic_id.0,
        partition: open.partition.partition.0,
        leader_epoch: open.leader_epoch.0,
        follower: open.follower.0,
        broker_epoch: open.broker_epoch.0,
        last_epoch: epoch_number(open.last_epoch),
        log_end: open.log_end.0,
    };
    header(OPEN, &value)
}

pub(super) fn refused_header(session: Session, refusal: StreamRefusal) -> Vec<u8> {
    header(REFUSED, &RefusedHeader { session: session.0, refusal: refusal as u8 })
}

pub(super) fn lineage_header(lineage: &Lineage) -> Vec<u8> {
    let value = LineageHeader {
        session: lineage.session.0,
        epoch: epoch_number(lineage.epoch),
        end: lineage.end.0,
        log_start: lineage.log_start.0,
    };
    header(LINEAGE, &value)
}

pub(super) fn push_header(push: &Push) -> Vec<u8> {
    let value = PushHeader {
        session: push.session.0,
        base_offset: push.base_offset.0,
        high_watermark: push.high_watermark.0,
        log_start: push.log_start.0,
    };
    header(PUSH, &value)
}

pub(super) fn read_follower(frame: &Frame) -> Result<FollowerFrame, DecodeError> {
    let (kind, archive) = open_header(frame)?;
    without_payload(kind, frame)?;
    Ok(match kind {
        OPEN => FollowerFrame::Open(read_open(archive)?),
        ASK => {
            let AskHeader { session, epoch } = read(kind, archive)?;
            let epoch = epoch_of(kind, epoch)?.ok_or(DecodeError::Values { frame_type: kind })?;
            FollowerFrame::Ask { session: Session(session), epoch }
        }
        FROM => {
            let FromHeader { session, offset, credit } = read(kind, archive)?;
            FollowerFrame::From { session: Session(session), offset: offset_of(kind, offset)?, credit }
        }
        ACK => FollowerFrame::Ack(read_ack(archive)?),
        CONFLICT => {
            let ConflictHeader { session, high_watermark, cut_to } = read(kind, archive)?;
            FollowerFrame::Conflict {
                session: Session(session),
                high_watermark: offset_of(kind, high_watermark)?,
                cut_to: offset_of(kind, cut_to)?,
            }
        }
        BAD_BATCH => {
            let BadBatchHeader { session, offset } = read(kind, archive)?;
            FollowerFrame::BadBatch { session: Session(session), offset: offset_of(kind, offset)? }
        }
        LOG_START => {
            let LogStartHeader { session, log_start } = read(kind, archive)?;
            FollowerFrame::LogStart { session: Session(session), log_start: offset_of(kind, log_start)? }
        }
        found => return Err(DecodeError::Type { found }),
    })
}

fn read_open(archive: &[u8]) -> Result<Open, DecodeError> {
    let open: OpenHeader = read(OPEN, archive)?;
    let partition = PartitionIndex(open.partition);
    Ok(Open {
        partition: TopicPartition { topic_id: TopicId(open.topic_id), partition },
        leader_epoch: LeaderEpoch(open.leader_epoch),
        follower: BrokerId(open.follower),
        broker_epoch: BrokerEpoch(open.broker_epoch),
        session: Session(open.session),
        last_epoch: epoch_of(OPEN, open.last_epoch)?,
        log_end: offset_of(OPEN, open.log_end)?,
    })
}

fn read_ack(archive: &[u8]) -> Result<Ack, DecodeError> {
    let ack: AckHeader = read(ACK, archive)?;
    let (appended_end, durable_end) = (offset_of(ACK, ack.appended_end)?, offset_of(ACK, ack.durable_end)?);
    if durable_end > appended_end {
        return Err(DecodeError::Values { frame_type: ACK });
    }
    Ok(Ack { session: Session(ack.session), appended_end, durable_end, credit: ack.credit })
}

pub(super) fn read_leader(frame: &Frame) -> Result<LeaderFrame, DecodeError> {
    let (kind, archive) = open_header(frame)?;
    if kind != PUSH {
        without_payload(kind, frame)?;
    }
    Ok(match kind {
        REFUSED => {
            let RefusedHeader { session, refusal } = read(kind, archive)?;
            LeaderFrame::Refused { session: Session(session), refusal: refusal_of(refusal)? }
        }
        LINEAGE => {
            let LineageHeader { session, epoch, end, log_start } = read(kind, archive)?;
            LeaderFrame::Lineage(Lineage {
                session: Session(session),
                epoch: epoch_of(kind, epoch)?,
                end: offset_of(kind, end)?,
                log_start: offset_of(kind, log_start)?,
            })
        }
        PUSH => LeaderFrame::Push { push: read_push(archive)?, batches: frame.payload.clone() },
        found => return Err(DecodeError::Type { found }),
    })
}

fn read_push(archive: &[u8]) -> Result<Push, DecodeError> {
    let push: PushHeader = read(PUSH, archive)?;
    Ok(Push {
        session: Session(push.session),
        base_offset: offset_of(PUSH, push.base_offset)?,
        high_watermark: offset_of(PUSH, push.high_watermark)?,
        log_start: offset_of(PUSH, push.log_start)?,
    })
}

const fn refusal_of(code: u8) -> Result<StreamRefusal, DecodeError> {
    Ok(match code {
        1 => StreamRefusal::NotLeader,
        2 => StreamRefusal::OldEpoch,
        3 => StreamRefusal::NewEpoch,
        4 => StreamRefusal::OtherTopic,
        5 => StreamRefusal::NotReplica,
        6 => StreamRefusal::OldBrokerEpoch,
        7 => StreamRefusal::NotYet,
        _ => return Err(DecodeError::Values { frame_type: REFUSED }),
    })
}
