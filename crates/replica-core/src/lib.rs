//! ISR replication as two sans-IO machines, and the frames between them.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
