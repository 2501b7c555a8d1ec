// @generated from schemas/leave_group.api by cargo xtask codegen
//! `LeaveGroup` (key 13): takes members out of a group.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Takes members out of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaveGroupRequest<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// Id of the member; empty before it has one. Up to version 2.
    pub member_id: Cow<'a, str>,
    /// Who leaves. From version 3 on.
    pub members: Vec<MemberIdentity<'a>>,
}

impl Body for LeaveGroupRequest<'_> {
    const KEY: ApiKey = ApiKey::LeaveGroup;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for LeaveGroupRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            group_id: r.string(flexible)?,
            member_id: if version <= 2 { r.string(flexible)? } else { Cow::Borrowed("") },
            members: if version >= 3 {
                r.array(flexible, 3, |r| MemberIdentity::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for LeaveGroupRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.group_id);
        if version <= 2 {
            w.string(flexible, &self.member_id);
        }
        if version >= 3 {
            w.array(flexible, &self.members, |w, value| value.encode(w, version));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`LeaveGroupRequest`]: `members`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberIdentity<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// Why the member leaves. From version 5 on.
    pub reason: Option<Cow<'a, str>>,
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for MemberIdentity<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            member_id: r.string(flexible)?,
            group_instance_id: r.nullable_string(flexible, true)?,
            reason: if version == 5 { r.nullable_string(flexible, true)? } else { None },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for MemberIdentity<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id);
        w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        if version == 5 {
            w.nullable_string(flexible, true, self.reason.as_deref());
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`LeaveGroupRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaveGroupResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// By member. From version 3 on.
    pub members: Vec<MemberResponse<'a>>,
}

impl Body for LeaveGroupResponse<'_> {
    const KEY: ApiKey = ApiKey::LeaveGroup;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for LeaveGroupResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.error()?,
            members: if version >= 3 {
                r.array(flexible, 5, |r| MemberResponse::decode(r, version))?
            } else {
                Vec::new()
            },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for LeaveGroupResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.error(self.error_code);
        if version >= 3 {
            w.array(flexible, &self.members, |w, value| value.encode(w, version));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for LeaveGroupResponse<'_> {}

/// Part of a [`LeaveGroupResponse`]: `members`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberResponse<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for MemberResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let value = Self {
            member_id: r.string(flexible)?,
            group_instance_id: r.nullable_string(flexible, true)?,
            error_code: r.error()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for MemberResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 4;
        w.string(flexible, &self.member_id);
        w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
