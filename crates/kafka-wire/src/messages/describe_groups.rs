// @generated from schemas/describe_groups.api by cargo xtask codegen
//! `DescribeGroups` (key 15): describes groups and their members.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Describes groups and their members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeGroupsRequest<'a> {
    /// Groups to describe.
    pub groups: Vec<Cow<'a, str>>,
    /// Whether to tell what the client may do with each group. From version 3 on.
    pub include_authorized_operations: bool,
}

impl Body for DescribeGroupsRequest<'_> {
    const KEY: ApiKey = ApiKey::DescribeGroups;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DescribeGroupsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            groups: r.array(flexible, 1, |r| r.string(flexible))?,
            include_authorized_operations: if version >= 3 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DescribeGroupsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.array(flexible, &self.groups, |w, value| w.string(flexible, value));
        if version >= 3 {
            w.bool(self.include_authorized_operations);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DescribeGroupsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeGroupsResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// By group.
    pub groups: Vec<DescribedGroup<'a>>,
}

impl Body for DescribeGroupsResponse<'_> {
    const KEY: ApiKey = ApiKey::DescribeGroups;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribeGroupsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            groups: r.array(flexible, 12, |r| DescribedGroup::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribeGroupsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flexible, &self.groups, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DescribeGroupsResponse<'_> {}

/// Part of a [`DescribeGroupsResponse`]: `groups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedGroup<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add. From version 6 on.
    pub error_message: Option<Cow<'a, str>>,
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// State of the group.
    pub group_state: Cow<'a, str>,
    /// What kind of group it is.
    pub protocol_type: Cow<'a, str>,
    /// The protocol chosen.
    pub protocol_data: Cow<'a, str>,
    /// By member.
    pub members: Vec<DescribedGroupMember<'a>>,
    /// Bits of what the client may do with the group; the lowest number when not asked. From version 3 on.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup<'_> {
    fn default() -> Self {
        Self {
            error_code: ErrorCode::None,
            error_message: None,
            group_id: Cow::Borrowed(""),
            group_state: Cow::Borrowed(""),
            protocol_type: Cow::Borrowed(""),
            protocol_data: Cow::Borrowed(""),
            members: Vec::new(),
            authorized_operations: i32::MIN,
        }
    }
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribedGroup<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            error_code: r.error()?,
            error_message: if version == 6 { r.nullable_string(flexible, true)? } else { None },
            group_id: r.string(flexible)?,
            group_state: r.string(flexible)?,
            protocol_type: r.string(flexible)?,
            protocol_data: r.string(flexible)?,
            members: r.array(flexible, 7, |r| DescribedGroupMember::decode(r, version))?,
            authorized_operations: if version >= 3 { r.i32()? } else { i32::MIN },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribedGroup<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.error(self.error_code);
        if version == 6 {
            w.nullable_string(flexible, true, self.error_message.as_deref());
        }
        w.string(flexible, &self.group_id);
        w.string(flexible, &self.group_state);
        w.string(flexible, &self.protocol_type);
        w.string(flexible, &self.protocol_data);
        w.array(flexible, &self.members, |w, value| value.encode(w, version));
        if version >= 3 {
            w.i32(self.authorized_operations);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// Part of a [`DescribedGroup`]: `members`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedGroupMember<'a> {
    /// Id of the member; empty before it has one.
    pub member_id: Cow<'a, str>,
    /// The static member's name; null for others. From version 4 on.
    pub group_instance_id: Option<Cow<'a, str>>,
    /// What the client calls itself.
    pub client_id: Cow<'a, str>,
    /// Where the client connects from.
    pub client_host: Cow<'a, str>,
    /// The member's subscription.
    pub member_metadata: Cow<'a, [u8]>,
    /// What the member has got.
    pub member_assignment: Cow<'a, [u8]>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DescribedGroupMember<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 5;
        let value = Self {
            member_id: r.string(flexible)?,
            group_instance_id: if version >= 4 { r.nullable_string(flexible, true)? } else { None },
            client_id: r.string(flexible)?,
            client_host: r.string(flexible)?,
            member_metadata: r.bytes(flexible)?,
            member_assignment: r.bytes(flexible)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DescribedGroupMember<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 5;
        w.string(flexible, &self.member_id);
        if version >= 4 {
            w.nullable_string(flexible, true, self.group_instance_id.as_deref());
        }
        w.string(flexible, &self.client_id);
        w.string(flexible, &self.client_host);
        w.bytes(flexible, &self.member_metadata);
        w.bytes(flexible, &self.member_assignment);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
