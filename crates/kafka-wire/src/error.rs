//! What can be wrong with bytes that came in (`DecodeError`, `FrameError`) or values that shall go out (`EncodeError`).

use crate::ApiKey;

/// Why a frame is not the message that it claims to be. The sender is to blame; the connection is closed, except for
/// [`DecodeError::UnsupportedVersion`] of `ApiVersions`, which has an answer.
///
/// `at` counts bytes from the start of the frame, after its length prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The frame ends inside a field.
    #[error("frame ends at byte {at}: {needed} bytes needed, {remaining} there")]
    Truncated {
        /// Where the field begins.
        at: usize,
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are there.
        remaining: usize,
    },
    /// A length or element count is negative or larger than what the rest of the frame can hold.
    #[error("length {claimed} at byte {at} is out of bounds: at most {limit}")]
    LengthOutOfBounds {
        /// Just after the length.
        at: usize,
        /// The length as read.
        claimed: i64,
        /// The largest that is possible here.
        limit: usize,
    },
    /// The elements of all arrays of the frame would take more memory than allowed.
    #[error("arrays up to byte {at} take more than {limit} bytes of memory")]
    TooManyElements {
        /// Just after the count that went too far.
        at: usize,
        /// Bytes of memory that one frame's arrays may take.
        limit: usize,
    },
    /// A null where this version does not allow one.
    #[error("null before byte {at}, where this version allows none")]
    UnexpectedNull {
        /// Just after the null.
        at: usize,
    },
    /// A string is not UTF-8.
    #[error("string at byte {at} is not valid utf-8")]
    InvalidUtf8 {
        /// The first byte of the string.
        at: usize,
    },
    /// A variable-length integer has more than 32 bits.
    #[error("variable-length integer at byte {at} is longer than 32 bits")]
    VarintTooLong {
        /// The first byte of the integer.
        at: usize,
    },
    /// A known tagged field does not fill the size it declares.
    #[error("tagged field {tag} leaves {remaining} bytes of its declared size before byte {at}")]
    TagSize {
        /// The end of the field by its declared size.
        at: usize,
        /// The field's tag.
        tag: u32,
        /// Bytes left over.
        remaining: usize,
    },
    /// A request for an API that is not in the table.
    #[error("api key {key} is not known")]
    UnknownApi {
        /// The key as read.
        key: i16,
    },
    /// A known API in a version outside of the accepted range. The rest of the frame was not read.
    #[error("{} version {version} is not supported", .key.name())]
    UnsupportedVersion {
        /// The API.
        key: ApiKey,
        /// The version as read or asked for.
        version: i16,
        /// The request's correlation id, so that it can be answered; 0 in a response.
        correlation_id: i32,
    },
}

/// Why a value cannot be written. The caller is to blame; nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A string, byte array or array is longer than its length field can say.
    #[error("{len} bytes or elements where the protocol allows {limit}")]
    TooLong {
        /// The length.
        len: usize,
        /// The longest that is possible.
        limit: usize,
    },
    /// The version is outside of the accepted range of the API.
    #[error("{} version {version} cannot be written", .key.name())]
    UnsupportedVersion {
        /// The API.
        key: ApiKey,
        /// The version asked for.
        version: i16,
    },
}

/// Why the bytes of a connection are not frames. Nothing after this can be understood: close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length is negative or shorter than any message.
    #[error("frame length {length} is shorter than any message")]
    TooShort {
        /// The length as read.
        length: i32,
    },
    /// The length is over the limit of this connection.
    #[error("frame of {length} bytes is over the limit of {limit}")]
    TooLong {
        /// The length as read.
        length: usize,
        /// The limit.
        limit: usize,
    },
}
