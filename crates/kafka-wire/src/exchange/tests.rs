//! Bytes written by hand from the protocol's description, and the rules of whole frames.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::*;
use crate::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use crate::messages::fetch::{FetchResponse, FetchableTopicResponse, FetchedPartition};
use crate::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use crate::messages::produce::ProduceRequest;
use crate::{ApiKey, DecodeError, ErrorCode, Records, Request, Rope, Segment};

fn body_of(rope: Rope) -> Bytes {
    rope.into_bytes().slice(4..)
}

#[test]
fn a_metadata_request_of_version_1_is_read_from_its_bytes() {
    let frame = Bytes::from_static(b"\0\x03\0\x01\0\0\0\x07\0\x04kcat\0\0\0\x01\0\x05topic");
    let request = RequestFrame::parse(&frame).unwrap();
    assert_eq!(request.header.correlation_id, 7);
    assert_eq!(request.header.client_id.as_deref(), Some("kcat"));
    let Request::Metadata(body) = request.body else { panic!("metadata") };
    let topic = MetadataRequestTopic { name: Some("topic".into()), ..Default::default() };
    assert_eq!(body.topics, Some(vec![topic]));
}

#[test]
fn a_flexible_request_has_compact_lengths_and_a_client_id_that_is_not() {
    let body = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic { name: Some("ab".into()), ..Default::default() }]),
        ..Default::default()
    };
    let rope = encode_request(9, 1, Some("c"), &body).unwrap();
    let expected = b"\0\x03\0\x09\0\0\0\x01\0\x01c\0\x02\x03ab\0\x01\0\0\0";
    assert_eq!(body_of(rope), &expected[..]);
}

#[test]
fn an_api_versions_answer_has_a_header_without_tags() {
    let body = ApiVersionsResponse {
        api_keys: vec![ApiVersion { api_key: 18, min_version: 0, max_version: 4 }],
        ..Default::default()
    };
    let rope = encode_response(3, 5, &body).unwrap();
    assert_eq!(body_of(rope), &b"\0\0\0\x05\0\0\x02\0\x12\0\0\0\x04\0\0\0\0\0\0"[..]);
}

#[test]
fn api_versions_of_an_unknown_version_is_answered_in_version_0_with_its_range() {
    let frame = Bytes::from_static(b"\0\x12\0\x63\0\0\0\x09whatever comes here");
    let refused = RequestFrame::parse(&frame).unwrap_err();
    let expected =
        DecodeError::UnsupportedVersion { key: ApiKey::ApiVersions, version: 0x63, correlation_id: 9 };
    assert_eq!(refused, expected);
    let answer = body_of(api_versions_fallback(9));
    assert_eq!(answer, &b"\0\0\0\x09\0\x23\0\0\0\x01\0\x12\0\0\0\x04"[..]);
    let (correlation_id, read) = decode_api_versions_response(&answer, 4).unwrap();
    assert_eq!((correlation_id, read.error_code), (9, ErrorCode::UnsupportedVersion));
    assert_eq!(read.api_keys, [ApiKey::ApiVersions.advertised()]);
}

#[test]
fn a_request_claiming_2_31_elements_in_12_bytes_costs_nothing() {
    let mut frame = b"\0\0\0\x03\0\0\0\x01\0\0".to_vec();
    frame.extend_from_slice(b"\xff\xff\0\x01\0\0\0\x0a\x7f\xff\xff\xff");
    let frame = Bytes::from(frame);
    let refused = RequestFrame::parse(&frame).unwrap_err();
    assert_eq!(refused, DecodeError::LengthOutOfBounds { at: 22, claimed: 0x7fff_ffff, limit: 0 });
}

#[test]
fn an_unknown_key_and_an_old_version_are_told_apart() {
    let parse = |bytes: &'static [u8]| RequestFrame::parse(&Bytes::from_static(bytes)).unwrap_err();
    assert_eq!(parse(b"\x03\xe7\0\0\0\0\0\x01"), DecodeError::UnknownApi { key: 999 });
    let key = ApiKey::Produce;
    assert_eq!(
        parse(b"\0\0\0\x02\0\0\0\x01"),
        DecodeError::UnsupportedVersion { key, version: 2, correlation_id: 1 }
    );
}

#[test]
fn metadata_for_all_topics_as_librdkafka_2_16_writes_it_is_read() {
    let frame = b"\0\x03\0\x0d\0\0\0\x03\0\x07rdkafka\0\0\0\0\0\x01\0\0";
    let frame = Bytes::from_static(frame);
    let parsed = RequestFrame::parse(&frame).unwrap();
    let Request::Metadata(metadata) = parsed.body else { panic!("{:?}", parsed.body) };
    assert_eq!(metadata.topics, None);
}

#[test]
fn produced_records_are_a_slice_of_the_frame() {
    let frame = b"\0\0\0\x03\0\0\0\x01\xff\xff\xff\xff\0\x01\0\0\0\x0a\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\0\0\0\x03abc";
    let frame = Bytes::from_static(frame);
    let Request::Produce(ProduceRequest { topic_data, .. }) = RequestFrame::parse(&frame).unwrap().body
    else {
        panic!("produce")
    };
    let records = topic_data[0].partition_data[0].records.clone().unwrap();
    assert_eq!(records, "abc");
    assert_eq!(records.as_ptr() as usize, frame.as_ptr() as usize + frame.len() - 3);
}

#[test]
fn fetched_records_are_sent_as_file_ranges_in_the_order_of_partitions() {
    let range = |position, len| FileRange { file: 'f', position, len };
    let partition = |index, records: Records<char>| FetchedPartition {
        partition_index: index,
        records,
        ..Default::default()
    };
    let body = FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic: Cow::Borrowed("t"),
            partitions: vec![
                partition(0, [range(10, 100), range(500, 5)].map(Segment::File).into_iter().collect()),
                partition(1, Records::EMPTY),
                partition(2, range(7, 70).into()),
            ],
            ..Default::default()
        }],
        ..Default::default()
    };
    let rope = encode_response(12, 1, &body).unwrap();
    let total = rope.len();
    let segments: Vec<_> = rope.into_segments().collect();
    let files: Vec<_> = segments.iter().filter(|s| matches!(s, Segment::File(_))).cloned().collect();
    assert_eq!(files, [range(10, 100), range(500, 5), range(7, 70)].map(Segment::File));
    let Some(Segment::Bytes(head)) = segments.first() else { panic!("the head") };
    assert_eq!(head[..4], (total as i32 - 4).to_be_bytes());
}

#[test]
fn an_unknown_tag_is_skipped_and_a_known_one_must_fill_its_size() {
    let request = |tags: &[u8]| {
        let mut frame = b"\0\x01\0\x0c\0\0\0\x01\xff\xff\0".to_vec();
        frame.extend_from_slice(&[0xff; 4]);
        frame.extend_from_slice(&[0; 12]);
        frame.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\x01\x01\x01");
        frame.extend_from_slice(tags);
        Bytes::from(frame)
    };
    let skipped = request(b"\x02\x63\x03abc\0\x03\x02cd");
    let refused = RequestFrame::parse(&skipped).unwrap_err();
    assert!(matches!(refused, DecodeError::TagSize { tag: 0, remaining: 1, .. }), "{refused}");
    let fits = request(b"\x02\x63\x03abc\0\x03\x03cd");
    let Request::Fetch(body) = RequestFrame::parse(&fits).unwrap().body else { panic!("fetch") };
    assert_eq!(body.cluster_id.as_deref(), Some("cd"));
}

#[test]
fn a_version_that_is_not_accepted_is_not_written() {
    let refused = encode_request(5, 1, None, &ApiVersionsRequest::default());
    let key = ApiKey::ApiVersions;
    assert_eq!(refused, Err(crate::EncodeError::UnsupportedVersion { key, version: 5 }));
}
