//! Every Kafka request in every accepted version, the key and the version from the first two bytes; and whole streams of frames.
//!
//! What decodes is encoded again, and that decodes to the same. libFuzzer ends a run that takes more memory than it is allowed.

#![no_main]

use bytes::{BufMut, Bytes};
use highwater_fuzz::Choices;
use kafka_wire::{ApiKey, FrameReader, Request, RequestFrame};

highwater_fuzz::target!(seeds, check);

/// The first byte of an input that is a stream of frames.
const STREAM: u8 = 0xff;

fn check(bytes: &[u8]) {
    if bytes.first() == Some(&STREAM) {
        return stream(&bytes[1..]);
    }
    let mut choices = Choices::new(bytes);
    let key = choices.one_of(ApiKey::ALL);
    let (least, most) = (key.spec().accepted_min, key.spec().max);
    // One more at both ends: versions that are refused.
    let version = least - 1 + choices.below((most - least + 3) as usize) as i16;
    let frame = frame(key, version, choices.rest());
    let Ok(request) = RequestFrame::parse(&frame) else { return };
    assert!((least..=most).contains(&version), "{key:?} {version} is not accepted");
    again(&request.body, version);
}

fn again(body: &Request<'_>, version: i16) {
    // A version that clients no longer send may lack what the body holds: that is an error, never a panic.
    let Ok(encoded) = body.to_frame(version, 7, Some("again")) else { return };
    let encoded = encoded.into_bytes().slice(4..);
    let second = RequestFrame::parse(&encoded).expect("what was encoded decodes");
    assert_eq!(&second.body, body, "version {version}");
}

fn frame(key: ApiKey, version: i16, rest: &[u8]) -> Bytes {
    let mut frame = Vec::new();
    frame.put_i16(key.number());
    frame.put_i16(version);
    frame.put_i32(1);
    frame.extend_from_slice(rest);
    frame.into()
}

/// Pieces of a stream as a socket gives them: the reader never keeps more than it was given, and stops at a frame that is too long.
fn stream(bytes: &[u8]) {
    let mut reader = FrameReader::new(1 << 20);
    let mut choices = Choices::new(bytes);
    while !choices.is_empty() {
        reader.extend(choices.piece(300));
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => drop(RequestFrame::parse(&frame).map(|request| request.header.version)),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, key) in (0_u8..).zip(ApiKey::ALL) {
        let (least, most) = (key.spec().accepted_min, key.spec().max);
        for version in least..=most {
            // A client id, then as many zeros as the longest body of zeros takes: most of them decode.
            let head = [number, u8::try_from(version - least + 1).expect("few versions"), 0, 1, b'c'];
            seeds.push([&head[..], &[0; 40]].concat());
        }
    }
    let one = frame(ApiKey::ApiVersions, 0, b"\xff\xff");
    let mut stream = vec![STREAM, 0, 14];
    stream.extend_from_slice(&(one.len() as u32).to_be_bytes());
    stream.extend_from_slice(&one);
    seeds.push(stream);
    seeds
}
