//! The broker process: listeners, TLS, HTTP, configuration, boot; also an embeddable library.

pub mod config;
