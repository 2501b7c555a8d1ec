//! The records of `__consumer_offsets`, byte for byte as Kafka writes them: a committed offset (key version 1, value
//! version 3) and a classic group (key version 2, value version 3). Tools that read the topic understand both.
//!
//! ```text
//! offset key    i16 1 | group | topic | i32 partition
//! offset value  i16 3 | i64 offset | i32 leader epoch | metadata | i64 commit time
//! group key     i16 2 | group
//! group value   i16 3 | protocol type | i32 generation | protocol? | leader? | i64 state time | i32 count |
//!                 { member id | instance id? | client id | client host | i32 rebalance ms | i32 session ms |
//!                   bytes subscription | bytes assignment }
//! strings: i16 length, −1 = none; bytes: i32 length; all big-endian
//! ```

use bytes::Bytes;

use crate::error::RecordError;

/// A record to append, or one that was read. No value means that what the key names is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The encoded key.
    pub key: Bytes,
    /// The encoded value.
    pub value: Option<Bytes>,
}

/// What a key names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKey {
    /// A committed offset.
    Offset {
        /// The group.
        group: String,
        /// The topic's name.
        topic: String,
        /// The partition.
        partition: i32,
    },
    /// A group's members.
    Group {
        /// The group.
        group: String,
    },
    /// A kind that a newer version wrote; it is skipped.
    Unknown {
        /// Its version.
        version: i16,
    },
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next offset that the group reads.
    pub offset: i64,
    /// The leader epoch of the record before; −1 if none.
    pub leader_epoch: i32,
    /// What the client stored with it.
    pub metadata: String,
    /// When it was committed, in milliseconds since 1970.
    pub commit_ms: i64,
}

/// A classic group as its last completed rebalance left it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GroupValue {
    /// `consumer` for consumers.
    pub protocol_type: String,
    /// The generation.
    pub generation: i32,
    /// The assignor chosen.
    pub protocol: Option<String>,
    /// The member that assigns.
    pub leader: Option<String>,
    /// When the group came into this state, in milliseconds since 1970; −1 if not known.
    pub state_ms: i64,
    /// Its members.
    pub members: Vec<MemberValue>,
}

/// A member within a [`GroupValue`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemberValue {
    /// The id that the coordinator gave.
    pub member_id: String,
    /// The static id, if any.
    pub instance_id: Option<String>,
    /// The client's own name.
    pub client_id: String,
    /// Where it connected from.
    pub client_host: String,
    /// How long it may take to rejoin, in milliseconds.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent, in milliseconds.
    pub session_timeout_ms: i32,
    /// Its subscription, opaque.
    pub subscription: Bytes,
    /// Its assignment, opaque.
    pub assignment: Bytes,
}

const OFFSET_KEY: i16 = 1;
const GROUP_KEY: i16 = 2;
const OFFSET_VALUE: i16 = 3;
const GROUP_VALUE: i16 = 3;

impl GroupRecord {
    /// The record of a committed offset, or of its removal.
    #[must_use]
    pub fn offset(group: &str, topic: &str, partition: i32, value: Option<&CommittedOffset>) -> Self {
        let mut key = Writer::new(OFFSET_KEY);
        key.string(group);
        key.string(topic);
        key.i32(partition);
        let value = value.map(|committed| {
            let mut value = Writer::new(OFFSET_VALUE);
            value.i64(committed.offset);
            value.i32(committed.leader_epoch);
            value.string(&committed.metadata);
            value.i64(committed.commit_ms);
            value.done()
        });
        Self { key: key.done(), value }
    }

    /// The record of a group's members, or of its removal.
    #[must_use]
    pub fn group(group: &str, value: Option<&GroupValue>) -> Self {
        let mut key = Writer::new(GROUP_KEY);
        key.string(group);
        Self { key: key.done(), value: value.map(encode_group) }
    }

    /// Takes the key apart.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] if it ends early.
    pub fn parse_key(key: &[u8]) -> Result<RecordKey, RecordError> {
        let mut reader = Reader { bytes: key, at: 0 };
        match reader.i16()? {
            0 | OFFSET_KEY => Ok(RecordKey::Offset {
                group: reader.string()?,
                topic: reader.string()?,
                partition: reader.i32()?,
            }),
            GROUP_KEY => Ok(RecordKey::Group { group: reader.string()? }),
            version => Ok(RecordKey::Unknown { version }),
        }
    }
}

impl CommittedOffset {
    /// Reads a value of any version that Kafka wrote before flexible versions.
    ///
    /// # Errors
    /// [`RecordError`] if the bytes end early or the version is newer.
    pub fn parse(value: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader { bytes: value, at: 0 };
        let version = reader.i16()?;
        if !(0..=OFFSET_VALUE).contains(&version) {
            return Err(RecordError::UnknownVersion { version });
        }
        let offset = reader.i64()?;
        let leader_epoch = if version >= 3 { reader.i32()? } else { -1 };
        Ok(Self { offset, leader_epoch, metadata: reader.string()?, commit_ms: reader.i64()? })
    }
}

impl GroupValue {
    /// Reads a value of any version that Kafka wrote before flexible versions.
    ///
    /// # Errors
    /// [`RecordError`] if the bytes end early, hold an impossible length, or the version is newer.
    pub fn parse(value: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader { bytes: value, at: 0 };
        let version = reader.i16()?;
        if !(0..=GROUP_VALUE).contains(&version) {
            return Err(RecordError::UnknownVersion { version });
        }
        let mut group = Self {
            protocol_type: reader.string()?,
            generation: reader.i32()?,
            protocol: reader.nullable_string()?,
            leader: reader.nullable_string()?,
            state_ms: if version >= 2 { reader.i64()? } else { -1 },
            members: Vec::new(),
        };
        for _ in 0..reader.i32()? {
            group.members.push(reader.member(version)?);
        }
        Ok(group)
    }
}

fn encode_group(group: &GroupValue) -> Bytes {
    let mut value = Writer::new(GROUP_VALUE);
    value.string(&group.protocol_type);
    value.i32(group.generation);
    value.nullable_string(group.protocol.as_deref());
    value.nullable_string(group.leader.as_deref());
    value.i64(group.state_ms);
    value.i32(i32::try_from(group.members.len()).expect("a group has far fewer than 2^31 members"));
    for member in &group.members {
        value.string(&member.member_id);
        value.nullable_string(member.instance_id.as_deref());
        value.string(&member.client_id);
        value.string(&member.client_host);
        value.i32(member.rebalance_timeout_ms);
        value.i32(member.session_timeout_ms);
        value.bytes(&member.subscription);
        value.bytes(&member.assignment);
    }
    value.done()
}

struct Writer(Vec<u8>);

impl Writer {
    fn new(version: i16) -> Self {
        Self(version.to_be_bytes().to_vec())
    }

    fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// Strings longer than the format can say are cut at a character boundary; commands refuse them before.
    fn string(&mut self, value: &str) {
        let mut end = value.len().min(i16::MAX as usize);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let length = i16::try_from(end).expect("cut to the greatest length");
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(value.as_bytes().get(..end).expect("end lies within the string"));
    }

    fn nullable_string(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.string(value),
            None => self.0.extend_from_slice(&(-1_i16).to_be_bytes()),
        }
    }

    fn bytes(&mut self, value: &[u8]) {
        self.i32(i32::try_from(value.len()).expect("a field of a request is shorter than 2^31 bytes"));
        self.0.extend_from_slice(value);
    }

    fn done(self) -> Bytes {
        self.0.into()
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], RecordError> {
        let end = self.at.checked_add(count).ok_or(RecordError::Malformed { at: self.at })?;
        let taken = self.bytes.get(self.at..end).ok_or(RecordError::Malformed { at: self.at })?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        Ok(self.take(N)?.try_into().expect("take returns what was asked"))
    }

    fn i16(&mut self) -> Result<i16, RecordError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    fn i32(&mut self) -> Result<i32, RecordError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn i64(&mut self) -> Result<i64, RecordError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    fn nullable_string(&mut self) -> Result<Option<String>, RecordError> {
        let at = self.at;
        let Ok(length) = usize::try_from(self.i16()?) else { return Ok(None) };
        let text = core::str::from_utf8(self.take(length)?).map_err(|_| RecordError::Malformed { at })?;
        Ok(Some(text.to_owned()))
    }

    fn string(&mut self) -> Result<String, RecordError> {
        let at = self.at;
        self.nullable_string()?.ok_or(RecordError::Malformed { at })
    }

    fn bytes(&mut self) -> Result<Bytes, RecordError> {
        let length = usize::try_from(self.i32()?).unwrap_or(0);
        Ok(Bytes::copy_from_slice(self.take(length)?))
    }

    fn member(&mut self, version: i16) -> Result<MemberValue, RecordError> {
        let member_id = self.string()?;
        let instance_id = if version >= 3 { self.nullable_string()? } else { None };
        let client_id = self.string()?;
        let client_host = self.string()?;
        let first_ms = self.i32()?;
        let session_timeout_ms = if version >= 1 { self.i32()? } else { first_ms };
        Ok(MemberValue {
            member_id,
            instance_id,
            client_id,
            client_host,
            rebalance_timeout_ms: first_ms,
            session_timeout_ms,
            subscription: self.bytes()?,
            assignment: self.bytes()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn an_offset_record_has_kafkas_bytes() {
        let committed =
            CommittedOffset { offset: 258, leader_epoch: 7, metadata: "m".to_owned(), commit_ms: 1 };
        let record = GroupRecord::offset("g", "to", 3, Some(&committed));
        assert_eq!(hex(&record.key), "0001000167".to_owned() + "0002746f" + "00000003");
        assert_eq!(
            hex(record.value.as_ref().unwrap()),
            "0003".to_owned() + "0000000000000102" + "00000007" + "00016d" + "0000000000000001"
        );
        assert_eq!(CommittedOffset::parse(record.value.as_ref().unwrap()), Ok(committed));
    }

    #[test]
    fn a_group_record_reads_back_whole() {
        let member = MemberValue {
            member_id: "c-1".to_owned(),
            instance_id: Some("i".to_owned()),
            client_id: "c".to_owned(),
            client_host: "/127.0.0.1".to_owned(),
            rebalance_timeout_ms: 60_000,
            session_timeout_ms: 10_000,
            subscription: Bytes::from_static(b"sub"),
            assignment: Bytes::from_static(b"assign"),
        };
        let group = GroupValue {
            protocol_type: "consumer".to_owned(),
            generation: 4,
            protocol: Some("range".to_owned()),
            leader: None,
            state_ms: 99,
            members: vec![member],
        };
        let record = GroupRecord::group("g", Some(&group));
        assert_eq!(GroupRecord::parse_key(&record.key), Ok(RecordKey::Group { group: "g".to_owned() }));
        assert_eq!(GroupValue::parse(record.value.as_ref().unwrap()), Ok(group));
    }

    #[test]
    fn a_claimed_member_count_costs_nothing() {
        let mut value = Writer::new(GROUP_VALUE);
        value.string("consumer");
        value.i32(1);
        value.nullable_string(None);
        value.nullable_string(None);
        value.i64(0);
        value.i32(i32::MAX);
        assert!(matches!(GroupValue::parse(&value.done()), Err(RecordError::Malformed { .. })));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = GroupRecord::parse_key(&bytes);
            let _ = CommittedOffset::parse(&bytes);
            let _ = GroupValue::parse(&bytes);
        }
    }
}
