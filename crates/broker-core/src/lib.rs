//! One broker as a value: shards, control, and one file per API handler.

#![forbid(unsafe_code)]
