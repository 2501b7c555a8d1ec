// @generated from schemas/sasl_handshake.api by cargo xtask codegen
//! `SaslHandshake` (key 17): chooses how the client will authenticate.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::{ApiKey, Body, ErrorCode, FileRanges};
#[cfg(any(feature = "broker", feature = "client"))]
use crate::{Decode, DecodeError, Encode, Reader, Writer};

/// Chooses how the client will authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslHandshakeRequest<'a> {
    /// The mechanism that the client wants.
    pub mechanism: Cow<'a, str>,
}

impl Body for SaslHandshakeRequest<'_> {
    const KEY: ApiKey = ApiKey::SaslHandshake;
}

#[cfg(feature = "broker")]
impl<'a> Decode<'a> for SaslHandshakeRequest<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { mechanism: r.string(false)? })
    }
}

#[cfg(feature = "client")]
impl Encode for SaslHandshakeRequest<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.string(false, &self.mechanism);
    }
}

/// The answer to a [`SaslHandshakeRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaslHandshakeResponse<'a> {
    /// What became of it.
    pub error_code: ErrorCode,
    /// The mechanisms that are offered.
    pub mechanisms: Vec<Cow<'a, str>>,
}

impl Body for SaslHandshakeResponse<'_> {
    const KEY: ApiKey = ApiKey::SaslHandshake;
}

#[cfg(feature = "client")]
impl<'a> Decode<'a> for SaslHandshakeResponse<'a> {
    fn decode(r: &mut Reader<'a>, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { error_code: r.error()?, mechanisms: r.array(false, 2, |r| r.string(false))? })
    }
}

#[cfg(feature = "broker")]
impl Encode for SaslHandshakeResponse<'_> {
    fn encode(&self, w: &mut Writer, _version: i16) {
        w.error(self.error_code);
        w.array(false, &self.mechanisms, |w, value| w.string(false, value));
    }
}

impl<F> FileRanges<F> for SaslHandshakeResponse<'_> {}
