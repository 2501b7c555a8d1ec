//! Every default and hard limit of the log, each with the place its number comes from.

/// A batch longer than this many bytes is refused by every decoder, whatever a topic allows: Kafka's
/// `socket.request.max.bytes` default (100 MiB), above which no client could have sent it.
pub const BATCH_BYTES_HARD_MAX: usize = 100 * 1024 * 1024;

/// Default longest batch a topic takes, in bytes: Kafka's `max.message.bytes` (1 MiB of records and 12 bytes of log overhead).
pub const BATCH_BYTES_MAX_DEFAULT: usize = 1_048_588;

/// Default most bytes the records of one compressed batch may take once decompressed: a guess, 64 times the
/// longest default batch; zstd on repetitive text reaches ratios of about that.
pub const RECORDS_BYTES_MAX_DEFAULT: usize = 64 * 1024 * 1024;

/// Default length at which a segment is rolled, in bytes: Kafka's `segment.bytes`.
pub const SEGMENT_BYTES_DEFAULT: u64 = 1024 * 1024 * 1024;

/// Longest segment, in bytes: positions in the index are 32 bits wide, and Kafka's tools read them signed.
pub const SEGMENT_BYTES_HARD_MAX: u64 = i32::MAX as u64;

/// Most offsets between a segment's base offset and its last one: relative offsets in the indexes are 32 bits
/// wide, and Kafka's tools read them signed.
pub const SEGMENT_OFFSETS_MAX: i64 = i32::MAX as i64;

/// Default age at which a segment is rolled, in milliseconds: Kafka's `segment.ms` (7 days).
pub const SEGMENT_MS_DEFAULT: i64 = 7 * 24 * 60 * 60 * 1000;

/// Bytes of log between two index entries: Kafka's `index.interval.bytes`.
pub const INDEX_INTERVAL_BYTES: u64 = 4096;

/// Default age at which records are deleted, in milliseconds: Kafka's `retention.ms` (7 days).
pub const RETENTION_MS_DEFAULT: i64 = 7 * 24 * 60 * 60 * 1000;

/// How far a record's timestamp may lie before the broker's clock, in milliseconds: Kafka's
/// `message.timestamp.before.max.ms` (no bound).
pub const TIMESTAMP_BEFORE_MS_MAX_DEFAULT: i64 = i64::MAX;

/// How far a record's timestamp may lie after the broker's clock, in milliseconds: Kafka's
/// `message.timestamp.after.max.ms` (one hour). Retention does not believe a later one either.
pub const TIMESTAMP_AFTER_MS_MAX_DEFAULT: i64 = 60 * 60 * 1000;

/// Batches remembered per idempotent producer: Kafka's `NUM_BATCHES_TO_RETAIN`, which is also the most
/// requests its clients keep in flight.
pub const PRODUCER_BATCHES_MAX: usize = 5;

/// Default idle time after which an idempotent producer is forgotten, in milliseconds: Kafka's
/// `producer.id.expiration.ms` (24 hours). Shorter turns idle producers into errors.
pub const PRODUCER_EXPIRATION_MS_DEFAULT: i64 = 24 * 60 * 60 * 1000;

/// Smallest unit that a disk writes whole, in bytes: 512 is the least that any disk in use promises.
pub const SECTOR_BYTES: u64 = 512;
