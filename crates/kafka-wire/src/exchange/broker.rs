//! A broker's side: reads requests, writes responses.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{Body, FileRanges};
use crate::messages::api_versions::ApiVersionsResponse;
use crate::{
    ApiKey, DecodeError, Encode, EncodeError, ErrorCode, Reader, Request, RequestHeader, ResponseHeader,
    Rope, Writer,
};

/// A request with its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFrame<'a> {
    /// Who asks, and in which version.
    pub header: RequestHeader<'a>,
    /// What is asked.
    pub body: Request<'a>,
}

impl<'a> RequestFrame<'a> {
    /// Reads a whole frame, without its length prefix. Strings borrow from it, records are slices of it. Bytes behind the
    /// message are passed over, as Kafka does: librdkafka 2.16 asks for all topics in Metadata 13 with three too many.
    ///
    /// [`DecodeError::UnsupportedVersion`] of [`ApiKey::ApiVersions`] is answered by [`api_versions_fallback`]; any other
    /// error ends the connection.
    pub fn parse(frame: &'a Bytes) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(frame);
        let header = RequestHeader::decode(&mut reader)?;
        let body = Request::decode(&mut reader, header.key, header.version)?;
        Ok(Self { header, body })
    }
}

/// The frame of a response to a request in `version` with that correlation id.
pub fn encode_response<F, B>(version: i16, correlation_id: i32, body: &B) -> Result<Rope<F>, EncodeError>
where
    B: Body + Encode + FileRanges<F>,
{
    if !B::KEY.accepts(version) {
        return Err(EncodeError::UnsupportedVersion { key: B::KEY, version });
    }
    let mut ranges = Vec::new();
    body.file_ranges(&mut ranges);
    let mut writer = Writer::new();
    ResponseHeader { correlation_id }.encode(&mut writer, B::KEY, version);
    body.encode(&mut writer, version);
    writer.finish(ranges)
}

/// The answer to an `ApiVersions` request of a version that is not known: laid out as version 0, with the error and the
/// range of this one API, so that the client asks again in a version that both know (KIP-511).
pub fn api_versions_fallback<F>(correlation_id: i32) -> Rope<F> {
    let body = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion,
        api_keys: [ApiKey::ApiVersions.advertised()].into(),
        ..ApiVersionsResponse::default()
    };
    encode_response(0, correlation_id, &body).expect("one entry fits every limit")
}
