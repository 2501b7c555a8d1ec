//! The bytes of a control frame's header: a version, a type, and the rkyv archive of one fixed-size struct of plain
//! numbers, its length checked against its type and its bytes by bytecheck before anything is read from it. A proposal's
//! entry is the payload, raw.

use bytes::Bytes;
use log_core::{BrokerEpoch, BrokerId, DirectoryId, Frame, Incarnation, MetadataOffset, frame_head};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Failure;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Portable, Serialize};

use super::ControlFrame;
use crate::controller::{Heartbeat, HeartbeatAnswer};
use crate::error::DecodeError;
use crate::image::Standing;
use crate::record::ProposalId;

/// The version that this build writes and reads.
pub const CONTROL_FRAME_VERSION: u8 = 1;

/// The longest header in bytes.
pub const CONTROL_HEADER_BYTES_MAX: usize = 2 + size_of::<ArchivedHeartbeatHeader>();

const HEARTBEAT: u8 = 1;
const HEARTBEAT_ANSWER: u8 = 2;
const NOT_CONTROLLER: u8 = 3;
const PROPOSE: u8 = 4;
const PROPOSE_REFUSED: u8 = 5;

/// Stands for "none" where a broker epoch or an offset may be missing.
const NONE: i64 = -1;

#[derive(Archive, Serialize, Deserialize)]
struct HeartbeatHeader {
    broker: i32,
    directory: [u8; 16],
    incarnation: u64,
    broker_epoch: i64,
    applied: i64,
}

#[derive(Archive, Serialize, Deserialize)]
struct HeartbeatAnswerHeader {
    broker_epoch: i64,
    standing: u8,
    applied: i64,
}

/// A zero directory stands for "unknown": no directory has that id.
#[derive(Archive, Serialize, Deserialize)]
struct NotControllerHeader {
    leader: [u8; 16],
}

#[derive(Archive, Serialize, Deserialize)]
struct ProposeHeader {
    origin: [u8; 16],
    number: u64,
}

#[derive(Archive, Serialize, Deserialize)]
struct ProposeRefusedHeader {
    origin: [u8; 16],
    number: u64,
    leader: [u8; 16],
}

pub(super) fn encode(frame: &ControlFrame) -> Bytes {
    match frame {
        ControlFrame::Heartbeat(beat) => {
            let header = HeartbeatHeader {
                broker: beat.broker.0,
                directory: beat.directory.0,
                incarnation: beat.incarnation.0,
                broker_epoch: beat.broker_epoch.map_or(NONE, |epoch| epoch.0),
                applied: beat.applied.map_or(NONE, |offset| offset.0),
            };
            whole(HEARTBEAT, &header, &[])
        }
        ControlFrame::HeartbeatAnswer(answer) => {
            let header = HeartbeatAnswerHeader {
                broker_epoch: answer.broker_epoch.map_or(NONE, |epoch| epoch.0),
                standing: standing_number(answer.standing),
                applied: answer.applied.map_or(NONE, |offset| offset.0),
            };
            whole(HEARTBEAT_ANSWER, &header, &[])
        }
        ControlFrame::NotController { leader } => {
            whole(NOT_CONTROLLER, &NotControllerHeader { leader: directory_bytes(*leader) }, &[])
        }
        ControlFrame::Propose { id, entry } => {
            whole(PROPOSE, &ProposeHeader { origin: id.origin.0, number: id.number }, entry)
        }
        ControlFrame::ProposeRefused { id, leader } => {
            let leader = directory_bytes(*leader);
            whole(
                PROPOSE_REFUSED,
                &ProposeRefusedHeader { origin: id.origin.0, number: id.number, leader },
                &[],
            )
        }
    }
}

pub(super) fn decode(frame: &Frame) -> Result<ControlFrame, DecodeError> {
    let (front, archive) = frame.header.split_first_chunk::<2>().ok_or(DecodeError::Frame)?;
    let [version, kind] = *front;
    if version != CONTROL_FRAME_VERSION {
        return Err(DecodeError::Format { found: version });
    }
    if kind != PROPOSE && !frame.payload.is_empty() {
        return Err(DecodeError::Frame);
    }
    match kind {
        HEARTBEAT => read::<HeartbeatHeader>(archive).map(|header| {
            ControlFrame::Heartbeat(Heartbeat {
                broker: BrokerId(header.broker),
                directory: DirectoryId(header.directory),
                incarnation: Incarnation(header.incarnation),
                broker_epoch: some(header.broker_epoch).map(BrokerEpoch),
                applied: some(header.applied).map(MetadataOffset),
            })
        }),
        HEARTBEAT_ANSWER => {
            let header = read::<HeartbeatAnswerHeader>(archive)?;
            Ok(ControlFrame::HeartbeatAnswer(HeartbeatAnswer {
                broker_epoch: some(header.broker_epoch).map(BrokerEpoch),
                standing: standing(header.standing)?,
                applied: some(header.applied).map(MetadataOffset),
            }))
        }
        NOT_CONTROLLER => read::<NotControllerHeader>(archive)
            .map(|header| ControlFrame::NotController { leader: directory(header.leader) }),
        PROPOSE => read::<ProposeHeader>(archive).map(|header| ControlFrame::Propose {
            id: ProposalId { origin: DirectoryId(header.origin), number: header.number },
            entry: frame.payload.clone(),
        }),
        PROPOSE_REFUSED => read::<ProposeRefusedHeader>(archive).map(|header| ControlFrame::ProposeRefused {
            id: ProposalId { origin: DirectoryId(header.origin), number: header.number },
            leader: directory(header.leader),
        }),
        _ => Err(DecodeError::Frame),
    }
}

fn whole<T>(kind: u8, header: &T, payload: &[u8]) -> Bytes
where
    T: for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, Failure>>,
{
    let archive = rkyv::api::high::to_bytes_in::<_, Failure>(header, AlignedVec::new())
        .expect("a struct of plain numbers is always archived");
    let mut bytes = vec![CONTROL_FRAME_VERSION, kind];
    bytes.extend_from_slice(&archive);
    let mut frame = frame_head(&bytes, payload.len());
    frame.extend_from_slice(payload);
    frame.into()
}

fn read<T>(archive: &[u8]) -> Result<T, DecodeError>
where
    T: Archive,
    T::Archived:
        Portable + for<'a> CheckBytes<HighValidator<'a, Failure>> + Deserialize<T, HighDeserializer<Failure>>,
{
    if archive.len() != size_of::<T::Archived>() {
        return Err(DecodeError::Frame);
    }
    rkyv::from_bytes::<T, Failure>(archive).map_err(|_| DecodeError::Frame)
}

const fn some(number: i64) -> Option<i64> {
    if number < 0 { None } else { Some(number) }
}

fn directory_bytes(directory: Option<DirectoryId>) -> [u8; 16] {
    directory.unwrap_or_default().0
}

fn directory(bytes: [u8; 16]) -> Option<DirectoryId> {
    (bytes != [0; 16]).then_some(DirectoryId(bytes))
}

const fn standing_number(standing: Option<Standing>) -> u8 {
    match standing {
        None => 0,
        Some(Standing::Registered) => 1,
        Some(Standing::Active) => 2,
        Some(Standing::Fenced) => 3,
        Some(Standing::ShuttingDown) => 4,
    }
}

const fn standing(number: u8) -> Result<Option<Standing>, DecodeError> {
    Ok(match number {
        0 => None,
        1 => Some(Standing::Registered),
        2 => Some(Standing::Active),
        3 => Some(Standing::Fenced),
        4 => Some(Standing::ShuttingDown),
        _ => return Err(DecodeError::Frame),
    })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::*;

    use super::*;
    use crate::frames::CONTROL_FRAME_LIMITS;

    fn one_of_each() -> Vec<ControlFrame> {
        let id = ProposalId { origin: DirectoryId([0xd1; 16]), number: 0x0102 };
        vec![
            ControlFrame::Heartbeat(Heartbeat {
                broker: BrokerId(3),
                directory: DirectoryId([2; 16]),
                incarnation: Incarnation(77),
                broker_epoch: None,
                applied: Some(MetadataOffset(9)),
            }),
            ControlFrame::HeartbeatAnswer(HeartbeatAnswer {
                broker_epoch: Some(BrokerEpoch(5)),
                standing: Some(Standing::Active),
                applied: None,
            }),
            ControlFrame::NotController { leader: Some(DirectoryId([4; 16])) },
            ControlFrame::Propose { id, entry: Bytes::from_static(b"entry") },
            ControlFrame::ProposeRefused { id, leader: None },
        ]
    }

    fn parsed(bytes: &Bytes) -> Frame {
        let mut received = BytesMut::from(&bytes[..]);
        Frame::take(&mut received, CONTROL_FRAME_LIMITS).unwrap().unwrap()
    }

    #[test]
    fn each_frame_comes_back_from_its_bytes() {
        for frame in one_of_each() {
            assert_eq!(ControlFrame::decode(&parsed(&frame.encode())), Ok(frame));
        }
    }

    /// The bytes between brokers: a line that changes needs a new frame version, not a new snapshot.
    #[test]
    fn the_bytes_of_each_frame_are_frozen() {
        let hex = |frame: &ControlFrame| {
            frame.encode().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let lines: Vec<String> = one_of_each().iter().map(hex).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    proptest! {
        #[test]
        fn decoding_survives_arbitrary_headers(kind in 0..8u8, tail in proptest::collection::vec(any::<u8>(), 0..70), payload in any::<bool>()) {
            let header = [vec![CONTROL_FRAME_VERSION, kind], tail].concat().into();
            let payload = if payload { Bytes::from_static(b"x") } else { Bytes::new() };
            let _ = ControlFrame::decode(&Frame { header, payload });
        }
    }
}
