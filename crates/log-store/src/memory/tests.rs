//! What the disk in memory promises: what a power cut takes, what a failed sync shows.
