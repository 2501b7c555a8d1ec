//! Every Kafka response in every version, the key and the version from the first two bytes, as a client reads them.
//!
//! What decodes is encoded again, and that decodes to the same.

#![no_main]

use bytes::Bytes;
use highwater_fuzz::Choices;
use kafka_wire::{ApiKey, NoFile, Reader, Response, decode_api_versions_response, response_correlation_id};

highwater_fuzz::target!(seeds, check);

fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let key = choices.one_of(ApiKey::ALL);
    let (least, most) = (key.spec().accepted_min, key.spec().max);
    let version = least + choices.below((most - least + 1) as usize) as i16;
    let body = Bytes::copy_from_slice(choices.rest());
    let _ = response_correlation_id(&body);
    if key == ApiKey::ApiVersions {
        let _ = decode_api_versions_response(&body, version);
    }
    let mut reader = Reader::new(&body);
    let Ok(response) = Response::<NoFile>::decode(&mut reader, key, version) else { return };
    let Ok(encoded) = response.to_frame(version, 7) else { return };
    let encoded = encoded.into_bytes();
    // The length, the correlation id and, in flexible versions of all but ApiVersions, an empty list of tags.
    let same = [8, 9].iter().any(|start| {
        let body = encoded.slice((*start).min(encoded.len())..);
        Response::<NoFile>::decode(&mut Reader::new(&body), key, version)
            .is_ok_and(|second| second == response)
    });
    assert!(same, "{key:?} {version}: {response:?}");
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, key) in (0_u8..).zip(ApiKey::ALL) {
        for version in 0..=key.spec().max - key.spec().accepted_min {
            let head = [number, u8::try_from(version).expect("few versions")];
            seeds.push([&head[..], &[0; 60]].concat());
        }
    }
    seeds
}
