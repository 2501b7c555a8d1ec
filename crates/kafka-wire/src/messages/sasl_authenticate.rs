// @generated from schemas/sasl_authenticate.api by cargo xtask codegen
//! `SaslAuthenticate` (key 36): carries one step of authentication.

use alloc::borrow::Cow;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Carries one step of authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslAuthenticateRequest<'a> {
    /// The client's token.
    pub auth_bytes: Cow<'a, [u8]>,
}

impl Body for SaslAuthenticateRequest<'_> {
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for SaslAuthenticateRequest<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self { auth_bytes: r.bytes(flexible)? };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "client")]
impl Encode for SaslAuthenticateRequest<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.bytes(flexible, &self.auth_bytes);
        if flexible {
            w.tag_count(&[]);
        }
    }
}

/// The answer to a [`SaslAuthenticateRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslAuthenticateResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none or nothing to add.
    pub error_message: Option<Cow<'a, str>>,
    /// The broker's token.
    pub auth_bytes: Cow<'a, [u8]>,
    /// When to authenticate again, in milliseconds; 0 for never. From version 1 on.
    pub session_lifetime_ms: i64,
}

impl Body for SaslAuthenticateResponse<'_> {
    const KEY: ApiKey = ApiKey::SaslAuthenticate;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for SaslAuthenticateResponse<'a> {
    fn decode(r: &mut Reader<'a>, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let value = Self {
            error_code: r.error()?,
            error_message: r.nullable_string(flexible, true)?,
            auth_bytes: r.bytes(flexible)?,
            session_lifetime_ms: if version >= 1 { r.i64()? } else { 0 },
        };
        if flexible {
            r.skip_tags()?;
        }
        Ok(value)
    }
}

#[cfg(feature = "broker")]
impl Encode for SaslAuthenticateResponse<'_> {
    fn encode(&self, w: &mut Writer, version: i16) {
        let flexible = version >= 2;
        w.error(self.error_code);
        w.nullable_string(flexible, true, self.error_message.as_deref());
        w.bytes(flexible, &self.auth_bytes);
        if version >= 1 {
            w.i64(self.session_lifetime_ms);
        }
        if flexible {
            w.tag_count(&[]);
        }
    }
}

impl<F> FileRanges<F> for SaslAuthenticateResponse<'_> {}
