// @generated from schemas/delete_groups.api by cargo xtask codegen
//! `DeleteGroups` (key 42): deletes groups that have no members.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Deletes groups that have no members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteGroupsRequest<'a> {
    /// Groups to delete.
    pub groups_names: Vec<Cow<'a, str>>,
}

impl Body for DeleteGroupsRequest<'_> {
    const KEY: ApiKey = ApiKey::DeleteGroups;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for DeleteGroupsRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { groups_names: r.array(flexible, 1, |r| r.string(flexible))? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for DeleteGroupsRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.array(flexible, &self.groups_names, |w, value| w.string(flexible, value));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`DeleteGroupsRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteGroupsResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// By group.
    pub results: Vec<DeletableGroupResult<'a>>,
}

impl Body for DeleteGroupsResponse<'_> {
    const KEY: ApiKey = ApiKey::DeleteGroups;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeleteGroupsResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 4, |r| DeletableGroupResult::decode(r, version))?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeleteGroupsResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, value| value.encode(w, version));
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for DeleteGroupsResponse<'_> {}

/// Part of a [`DeleteGroupsResponse`]: `results`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletableGroupResult<'a> {
    /// Id of the group.
    pub group_id: Cow<'a, str>,
    /// What became of it.
    pub error_code: ErrorCode,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for DeletableGroupResult<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { group_id: r.string(flexible)?, error_code: r.error()? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for DeletableGroupResult<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.string(flexible, &self.group_id);
        w.error(self.error_code);
        if flexible {
            w.tag_count(&[]);
        }
    }
}
