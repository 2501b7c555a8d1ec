// @generated from schemas/find_coordinator.api by cargo xtask codegen
//! `FindCoordinator` (key 10): finds the broker that coordinates a group or a transaction.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Finds the broker that coordinates a group or a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindCoordinatorRequest<'a> {
    /// The group or transactional id. Up to version 3.
    pub key: Cow<'a, str>,
    /// 0: group, 1: transaction, 2: share group. From version 1 on.
    pub key_type: i8,
    /// Several groups or transactional ids. From version 4 on.
    pub coordinator_keys: Vec<Cow<'a, str>>,
}

impl Body for FindCoordinatorRequest<'_> {
    const KEY: ApiKey = ApiKey::FindCoordinator;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for FindCoordinatorRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            key: if version <= 3 { r.string(flexible)? } else { Cow::Borrowed("") },
            key_type: if version >= 1 { r.i8()? } else { 0 },
            coordinator_keys: if version >= 4 {
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
impl Encode for FindCoordinatorRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        if version <= 3 {
            w.string(flexible, &self.key);
        }
        if version >= 1 {
            w.i8(self.key_type);
        }
        if version >= 4 {
            w.array(flexible, &self.coordinator_keys, |w, value| w.string(flexible, value));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`FindCoordinatorRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindCoordinatorResponse<'a> {
    /// How long the client shall pause, in milliseconds. From version 1 on.
    pub throttle_time_ms: i32,
    /// What became of it. Up to version 3.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add. In versions 1 to 3.
    pub error_message: Option<Cow<'a, str>>,
    /// Id of the broker. Up to version 3.
    pub node_id: i32,
    /// Host to connect to. Up to version 3.
    pub host: Cow<'a, str>,
    /// Port to connect to. Up to version 3.
    pub port: i32,
    /// By key. From version 4 on.
    pub coordinators: Vec<Coordinator<'a>>,
}

impl Body for FindCoordinatorResponse<'_> {
    const KEY: ApiKey = ApiKey::FindCoordinator;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for FindCoordinatorResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            error_code: if version <= 3 { r.error()? } else { ErrorCode::None },
            error_message: if (1..=3).contains(&version) { r.nullable_string(flexible, true)? } else { None },
            node_id: if version <= 3 { r.i32()? } else { 0 },
            host: if version <= 3 { r.string(flexible)? } else { Cow::Borrowed("") },
            port: if version <= 3 { r.i32()? } else { 0 },
            coordinators: if version >= 4 {
                r.array(flexible, 14, |r| Coordinator::decode(r, version))?
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
impl Encode for FindCoordinatorResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 3 {
            w.error(self.error_code);
        }
        if (1..=3).contains(&version) {
            w.nullable_string(flexible, true, self.error_message.as_deref());
        }
        if version <= 3 {
            w.i32(self.node_id);
        }
        if version <= 3 {
            w.string(flexible, &self.host);
        }
        if version <= 3 {
            w.i32(self.port);
        }
        if version >= 4 {
            w.array(flexible, &self.coordinators, |w, value| value.encode(w, version));
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for FindCoordinatorResponse<'_> {}

/// Part of a [`FindCoordinatorResponse`]: `coordinators`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coordinator<'a> {
    /// The group or transactional id.
    pub key: Cow<'a, str>,
    /// Id of the broker.
    pub node_id: i32,
    /// Host to connect to.
    pub host: Cow<'a, str>,
    /// Port to connect to.
    pub port: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for Coordinator<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let value = Self {
            key: r.string(flexible)?,
            node_id: r.i32()?,
            host: r.string(flexible)?,
            port: r.i32()?,
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for Coordinator<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 3;
        w.string(flexible, &self.key);
        w.i32(self.node_id);
        w.string(flexible, &self.host);
        w.i32(self.port);
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        if flexible {
            w.tag_count(&[]);
        }
    }
}
