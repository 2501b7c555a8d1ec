//! Stories about clusters of real broker processes: each file tells one of what the product promises. They run one after the
//! other, bind to loopback only, and leave nothing behind.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

mod all_killed;
mod bad_connections;
mod clean_and_unclean_starts;
mod confluent;
mod damaged;
mod disk_full;
mod exit_codes;
mod groups;
mod handing_over;
mod harness;
mod health;
mod joining;
mod last_of_three;
mod leader_killed;
mod no_majority;
mod operators;
#[cfg(feature = "unsynced-in-memory")]
mod power_cut;
mod refusals;
mod retention;
mod sent_by_the_kernel;
mod time_limits;
mod topics_under_load;
