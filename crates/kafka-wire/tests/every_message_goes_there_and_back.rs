//! Any value of any message in any version is read and written again as the same bytes.

#![cfg(all(feature = "broker", feature = "client"))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod support;

use bytes::Bytes;
use highwater_kafka_wire::{ApiKey, NoFile, Reader, Request, RequestHeader, Response, ResponseHeader};
use proptest::prelude::*;
use support::make::{Random, body, bytes_of};
use support::notation::{Side, schema};

fn versions(key: ApiKey) -> std::ops::RangeInclusive<i16> {
    key.spec().accepted_min..=key.spec().max
}

/// The frames of one seed in all versions, without length prefixes.
fn each_frame(side: Side, seed: u64, mut check: impl FnMut(ApiKey, i16, Bytes)) {
    for key in ApiKey::ALL {
        let fields = schema(*key, side);
        for version in versions(*key) {
            let pieces = body(*key, &fields, version, &mut Random(seed ^ version as u64));
            check(*key, version, Bytes::from(bytes_of(&pieces)));
        }
    }
}

/// A frame without its length prefix and its header, whose length is known here.
fn body_of(frame: Bytes, header_bytes: usize) -> Bytes {
    frame.slice(4 + header_bytes..)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_request_goes_there_and_back(seed: u64) {
        each_frame(Side::Request, seed, |key, version, bytes| {
            let mut reader = Reader::new(&bytes);
            let request = Request::decode(&mut reader, key, version);
            let request = request.unwrap_or_else(|error| panic!("{key:?} {version}: {error}\n{bytes:02x?}"));
            assert_eq!(reader.remaining(), 0);
            let written = request.to_frame(version, 1, None).unwrap().into_bytes();
            let header_bytes = if key.is_flexible(version) { 11 } else { 10 };
            assert_eq!(body_of(written, header_bytes), bytes, "{key:?} {version}");
        });
    }

    #[test]
    fn every_response_goes_there_and_back(seed: u64) {
        each_frame(Side::Response, seed, |key, version, bytes| {
            let mut reader = Reader::new(&bytes);
            let response = Response::decode(&mut reader, key, version);
            let response: Response<'_, NoFile> =
                response.unwrap_or_else(|error| panic!("{key:?} {version}: {error}\n{bytes:02x?}"));
            assert_eq!(reader.remaining(), 0);
            let written = response.to_frame(version, 1).unwrap().into_bytes();
            let tags = key.is_flexible(version) && key != ApiKey::ApiVersions;
            assert_eq!(body_of(written, if tags { 5 } else { 4 }), bytes, "{key:?} {version}");
        });
    }

    #[test]
    fn headers_go_there_and_back(correlation_id: i32, client_id: Option<String>) {
        for key in ApiKey::ALL {
            for version in versions(*key) {
                let client_id = client_id.as_deref().map(Into::into);
                let header = RequestHeader { key: *key, version, correlation_id, client_id };
                let mut writer = highwater_kafka_wire::Writer::new();
                header.encode(&mut writer);
                let frame = writer.finish::<NoFile>(vec![]).unwrap().into_bytes().slice(4..);
                prop_assert_eq!(RequestHeader::decode(&mut Reader::new(&frame)), Ok(header));
                let mut writer = highwater_kafka_wire::Writer::new();
                ResponseHeader { correlation_id }.encode(&mut writer, *key, version);
                let frame = writer.finish::<NoFile>(vec![]).unwrap().into_bytes().slice(4..);
                let read = ResponseHeader::decode(&mut Reader::new(&frame), *key, version);
                prop_assert_eq!(read, Ok(ResponseHeader { correlation_id }));
            }
        }
    }
}
