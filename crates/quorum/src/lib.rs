//! The metadata quorum: agreement by raft, its log on the log store.
