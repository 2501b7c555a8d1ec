//! The group coordinator: a command makes records and a reply, state changes only by replay.

#![forbid(unsafe_code)]
