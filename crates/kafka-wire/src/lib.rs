//! The Kafka protocol: framing, headers, primitives and messages.
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
pub use exchange::{decode_response, encode_request, response_correlation_id};
pub use frame::{EAGER_BYTES_MAX, FRAME_BYTES_MAX_DEFAULT, FrameReader};
pub use header::{RequestHeader, ResponseHeader};
pub use messages::{Request, Response};
pub use reader::{ARRAY_BYTES_MAX, Decode, Reader};
pub use rope::{FileRange, NoFile, Records, Rope, Segment};
pub use uuid::Uuid;
pub use writer::{Encode, Writer};
