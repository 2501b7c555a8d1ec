//! A client's side: writes requests, reads responses.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Body;
use crate::messages::api_versions::ApiVersionsResponse;
use crate::{
    Decode, DecodeError, Encode, EncodeError, ErrorCode, Reader, RequestHeader, ResponseHeader, Rope, Writer,
};

/// The frame of a request.
pub fn encode_request<B>(
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
    body: &B,
) -> Result<Rope, EncodeError>
where
    B: Body + Encode,
{
    if !B::KEY.accepts(version) {
        return Err(EncodeError::UnsupportedVersion { key: B::KEY, version });
    }
    let client_id = client_id.map(Cow::Borrowed);
    let mut writer = Writer::new();
    RequestHeader { key: B::KEY, version, correlation_id, client_id }.encode(&mut writer);
    body.encode(&mut writer, version);
    writer.finish(Vec::new())
}

/// Reads the response to a request of `version`: its correlation id and its body, which borrows from the frame. Bytes
/// behind the message are passed over.
pub fn decode_response<'a, B>(frame: &'a Bytes, version: i16) -> Result<(i32, B), DecodeError>
where
    B: Body + Decode<'a>,
{
    if !B::KEY.accepts(version) {
        return Err(DecodeError::UnsupportedVersion { key: B::KEY, version, correlation_id: 0 });
    }
    let mut reader = Reader::new(frame);
    let header = ResponseHeader::decode(&mut reader, B::KEY, version)?;
    let body = B::decode(&mut reader, version)?;
    Ok((header.correlation_id, body))
}

/// Reads the response to an `ApiVersions` request. A broker that does not know its version answers in version 0 with
/// [`ErrorCode::UnsupportedVersion`] and, as a rule, the range that it knows (KIP-511): ask again within it.
pub fn decode_api_versions_response(
    frame: &Bytes,
    version: i16,
) -> Result<(i32, ApiVersionsResponse<'_>), DecodeError> {
    let mut reader = Reader::new(frame);
    reader.i32()?;
    let refused = reader.error()? == ErrorCode::UnsupportedVersion;
    decode_response(frame, if refused { 0 } else { version })
}

/// Which request a response answers; enough to know how to read the rest.
pub fn response_correlation_id(frame: &Bytes) -> Result<i32, DecodeError> {
    Reader::new(frame).i32()
}
