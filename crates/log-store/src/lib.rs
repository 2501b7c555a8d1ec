//! A partition's log on a disk: append, read, cut, roll, recover.

#![forbid(unsafe_code)]
