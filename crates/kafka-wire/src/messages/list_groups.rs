// @generated from schemas/list_groups.api by cargo xtask codegen
//! `ListGroups` (key 16): lists the groups that the broker coordinates.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Lists the groups that the broker coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListGroupsRequest<'a> {
    /// States wanted; none means all. From version 4 on.
    pub states_filter: Vec<Cow<'a, str>>,
    /// Types wanted; none means all. From version 5 on.
    pub types_filter: Vec<Cow<'a, str>>,
}

impl Body for ListGroupsRequest<'_> {
    const KEY: ApiKey = ApiKey::ListGroups;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for ListGroupsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            states_filter: if version >= 4 {
                r.array(flexible, 1, |r| r.string(flexible))?
            } else {
                Vec::new()
            },
            types_filter: if version == 5 {
                r.array(flexible, 1, |r| r.string(flexible))?
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
impl Encode for ListGroupsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        if version >= 4 {
            w.array(flexible, &self.states_filter, |w, value| w.string(flexible, value));
        }
        if version == 5 {
            w.array(flexible, &self.types_filter, |w, value| w.string(flexible, value));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`ListGroupsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListGroupsResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The groups.
    pub groups: Vec<ListedGroup<'a>>,
}

impl Body for ListGroupsResponse<'_> {
    const KEY: ApiKey = ApiKey::ListGroups;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ListGroupsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: r.error()?,
            groups: r.array(flexible, 3, |r| ListedGroup::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ListGroupsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.error(self.error_code);
        w.array(flexible, &self.groups, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for ListGroupsResponse<'_> {}

/// Part of a [`ListGroupsResponse`]: `groups`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedGroup<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// What kind of group it is.
    pub protocol_type: Cow<'a, str>,
    /// State of the group. From version 4 on.
    pub group_state: Cow<'a, str>,
    /// Type of the group. From version 5 on.
    pub group_type: Cow<'a, str>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for ListedGroup<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            group_id: r.string(flexible)?,
            protocol_type: r.string(flexible)?,
            group_state: if version >= 4 { r.string(flexible)? } else { Cow::Borrowed("") },
            group_type: if version == 5 { r.string(flexible)? } else { Cow::Borrowed("") },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for ListedGroup<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.string(flexible, &self.group_id);
        w.string(flexible, &self.protocol_type);
        if version >= 4 {
            w.string(flexible, &self.group_state);
        }
        if version == 5 {
            w.string(flexible, &self.group_type);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}
