//! Metadata records, the cluster image they make, and the controller's decisions.

#![forbid(unsafe_code)]
