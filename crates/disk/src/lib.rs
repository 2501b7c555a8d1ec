//! The log store's disk on real files: positioned writes, group commit, preallocation.
