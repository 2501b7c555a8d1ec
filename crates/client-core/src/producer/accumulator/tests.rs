//! How records become batches: when a batch is sent, where its records go, what they cost.

