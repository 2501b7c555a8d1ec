//! The Kafka protocol as bytes: framing, headers, primitives and messages. What a request means is left to others.
//!
//! The messages are plain structs, one module each under [`messages`], generated from the schemas beside `src`.
//! [`ApiKey`] is the one table of keys and versions.
//!
//! - **In.** A [`FrameReader`] cuts what a carrier receives into frames; [`RequestFrame::parse`] (broker) or
//!   [`decode_response`] (client) reads one. Strings and bytes are `Cow`s that borrow from the frame, records are
//!   refcounted slices of it. No length is believed: see [`DecodeError`] and [`ARRAY_BYTES_MAX`].
//! - **Out.** [`encode_response`] (broker) or [`encode_request`] (client) gives a [`Rope`], length prefix included: small
//!   bytes with record bytes and file ranges between them, which were not copied. `F` is the file handle of the
//!   sender; [`NoFile`] where there are none.
//! - **Versions.** A struct has the fields of all versions. Reading leaves a field that its version lacks at its
//!   default; writing leaves it out. A null that a version cannot express is written as empty.
//!
//! ```
//! # #[cfg(all(feature = "broker", feature = "client"))] {
//! use highwater_kafka_wire::messages::metadata::{MetadataBroker, MetadataRequest, MetadataResponse};
//! use highwater_kafka_wire::{
//!     ErrorCode, FRAME_BYTES_MAX_DEFAULT, FrameReader, NoFile, Request, RequestFrame, decode_response, encode_request,
//!     encode_response,
//! };
//!
//! // A client asks for all topics.
//! let asked = encode_request(12, 7, Some("tour"), &MetadataRequest::default())?.into_bytes();
//!
//! // A broker receives the bytes, in whatever pieces.
//! let mut received = FrameReader::new(FRAME_BYTES_MAX_DEFAULT);
//! received.extend(&asked);
//! let frame = received.next_frame()?.expect("all of it is there");
//! let request = RequestFrame::parse(&frame)?;
//! let Request::Metadata(body) = &request.body else { panic!("not metadata") };
//! assert_eq!(body.topics, None);
//!
//! // It answers in the same version, with the same correlation id.
//! let broker = MetadataBroker { node_id: 1, host: "localhost".into(), port: 9092, rack: None };
//! let body = MetadataResponse { brokers: vec![broker], controller_id: 1, ..Default::default() };
//! let header = request.header;
//! let answered = encode_response::<NoFile, _>(header.version, header.correlation_id, &body)?.into_bytes();
//!
//! // The client reads it; frames come without their length.
//! let frame = answered.slice(4..);
//! let (correlation_id, body) = decode_response::<MetadataResponse>(&frame, 12)?;
//! assert_eq!((correlation_id, body.error_code), (7, ErrorCode::None));
//! assert_eq!(body.brokers[0].host, "localhost");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Feature `broker` holds decoding of requests and encoding of responses, `client` the other direction; both are on by
//! default. Without them only the structs and the table are left.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod api;
mod api_key;
mod error;
mod error_code;
mod exchange;
mod frame;
mod header;
mod meaning;
pub mod messages;
mod reader;
mod rope;
mod uuid;
mod writer;

pub use api::{ApiSpec, api_version_ranges};
pub use api_key::ApiKey;
pub use error::{DecodeError, EncodeError, FrameError};
pub use error_code::ErrorCode;
pub use exchange::{Body, FileRanges};
#[cfg(feature = "broker")]
pub use exchange::{RequestFrame, api_versions_fallback, encode_response};
#[cfg(feature = "client")]
pub use exchange::{decode_api_versions_response, decode_response, encode_request, response_correlation_id};
pub use frame::{EAGER_BYTES_MAX, FRAME_BYTES_MAX_DEFAULT, FrameReader};
pub use header::{RequestHeader, ResponseHeader};
pub use messages::{Request, Response};
pub use reader::{ARRAY_BYTES_MAX, Decode, Reader};
pub use rope::{FileRange, NoFile, Records, Rope, Segment};
pub use uuid::Uuid;
pub use writer::{Encode, Writer};
