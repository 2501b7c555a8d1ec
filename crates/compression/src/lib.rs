//! The four codecs of Kafka record batches, with output limits.

#![forbid(unsafe_code)]
