// @generated from schemas/init_producer_id.api by cargo xtask codegen
//! `InitProducerId` (key 22): gives a producer its id and epoch.

use alloc::borrow::Cow;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Gives a producer its id and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitProducerIdRequest<'a> {
    /// The transactional id; null for a producer that is only idempotent.
    pub transactional_id: Option<Cow<'a, str>>,
    /// How long a transaction may stay open, in milliseconds.
    pub transaction_timeout_ms: i32,
    /// Id of the producer; -1 for none. From version 3 on.
    pub producer_id: i64,
    /// The producer's epoch; -1 for none. From version 3 on.
    pub producer_epoch: i16,
}

impl Default for InitProducerIdRequest<'_> {
    fn default() -> Self {
        Self { transactional_id: None, transaction_timeout_ms: 0, producer_id: -1, producer_epoch: -1 }
    }
}

impl Body for InitProducerIdRequest<'_> {
    const KEY: ApiKey = ApiKey::InitProducerId;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for InitProducerIdRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            transactional_id: r.nullable_string(flexible, true)?,
            transaction_timeout_ms: r.i32()?,
            producer_id: if version >= 3 { r.i64()? } else { -1 },
            producer_epoch: if version >= 3 { r.i16()? } else { -1 },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for InitProducerIdRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.nullable_string(flexible, true, self.transactional_id.as_deref());
        w.i32(self.transaction_timeout_ms);
        if version >= 3 {
            w.i64(self.producer_id);
        }
        if version >= 3 {
            w.i16(self.producer_epoch);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`InitProducerIdRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitProducerIdResponse {
    /// How long the client shall pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// What became of it.
    pub error_code: ErrorCode,
    /// Id of the producer; -1 for none.
    pub producer_id: i64,
    /// The producer's epoch; -1 for none.
    pub producer_epoch: i16,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, error_code: ErrorCode::None, producer_id: -1, producer_epoch: 0 }
    }
}

impl Body for InitProducerIdResponse {
    const KEY: ApiKey = ApiKey::InitProducerId;
}

#[cfg(feature = "client")]
impl Decode<'_> for InitProducerIdResponse {
    fn decode(r: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.error()?,
            producer_id: r.i64()?,
            producer_epoch: r.i16()?,
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for InitProducerIdResponse {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        w.error(self.error_code);
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for InitProducerIdResponse {}
