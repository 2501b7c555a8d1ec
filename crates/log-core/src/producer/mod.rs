//! What a partition remembers of its idempotent producers: the last five batches of each, so that a batch sent again
//! is recognised and one out of order is refused.

mod entry;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

pub use entry::BatchMark;
pub use table::{Cut, ProducerTable, SequenceCheck};
