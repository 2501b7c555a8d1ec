//! A second reading of the schemas, apart from the generator: it makes bodies byte by byte, with the name of each field,
//! so that generated code can be held against it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

pub(crate) mod make;
pub(crate) mod notation;
