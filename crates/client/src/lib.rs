//! The native Highwater and Kafka client.
