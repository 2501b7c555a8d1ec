//! Build commands of the workspace.

fn main() {}
