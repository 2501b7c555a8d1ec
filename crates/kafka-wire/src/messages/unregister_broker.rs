// @generated from schemas/unregister_broker.api by cargo xtask codegen
//! `UnregisterBroker` (key 64): removes a broker that will not come back.

use alloc::borrow::Cow;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Removes a broker that will not come back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnregisterBrokerRequest {
    /// The broker to be removed.
    pub broker_id: i32,
}

impl Body for UnregisterBrokerRequest {
    const KEY: ApiKey = ApiKey::UnregisterBroker;
}

#[cfg(feature = "broker")]
impl Decode<'_> for UnregisterBrokerRequest {
    fn decode(r: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self { broker_id: r.i32()? };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for UnregisterBrokerRequest {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.i32(self.broker_id);
        w.tag_count(&[]);
    }
}

/// The answer to a [`UnregisterBrokerRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnregisterBrokerResponse<'a> {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
}

impl Body for UnregisterBrokerResponse<'_> {
    const KEY: ApiKey = ApiKey::UnregisterBroker;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for UnregisterBrokerResponse<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        let value = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.error()?,
            error_message: r.nullable_string(true, true)?,
        };
        r.skip_tags()?;
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for UnregisterBrokerResponse<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.i32(self.throttle_time_ms);
        w.error(self.error_code);
        w.nullable_string(true, true, self.error_message.as_deref());
        w.tag_count(&[]);
    }
}

impl<F> FileRanges<F> for UnregisterBrokerResponse<'_> {}
