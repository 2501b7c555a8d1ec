//! Connections between brokers: one QUIC endpoint, mutual TLS, ordered streams.
