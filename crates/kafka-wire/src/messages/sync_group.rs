// @generated from schemas/sync_group.api by cargo xtask codegen
//! `SyncGroup` (key 14): gives the leader's assignment to the group, and each member its own.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Gives the leader's assignment to the group, and each member its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncGroupRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// Number of the group's assignment; -1 for none.
    pub generation_id: i32,
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 3 on.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// What kind of group it is. From version 5 on.
    pub protocol_type: Option<Cow<'a, str>>,
    /// The protocol chosen. From version 5 on.
    pub protocol_name: Option<Cow<'a, str>>,
    /// By member; from the leader only.
    pub assignments: Vec<SyncGroupRequestAssignment<'a>>,
}

impl Body for SyncGroupRequest<'_> {
    const KEY: ApiKey = ApiKey::SyncGroup;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for SyncGroupRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            group_id: r.string(flexible)?,
            generation_id: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 3 { r.nullable_string(flexible, true)? } else { None },
            protocol_type: if version == 5 { r.nullable_string(flexible, true)? } else { None },
            protocol_name: if version == 5 { r.nullable_string(flexible, true)? } else { None },
            assignments: r.array(flexible, 3, |r| SyncGroupRequestAssignment::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for SyncGroupRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.group_id);
        w.i32(self.generation_id);
        w.string(flexible, &self.member_id);
        if version >= 3 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        if version == 5 {
            w.nullable_string(flexible, true, self.protocol_type.as_deref());
        }
        if version == 5 {
            w.nullable_string(flexible, true, self.protocol_name.as_deref());
        }
        w.array(flexible, &self.assignments, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`SyncGroupRequest`]: `assignments`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncGroupRequestAssignment<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// What the member gets.
    pub assignment: Cow<'a, [u8]>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for SyncGroupRequestAssignment<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self { member_id: r.string(flexible)?, assignment: r.bytes(flexible)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for SyncGroupRequestAssignment<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id);
        w.bytes(flexible, &self.assignment);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`SyncGroupRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncGroupResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// What kind of group it is. From version 5 on.
    pub protocol_type: Option<Cow<'a, str>>,
    /// The protocol chosen. From version 5 on.
    pub protocol_name: Option<Cow<'a, str>>,
    /// What the member gets.
    pub assignment: Cow<'a, [u8]>,
}

impl Body for SyncGroupResponse<'_> {
    const KEY: ApiKey = ApiKey::SyncGroup;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for SyncGroupResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.error()?,
            protocol_type: if version == 5 { r.nullable_string(flexible, true)? } else { None },
            protocol_name: if version == 5 { r.nullable_string(flexible, true)? } else { None },
            assignment: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for SyncGroupResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.error(self.error_code);
        if version == 5 {
            w.nullable_string(flexible, true, self.protocol_type.as_deref());
        }
        if version == 5 {
            w.nullable_string(flexible, true, self.protocol_name.as_deref());
        }
        w.bytes(flexible, &self.assignment);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for SyncGroupResponse<'_> {}
