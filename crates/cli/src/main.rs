//! The binary `highwater`.

fn main() {}
