//! Walks of several brokers' machines through faults, for programs that make up inputs.

/// Lets the bytes decide what happens to one partition on two to four brokers, then heals everything.
///
/// # Panics
/// If a committed record is lost, another promise is broken, or something does not heal.
pub fn walk_by(choices: &[u8]) {
    crate::harness::walk::walk_by(choices);
}
