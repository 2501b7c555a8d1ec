//! What stands before a body: which request it is, and which answer belongs to it.
//!
//! ```text
//! request   key i16 | version i16 | correlation id i32 | client id string, never compact | tags if flexible
//! response  correlation id i32 | tags if flexible, but never for ApiVersions
//! ```
//!
//! A client reads the answer to `ApiVersions` before it knows what the broker speaks (KIP-511); hence the exception.

use alloc::borrow::Cow;

use crate::{ApiKey, DecodeError, Reader, Writer};

/// The header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// Which API the body belongs to.
    pub key: ApiKey,
    /// In which version it is laid out; within the API's accepted range.
    pub version: i16,
    /// Chosen by the client, given back in the response.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<Cow<'a, str>>,
}

impl<'a> RequestHeader<'a> {
    /// Reads the header. A version out of range ends it after the correlation id, since what follows is not known.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let key = reader.i16()?;
        let version = reader.i16()?;
        let correlation_id = reader.i32()?;
        let key = ApiKey::from_number(key).ok_or(DecodeError::UnknownApi { key })?;
        if !key.accepts(version) {
            return Err(DecodeError::UnsupportedVersion { key, version, correlation_id });
        }
        let client_id = reader.nullable_string(false, true)?;
        if key.is_flexible(version) {
            reader.skip_tags()?;
        }
        Ok(Self { key, version, correlation_id, client_id })
    }

    /// Writes the header.
    pub fn encode(&self, writer: &mut Writer) {
        writer.i16(self.key.number());
        writer.i16(self.version);
        writer.i32(self.correlation_id);
        writer.nullable_string(false, true, self.client_id.as_deref());
        if self.key.is_flexible(self.version) {
            writer.tag_count(&[]);
        }
    }
}

/// The header of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHeader {
    /// The correlation id of the request that this answers.
    pub correlation_id: i32,
}

impl ResponseHeader {
    /// Reads the header of a response to a request of `key` in `version`.
    pub fn decode(reader: &mut Reader<'_>, key: ApiKey, version: i16) -> Result<Self, DecodeError> {
        let correlation_id = reader.i32()?;
        if has_tags(key, version) {
            reader.skip_tags()?;
        }
        Ok(Self { correlation_id })
    }

    /// Writes the header of a response to a request of `key` in `version`.
    pub fn encode(self, writer: &mut Writer, key: ApiKey, version: i16) {
        writer.i32(self.correlation_id);
        if has_tags(key, version) {
            writer.tag_count(&[]);
        }
    }
}

fn has_tags(key: ApiKey, version: i16) -> bool {
    key != ApiKey::ApiVersions && key.is_flexible(version)
}
