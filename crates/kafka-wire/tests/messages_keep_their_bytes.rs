//! The bytes of every message, annotated, in the versions where its layout changes most: the first, the last before
//! flexible ones, the first flexible one and the newest. Each is read and written again as it stands.

#![cfg(all(feature = "broker", feature = "client"))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod support;

use std::fmt::Write as _;

use bytes::Bytes;
use highwater_kafka_wire::{ApiKey, NoFile, Reader, Request, Response};
use support::make::{Piece, Plain, body, bytes_of};
use support::notation::{Side, schema, snake};

fn representative(key: ApiKey) -> Vec<i16> {
    let spec = key.spec();
    let flexible = spec.flexible_from.unwrap_or(spec.max);
    let mut versions = vec![spec.accepted_min, flexible - 1, flexible, spec.max];
    versions.retain(|version| key.accepts(*version));
    versions.sort_unstable();
    versions.dedup();
    versions
}

fn annotate(text: &mut String, pieces: &[Piece]) {
    let mut at = 0;
    for Piece { depth, name, bytes } in pieces {
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{at:04x}  {:24}{:indent$}{name}", hex.join(" "), "", indent = 1 + 2 * depth).unwrap();
        at += bytes.len();
    }
}

fn checked(key: ApiKey, side: Side, version: i16) -> Vec<Piece> {
    let pieces = body(key, &schema(key, side), version, &mut Plain(0));
    let bytes = Bytes::from(bytes_of(&pieces));
    let mut reader = Reader::new(&bytes);
    let written = match side {
        Side::Request => {
            let request = Request::decode(&mut reader, key, version).unwrap();
            request.to_frame(version, 1, None).unwrap()
        }
        Side::Response => {
            let response: Response<'_, NoFile> = Response::decode(&mut reader, key, version).unwrap();
            response.to_frame(version, 1).unwrap()
        }
    };
    assert_eq!(reader.remaining(), 0);
    assert!(written.into_bytes().ends_with(&bytes), "{key:?} {side:?} {version}");
    pieces
}

#[test]
fn messages_keep_their_bytes() {
    for key in ApiKey::ALL {
        let mut text = String::new();
        for side in [Side::Request, Side::Response] {
            for version in representative(*key) {
                writeln!(text, "{} {side:?} version {version}", key.name()).unwrap();
                annotate(&mut text, &checked(*key, side, version));
                text.push('\n');
            }
        }
        insta::assert_snapshot!(snake(key.name()), text);
    }
}
