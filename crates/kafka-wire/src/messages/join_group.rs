// @generated from schemas/join_group.api by cargo xtask codegen
//! `JoinGroup` (key 11): enters a consumer group, or enters it again.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Enters a consumer group, or enters it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinGroupRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// Without a heartbeat for so long the member is out, in milliseconds.
    pub session_timeout_ms: i32,
    /// How long members may take to join again, in milliseconds; -1 means the session timeout. From version 1 on.
    pub rebalance_timeout_ms: i32,
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 5 on.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// What kind of group it is.
    pub protocol_type: Cow<'a, str>,
    /// Assignment protocols that the member knows, the preferred one first.
    pub protocols: Vec<JoinGroupRequestProtocol<'a>>,
    /// Why the member joins. From version 8 on.
    pub reason: Option<Cow<'a, str>>,
}

impl Default for JoinGroupRequest<'_> {
    fn default() -> Self {
        Self {
            group_id: Cow::Borrowed(""),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: Cow::Borrowed(""),
            group_instance_id: None,
            protocol_type: Cow::Borrowed(""),
            protocols: Vec::new(),
            reason: None,
        }
    }
}

impl Body for JoinGroupRequest<'_> {
    const KEY: ApiKey = ApiKey::JoinGroup;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for JoinGroupRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            group_id: r.string(flexible)?,
            session_timeout_ms: r.i32()?,
            rebalance_timeout_ms: if version >= 1 { r.i32()? } else { -1 },
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 5 { r.nullable_string(flexible, true)? } else { None },
            protocol_type: r.string(flexible)?,
            protocols: r.array(flexible, 3, |r| JoinGroupRequestProtocol::decode(r, version))?,
            reason: if version >= 8 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for JoinGroupRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.group_id);
        w.i32(self.session_timeout_ms);
        if version >= 1 {
            w.i32(self.rebalance_timeout_ms);
        }
        w.string(flexible, &self.member_id);
        if version >= 5 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        w.string(flexible, &self.protocol_type);
        w.array(flexible, &self.protocols, |w, value| value.encode(w, version));
        if version >= 8 {
            w.nullable_string(flexible, true, self.reason.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`JoinGroupRequest`]: `protocols`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinGroupRequestProtocol<'a> {
    /// Name of the protocol.
    pub name: Cow<'a, str>,
    /// The member's subscription.
    pub metadata: Cow<'a, [u8]>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for JoinGroupRequestProtocol<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self { name: r.string(flexible)?, metadata: r.bytes(flexible)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for JoinGroupRequestProtocol<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.name);
        w.bytes(flexible, &self.metadata);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`JoinGroupRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinGroupResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 2 on.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// Number of the group's assignment; -1 for none.
    pub generation_id: i32,
    /// What kind of group it is. From version 7 on.
    pub protocol_type: Option<Cow<'a, str>>,
    /// The protocol chosen.
    pub protocol_name: Option<Cow<'a, str>>,
    /// The member that assigns.
    pub leader: Cow<'a, str>,
    /// Whether the leader shall keep the assignment as it is. From version 9 on.
    pub skip_assignment: bool,
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// All members, for the leader only.
    pub members: Vec<JoinGroupResponseMember<'a>>,
}

impl Default for JoinGroupResponse<'_> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode::None,
            generation_id: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Cow::Borrowed(""),
            skip_assignment: false,
            member_id: Cow::Borrowed(""),
            members: Vec::new(),
        }
    }
}

impl Body for JoinGroupResponse<'_> {
    const KEY: ApiKey = ApiKey::JoinGroup;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for JoinGroupResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            throttle_time_ms: if version >= 2 { r.i32()? } else { 0 },
            error_code: r.error()?,
            generation_id: r.i32()?,
            protocol_type: if version >= 7 { r.nullable_string(flexible, true)? } else { None },
            protocol_name: r.nullable_string(flexible, version >= 7)?,
            leader: r.string(flexible)?,
            skip_assignment: if version == 9 { r.bool()? } else { false },
            member_id: r.string(flexible)?,
            members: r.array(flexible, 4, |r| JoinGroupResponseMember::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for JoinGroupResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        w.error(self.error_code);
        w.i32(self.generation_id);
        if version >= 7 {
            w.nullable_string(flexible, true, self.protocol_type.as_deref());
        }
        w.nullable_string(flexible, version >= 7, self.protocol_name.as_deref());
        w.string(flexible, &self.leader);
        if version == 9 {
            w.bool(self.skip_assignment);
        }
        w.string(flexible, &self.member_id);
        w.array(flexible, &self.members, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for JoinGroupResponse<'_> {}

/// Part of a [`JoinGroupResponse`]: `members`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinGroupResponseMember<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 5 on.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// The member's subscription.
    pub metadata: Cow<'a, [u8]>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for JoinGroupResponseMember<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 6;
        let value = Self {
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 5 { r.nullable_string(flexible, true)? } else { None },
            metadata: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for JoinGroupResponseMember<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 6;
        w.string(flexible, &self.member_id);
        if version >= 5 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        w.bytes(flexible, &self.metadata);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
