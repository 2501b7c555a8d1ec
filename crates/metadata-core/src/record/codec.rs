//! The bytes of a metadata entry (`docs/format/metadata.md`): a fixed header, then the record's fields in postcard.
//!
//! ```text
//!  0        1      2         3                         19                    27            35
//!  | format | kind | version | proposal origin (16 B)  | proposal number u64 | time ms i64 | fields (postcard) ..
//! ```
//!
//! Integers of the header are little-endian. A kind never changes its number; a changed layout of the fields is a new
//! version, which the cluster's feature level must allow. Bytes that follow the fields are refused.

use log_core::{DirectoryId, MetadataOffset, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Entry, MetadataRecord, ProposalId};
use crate::error::DecodeError;

/// The first byte of an entry.
pub const ENTRY_FORMAT: u8 = 1;
/// Length of the header in bytes.
pub const ENTRY_HEADER_LEN: usize = 35;
/// The least feature level that this build can work with.
pub const FEATURE_LEVEL_MIN: u16 = 1;
/// The greatest feature level that this build knows.
pub const FEATURE_LEVEL_MAX: u16 = 4;
/// The feature level from which on brokers announce their doors for browsers.
pub const BROWSER_DOOR_LEVEL: u16 = 2;
/// The feature level from which on followers confirm their log starts to their leader (`docs/format/replica-frames.md`).
pub const LOG_START_LEVEL: u16 = 3;
/// From this level on a broker that has just registered counts as live against another directory with its id; no
/// record has other bytes.
pub const REGISTERED_LIVES_LEVEL: u16 = 4;
/// From this level on an unclean election may name a damaged replica; no record has other bytes.
pub const SALVAGE_LEVEL: u16 = 4;

/// The number of each kind of record on disk; never reused.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    FormCluster = 1,
    RegisterBroker = 2,
    UnregisterBroker = 3,
    FenceBrokers = 4,
    UnfenceBroker = 5,
    BrokerShuttingDown = 6,
    CreateTopic = 7,
    DeleteTopic = 8,
    AddPartitions = 9,
    ChangeIsr = 10,
    ReportFaulty = 11,
    ResetReplica = 12,
    ElectPreferred = 13,
    ElectUnclean = 14,
    SetConfigs = 15,
    AllocateProducerIds = 16,
    ConfirmRemoval = 17,
    ForgetTopics = 18,
    SetFeatureLevel = 19,
    CreateJoinToken = 20,
    UseJoinToken = 21,
    NoOp = 22,
    ResignLeader = 23,
    AnnounceBrowserDoor = 24,
}

impl Entry {
    /// The entry's bytes; the offset is not part of them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        out.push(ENTRY_FORMAT);
        out.push(self.record.kind() as u8);
        out.push(self.record.version());
        out.extend_from_slice(&self.proposal.origin.0);
        out.extend_from_slice(&self.proposal.number.to_le_bytes());
        out.extend_from_slice(&self.time.0.to_le_bytes());
        self.record.append_fields(out)
    }

    /// Reads an entry that stands at `offset` of the metadata log.
    ///
    /// # Errors
    ///
    /// If the bytes are no entry, or one of a kind or version that this build does not know.
    pub fn decode(offset: MetadataOffset, bytes: &[u8]) -> Result<Self, DecodeError> {
        let short = DecodeError::Short { len: bytes.len() };
        let (header, fields) = bytes.split_at_checked(ENTRY_HEADER_LEN).ok_or(short)?;
        let ([format, kind, version], rest) = header.split_first_chunk::<3>().ok_or(short)?;
        if *format != ENTRY_FORMAT {
            return Err(DecodeError::Format { found: *format });
        }
        let (origin, rest) = rest.split_first_chunk::<16>().ok_or(short)?;
        let (number, rest) = rest.split_first_chunk::<8>().ok_or(short)?;
        let (time, _) = rest.split_first_chunk::<8>().ok_or(short)?;
        Ok(Self {
            offset,
            proposal: ProposalId { origin: DirectoryId(*origin), number: u64::from_le_bytes(*number) },
            time: Timestamp(i64::from_le_bytes(*time)),
            record: MetadataRecord::read_fields(*kind, *version, fields)?,
        })
    }
}

impl MetadataRecord {
    /// The feature level that the cluster must have before this record may be applied.
    #[must_use]
    pub const fn required_level(&self) -> u16 {
        match self {
            Self::AnnounceBrowserDoor(_) => BROWSER_DOOR_LEVEL,
            _ => FEATURE_LEVEL_MIN,
        }
    }

    /// The version in which this build writes the record.
    const fn version(&self) -> u8 {
        1
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::FormCluster(_) => Kind::FormCluster,
            Self::RegisterBroker(_) => Kind::RegisterBroker,
            Self::UnregisterBroker(_) => Kind::UnregisterBroker,
            Self::FenceBrokers(_) => Kind::FenceBrokers,
            Self::UnfenceBroker(_) => Kind::UnfenceBroker,
            Self::BrokerShuttingDown(_) => Kind::BrokerShuttingDown,
            Self::CreateTopic(_) => Kind::CreateTopic,
            Self::DeleteTopic(_) => Kind::DeleteTopic,
            Self::AddPartitions(_) => Kind::AddPartitions,
            Self::ChangeIsr(_) => Kind::ChangeIsr,
            Self::ReportFaulty(_) => Kind::ReportFaulty,
            Self::ResetReplica(_) => Kind::ResetReplica,
            Self::ElectPreferred(_) => Kind::ElectPreferred,
            Self::ElectUnclean(_) => Kind::ElectUnclean,
            Self::SetConfigs(_) => Kind::SetConfigs,
            Self::AllocateProducerIds(_) => Kind::AllocateProducerIds,
            Self::ConfirmRemoval(_) => Kind::ConfirmRemoval,
            Self::ForgetTopics(_) => Kind::ForgetTopics,
            Self::SetFeatureLevel(_) => Kind::SetFeatureLevel,
            Self::CreateJoinToken(_) => Kind::CreateJoinToken,
            Self::UseJoinToken(_) => Kind::UseJoinToken,
            Self::NoOp => Kind::NoOp,
            Self::ResignLeader(_) => Kind::ResignLeader,
            Self::AnnounceBrowserDoor(_) => Kind::AnnounceBrowserDoor,
        }
    }

    fn append_fields(&self, out: Vec<u8>) -> Vec<u8> {
        match self {
            Self::FormCluster(fields) => append(fields, out),
            Self::RegisterBroker(fields) => append(fields, out),
            Self::UnregisterBroker(fields) => append(fields, out),
            Self::FenceBrokers(fields) => append(fields, out),
            Self::UnfenceBroker(fields) => append(fields, out),
            Self::BrokerShuttingDown(fields) => append(fields, out),
            Self::CreateTopic(fields) => append(fields, out),
            Self::DeleteTopic(fields) => append(fields, out),
            Self::AddPartitions(fields) => append(fields, out),
            Self::ChangeIsr(fields) => append(fields, out),
            Self::ReportFaulty(fields) => append(fields, out),
            Self::ResetReplica(fields) => append(fields, out),
            Self::ElectPreferred(fields) => append(fields, out),
            Self::ElectUnclean(fields) => append(fields, out),
            Self::SetConfigs(fields) => append(fields, out),
            Self::AllocateProducerIds(fields) => append(fields, out),
            Self::ConfirmRemoval(fields) => append(fields, out),
            Self::ForgetTopics(fields) => append(fields, out),
            Self::SetFeatureLevel(fields) => append(fields, out),
            Self::CreateJoinToken(fields) => append(fields, out),
            Self::UseJoinToken(fields) => append(fields, out),
            Self::NoOp => out,
            Self::ResignLeader(fields) => append(fields, out),
            Self::AnnounceBrowserDoor(fields) => append(fields, out),
        }
    }

    fn read_fields(kind: u8, version: u8, fields: &[u8]) -> Result<Self, DecodeError> {
        let known = Kind::from_number(kind).ok_or(DecodeError::UnknownKind { kind })?;
        if version != 1 {
            return Err(DecodeError::UnknownVersion { kind, version });
        }
        Ok(match known {
            Kind::FormCluster => Self::FormCluster(read(kind, fields)?),
            Kind::RegisterBroker => Self::RegisterBroker(Box::new(read(kind, fields)?)),
            Kind::UnregisterBroker => Self::UnregisterBroker(read(kind, fields)?),
            Kind::FenceBrokers => Self::FenceBrokers(read(kind, fields)?),
            Kind::UnfenceBroker => Self::UnfenceBroker(read(kind, fields)?),
            Kind::BrokerShuttingDown => Self::BrokerShuttingDown(read(kind, fields)?),
            Kind::CreateTopic => Self::CreateTopic(read(kind, fields)?),
            Kind::DeleteTopic => Self::DeleteTopic(read(kind, fields)?),
            Kind::AddPartitions => Self::AddPartitions(read(kind, fields)?),
            Kind::ChangeIsr => Self::ChangeIsr(read(kind, fields)?),
            Kind::ReportFaulty => Self::ReportFaulty(read(kind, fields)?),
            Kind::ResetReplica => Self::ResetReplica(read(kind, fields)?),
            Kind::ElectPreferred => Self::ElectPreferred(read(kind, fields)?),
            Kind::ElectUnclean => Self::ElectUnclean(read(kind, fields)?),
            Kind::SetConfigs => Self::SetConfigs(read(kind, fields)?),
            Kind::AllocateProducerIds => Self::AllocateProducerIds(read(kind, fields)?),
            Kind::ConfirmRemoval => Self::ConfirmRemoval(read(kind, fields)?),
            Kind::ForgetTopics => Self::ForgetTopics(read(kind, fields)?),
            Kind::SetFeatureLevel => Self::SetFeatureLevel(read(kind, fields)?),
            Kind::CreateJoinToken => Self::CreateJoinToken(read(kind, fields)?),
            Kind::UseJoinToken => Self::UseJoinToken(read(kind, fields)?),
            Kind::NoOp => read::<()>(kind, fields).map(|()| Self::NoOp)?,
            Kind::ResignLeader => Self::ResignLeader(read(kind, fields)?),
            Kind::AnnounceBrowserDoor => Self::AnnounceBrowserDoor(read(kind, fields)?),
        })
    }
}

impl Kind {
    const ALL: [Self; 24] = [
        Self::FormCluster,
        Self::RegisterBroker,
        Self::UnregisterBroker,
        Self::FenceBrokers,
        Self::UnfenceBroker,
        Self::BrokerShuttingDown,
        Self::CreateTopic,
        Self::DeleteTopic,
        Self::AddPartitions,
        Self::ChangeIsr,
        Self::ReportFaulty,
        Self::ResetReplica,
        Self::ElectPreferred,
        Self::ElectUnclean,
        Self::SetConfigs,
        Self::AllocateProducerIds,
        Self::ConfirmRemoval,
        Self::ForgetTopics,
        Self::SetFeatureLevel,
        Self::CreateJoinToken,
        Self::UseJoinToken,
        Self::NoOp,
        Self::ResignLeader,
        Self::AnnounceBrowserDoor,
    ];

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

fn append<T: Serialize>(fields: &T, out: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(fields, out)
        .expect("a record holds only what postcard can write, and a Vec takes it all")
}

/// Nothing is allocated from a claimed length beyond what serde allows at once (1 MiB); elements must be there.
fn read<T: DeserializeOwned>(kind: u8, fields: &[u8]) -> Result<T, DecodeError> {
    let (value, rest) = postcard::take_from_bytes(fields).map_err(|_| DecodeError::Fields { kind })?;
    if rest.is_empty() { Ok(value) } else { Err(DecodeError::Trailing { kind, len: rest.len() }) }
}
