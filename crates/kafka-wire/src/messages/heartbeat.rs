// @generated from schemas/heartbeat.api by cargo xtask codegen
//! `Heartbeat` (key 12): keeps a member in its group.

use alloc::borrow::Cow;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Keeps a member in its group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// Number of the group's assignment; -1 for none.
    pub generation_id: i32,
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 3 on.
    pub group_instance_id: Option<Cow<'a, str>>,
}

impl Body for HeartbeatRequest<'_> {
    const KEY: ApiKey = ApiKey::Heartbeat;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for HeartbeatRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            group_id: r.string(flexible)?,
            generation_id: r.i32()?,
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 3 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for HeartbeatRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.group_id);
        w.i32(self.generation_id);
        w.string(flexible, &self.member_id);
        if version >= 3 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`HeartbeatRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatResponse {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
}

impl Body for HeartbeatResponse {
    const KEY: ApiKey = ApiKey::Heartbeat;
}

#[cfg(feature = "client")]
impl Decode<'_> for HeartbeatResponse {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value =
            Self { throttle_time_ms: if version >= 1 { r.i32()? } else { 0 }, error_code: r.error()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for HeartbeatResponse {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for HeartbeatResponse {}
