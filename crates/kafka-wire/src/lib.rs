//! The Kafka protocol: framing, headers, primitives and messages.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
