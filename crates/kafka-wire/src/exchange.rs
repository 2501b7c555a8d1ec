//! Whole frames: a request with its header, a response with its header, and the one answer that is laid out in another
//! version than it was asked in.

use alloc::vec::Vec;

use crate::ApiKey;
use crate::rope::FileRange;

#[cfg(feature = "broker")]
mod broker;
#[cfg(feature = "client")]
mod client;

#[cfg(feature = "broker")]
pub use broker::{RequestFrame, api_versions_fallback, encode_response};
#[cfg(feature = "client")]
pub use client::{decode_api_versions_response, decode_response, encode_request, response_correlation_id};

/// The body of a request or a response.
pub trait Body {
    /// The API that the body belongs to.
    const KEY: ApiKey;
}

/// A response that may hold ranges of files with the handle `F`; most hold none.
pub trait FileRanges<F> {
    /// Adds the ranges in the order in which the body writes them.
    fn file_ranges(&self, _ranges: &mut Vec<FileRange<F>>) {}
}

#[cfg(all(test, feature = "broker", feature = "client"))]
mod tests;
