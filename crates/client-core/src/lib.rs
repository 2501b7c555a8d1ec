//! The client without socket or clock: connections, metadata, producer, consumer, admin.

#![forbid(unsafe_code)]
