//! What can go wrong, by blame: the caller, the broker, the network, an outcome that is not known, damaged bytes.
//! Every face shows these errors; `code()` is stable and the same in Rust, JavaScript and the CLI's JSON.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use kafka_wire::ErrorCode;
use log_core::CodecError;

use crate::address::Address;

/// Why an operation of the client failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The caller asked for something that cannot be; nothing was sent for it.
    #[error("{problem}{place}")]
    Caller {
        /// What was wrong.
        problem: CallerProblem,
        /// What it was about.
        place: Place,
    },
    /// A broker refused, for good; nothing was appended.
    #[error("{}: {}{place}", code.name(), said(*code, message.as_deref()))]
    Broker {
        /// Kafka's error code.
        code: ErrorCode,
        /// What the broker said about it, if it said anything.
        message: Option<Arc<str>>,
        /// What it was about.
        place: Place,
    },
    /// A broker could not be reached, or the connection broke.
    #[error("{0}")]
    Network(#[source] NetworkError),
    /// It took longer than its time limit. Nothing was appended.
    #[error("{waiting} did not happen within {} ms{place}{}", after.as_millis(), LastCause(cause.as_deref()))]
    TimedOut {
        /// What was waited for.
        waiting: Waiting,
        /// The limit.
        after: Duration,
        /// The last failure on the way, if there was one.
        #[source]
        cause: Option<Box<Self>>,
        /// What it was about.
        place: Place,
    },
    /// The request was sent and its outcome never became known: it may have been carried out or not.
    #[error("outcome unknown{place}{}", LastCause(cause.as_deref()))]
    UnknownOutcome {
        /// The last failure on the way, if there was one.
        #[source]
        cause: Option<Box<Self>>,
        /// What it was about.
        place: Place,
    },
    /// Bytes from a broker are damaged or not what the protocol allows.
    #[error("{damage}{place}")]
    Damaged {
        /// What was found.
        damage: Damage,
        /// Where: for a bad record its topic, partition and offset.
        place: Place,
        /// The offset behind the damaged batch, if its header tells: a consumer that seeks there goes on without it.
        resume_at: Option<i64>,
    },
    /// The position of a consumer is no longer in the partition.
    #[error("{lost}{place}")]
    PositionLost {
        /// How it was lost.
        lost: LostPosition,
        /// The partition and the position.
        place: Place,
    },
    /// The broker does not offer what this needs.
    #[error("the broker at {address} does not support {feature}")]
    Unsupported {
        /// What is missing.
        feature: &'static str,
        /// The broker.
        address: Address,
    },
    /// The client, or this part of it, was closed.
    #[error("the client is closed")]
    Closed,
}

/// What a caller did wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallerProblem {
    /// An address does not parse.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A topic's name is not allowed.
    #[error("a topic's name has 1 to 249 letters, digits, '.', '_' and '-'")]
    TopicName,
    /// The topic has fewer partitions.
    #[error("the topic has {partitions} partitions, numbered from 0")]
    NoSuchPartition {
        /// How many it has.
        partitions: u32,
    },
    /// One record is larger than a batch may be.
    #[error("the record takes {bytes} bytes, more than a batch may have ({limit})")]
    RecordTooLarge {
        /// The record's size in bytes, as encoded.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The producer's memory is used up; only `try_enqueue` says so, the others wait.
    #[error("the producer's buffer is full ({limit} bytes)")]
    BufferFull {
        /// The limit in bytes.
        limit: usize,
    },
    /// The topic is not known yet; only `try_enqueue` says so, the others wait.
    #[error("the topic's partitions are not known yet")]
    TopicNotReady,
    /// The consumer was not given that partition.
    #[error("the consumer does not read this partition")]
    NotAssigned,
    /// The operation needs a group, and the consumer has none.
    #[error("the consumer has no group")]
    NoGroup,
    /// The group has no position there that could be moved.
    #[error("the group has committed nothing here that could be moved")]
    NothingCommitted,
    /// A codec refused the records.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// An option's value makes no sense.
    #[error("{option} {must}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// A file that was named could not be read, or does not hold what it should.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: Arc<str>,
        /// What is wrong with it.
        reason: Arc<str>,
    },
}

/// Why an address does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not one of `tcp`, `tls`, `quic`.
    #[error("unknown scheme {0}://; use tcp://, tls:// or quic://")]
    Scheme(Box<str>),
    /// Nothing before the port.
    #[error("an address needs a host, as in localhost:9092")]
    NoHost,
    /// Not a number from 1 to 65535.
    #[error("{0} is not a port")]
    Port(Box<str>),
}

/// A connection that could not be made or did not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address}: {phase}: {cause}")]
pub struct NetworkError {
    /// The broker's address.
    pub address: Address,
    /// What was being done.
    pub phase: Phase,
    /// What happened.
    #[source]
    pub cause: NetworkCause,
}

/// What a connection was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Looking up the name, connecting, shaking hands.
    Connect,
    /// Agreeing on versions.
    Negotiate,
    /// Requests were on their way.
    Exchange,
}

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkCause {
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// There is no way to that host.
    #[error("host unreachable")]
    Unreachable,
    /// The name is not known.
    #[error("the name cannot be resolved")]
    NameNotFound,
    /// No answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The other side closed the connection.
    #[error("closed by the broker")]
    Closed,
    /// The broker's certificate was not accepted, or the handshake failed otherwise.
    #[error("TLS handshake failed: {0}")]
    Tls(Arc<str>),
    /// The other side sent bytes that are no Kafka protocol.
    #[error("{0}")]
    Protocol(Damage),
    /// Anything else that the system reported.
    #[error("{0}")]
    System(Arc<str>),
}

/// What was waited for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// A record's acknowledgement; the record was never handed to a broker, or the broker certainly did not append it.
    Delivery,
    /// A topic's partitions and leaders.
    Metadata,
    /// An answer to a request.
    Answer,
    /// A first connection to any bootstrap address.
    Bootstrap,
    /// A place in a group.
    Group,
    /// Where a consumer begins in a partition.
    Position,
}

/// What is wrong with bytes from a broker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The answer belongs to no request, or comes out of order.
    #[error("expected the answer to request {expected}, got one to {found}")]
    Correlation {
        /// The oldest open request.
        expected: i32,
        /// What came.
        found: i32,
    },
    /// An answer does not decode.
    #[error("an answer does not decode: {0}")]
    Answer(kafka_wire::DecodeError),
    /// The bytes of a connection are no frames.
    #[error("no Kafka frames: {0}")]
    Frame(kafka_wire::FrameError),
    /// They are an HTTP server's answer.
    #[error("this is an HTTP port; the Kafka port is another one, by default 9092")]
    Http,
    /// They are what TLS says to somebody who does not speak it.
    #[error("this port speaks TLS alone; a Kafka port behind TLS is reached by tls://")]
    Tls,
    /// A record inside of a batch does not decode.
    #[error("a record does not decode: {0}")]
    Record(log_core::RecordError),
    /// A record batch does not decode.
    #[error("a record batch does not decode: {0}")]
    Batch(log_core::BatchError),
    /// A batch's checksum does not fit its bytes.
    #[error("a record batch is damaged: checksum {found:08x}, computed {computed:08x}")]
    Checksum {
        /// What the batch says.
        found: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// A batch's records do not decompress.
    #[error("a record batch does not decompress: {0}")]
    Codec(CodecError),
    /// The broker answered with something it may not answer.
    #[error("{0}")]
    Rule(&'static str),
}

impl Damage {
    /// What bytes are that are no frames. What stands where a length should tells the protocols apart that a wrong port is
    /// likely to speak.
    #[must_use]
    pub const fn of_frame(error: kafka_wire::FrameError) -> Self {
        let kafka_wire::FrameError::TooLong { length, .. } = error else { return Self::Frame(error) };
        // A TLS record: type 21 (alert), then the version, whose first byte is 3 in all there are (RFC 8446, 5.1).
        match (length as u32).to_be_bytes() {
            [b'H', b'T', b'T', b'P'] => Self::Http,
            [21, 3, ..] => Self::Tls,
            _ => Self::Frame(error),
        }
    }
}

/// How a consumer lost its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LostPosition {
    /// Retention (or a deletion) has passed it.
    #[error("records before offset {log_start} are gone")]
    BelowLogStart {
        /// The partition's first offset.
        log_start: i64,
    },
    /// The log ends before it: it was cut, or the topic was made anew.
    #[error(
        "the log ends at offset {log_end}: what was read beyond it was cut off (truncated), or the topic was made anew"
    )]
    BeyondLogEnd {
        /// Where the log ends, or where it parts from what was read.
        log_end: i64,
    },
}

/// What an error is about. Prints as ` (topic orders, partition 3, offset 42)`, or as nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The topic.
    pub topic: Option<Arc<str>>,
    /// The partition.
    pub partition: Option<u32>,
    /// The offset.
    pub offset: Option<i64>,
}

impl Place {
    /// No place in particular.
    pub const NOWHERE: Self = Self { topic: None, partition: None, offset: None };

    /// A topic.
    #[must_use]
    pub fn topic(topic: &Arc<str>) -> Self {
        Self { topic: Some(Arc::clone(topic)), ..Self::NOWHERE }
    }

    /// A partition of a topic.
    #[must_use]
    pub fn partition(topic: &Arc<str>, partition: u32) -> Self {
        Self { partition: Some(partition), ..Self::topic(topic) }
    }

    /// A record.
    #[must_use]
    pub fn offset(topic: &Arc<str>, partition: u32, offset: i64) -> Self {
        Self { offset: Some(offset), ..Self::partition(topic, partition) }
    }
}

impl ClientError {
    /// A refusal by a broker.
    #[must_use]
    pub const fn broker(code: ErrorCode, message: Option<Arc<str>>, place: Place) -> Self {
        Self::Broker { code, message, place }
    }

    /// A mistake of the caller.
    #[must_use]
    pub const fn caller(problem: CallerProblem, place: Place) -> Self {
        Self::Caller { problem, place }
    }

    /// A stable name for programs: Kafka's for what a broker answered, ours for the rest.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Caller { problem, .. } => problem.code(),
            Self::Broker { code, .. } => code.name(),
            Self::Network(_) => "NETWORK",
            Self::TimedOut { .. } => "TIMED_OUT",
            Self::UnknownOutcome { .. } => "UNKNOWN_OUTCOME",
            Self::Damaged { .. } => "DAMAGED",
            Self::PositionLost { .. } => "POSITION_LOST",
            Self::Unsupported { .. } => "UNSUPPORTED_BY_BROKER",
            Self::Closed => "CLOSED",
        }
    }

    /// True if the same call may succeed later without anybody changing anything. An unknown outcome is not
    /// retriable: to try again may carry it out twice.
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::Caller { problem, .. } => {
                matches!(problem, CallerProblem::BufferFull { .. } | CallerProblem::TopicNotReady)
            }
            Self::Broker { code, .. } => code.is_retriable(),
            Self::Network(_) | Self::TimedOut { .. } => true,
            Self::UnknownOutcome { .. }
            | Self::Damaged { .. }
            | Self::PositionLost { .. }
            | Self::Unsupported { .. }
            | Self::Closed => false,
        }
    }

    /// What a broker answered, if the error is an answer.
    #[must_use]
    pub const fn broker_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The topic that the error is about.
    #[must_use]
    pub fn topic(&self) -> Option<&str> {
        self.place().topic.as_deref()
    }

    /// The partition that the error is about.
    #[must_use]
    pub const fn partition(&self) -> Option<u32> {
        self.place().partition
    }

    /// The offset that the error is about.
    #[must_use]
    pub const fn offset(&self) -> Option<i64> {
        self.place().offset
    }

    /// Where a consumer can seek to, to go on behind what is damaged.
    #[must_use]
    pub const fn resume_at(&self) -> Option<i64> {
        match self {
            Self::Damaged { resume_at, .. } => *resume_at,
            _ => None,
        }
    }

    const fn place(&self) -> &Place {
        match self {
            Self::Caller { place, .. }
            | Self::Broker { place, .. }
            | Self::TimedOut { place, .. }
            | Self::UnknownOutcome { place, .. }
            | Self::Damaged { place, .. }
            | Self::PositionLost { place, .. } => place,
            Self::Network(_) | Self::Unsupported { .. } | Self::Closed => &Place::NOWHERE,
        }
    }
}

impl CallerProblem {
    const fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "INVALID_ADDRESS",
            Self::TopicName => "INVALID_TOPIC_NAME",
            Self::NoSuchPartition { .. } => "NO_SUCH_PARTITION",
            Self::RecordTooLarge { .. } => "RECORD_TOO_LARGE",
            Self::BufferFull { .. } => "BUFFER_FULL",
            Self::TopicNotReady => "TOPIC_NOT_READY",
            Self::NotAssigned => "NOT_ASSIGNED",
            Self::NoGroup => "NO_GROUP",
            Self::NothingCommitted => "NOTHING_COMMITTED",
            Self::Codec(_) => "CODEC",
            Self::Option { .. } => "INVALID_OPTION",
            Self::File { .. } => "FILE",
        }
    }
}

impl From<AddressError> for ClientError {
    fn from(error: AddressError) -> Self {
        Self::caller(error.into(), Place::NOWHERE)
    }
}

impl From<NetworkError> for ClientError {
    fn from(error: NetworkError) -> Self {
        Self::Network(error)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(topic) = &self.topic else { return Ok(()) };
        write!(f, " (topic {topic}")?;
        if let Some(partition) = self.partition {
            write!(f, ", partition {partition}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "cannot connect",
            Self::Negotiate => "cannot agree on protocol versions",
            Self::Exchange => "connection lost",
        })
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delivery => "delivery",
            Self::Metadata => "learning the topic's partitions",
            Self::Answer => "an answer",
            Self::Bootstrap => "a connection to any of the given addresses",
            Self::Group => "joining the group",
            Self::Position => "finding where to begin",
        })
    }
}

/// The broker's own words if it used any, else what the code means.
fn said(code: ErrorCode, message: Option<&str>) -> &str {
    message.filter(|text| !text.is_empty()).unwrap_or_else(|| code.meaning()).trim_end_matches('.')
}

/// `; last: cause` after an error's text.
struct LastCause<'a>(Option<&'a ClientError>);

impl fmt::Display for LastCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |cause| write!(f, "; last: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_topic_partition_and_offset() {
        let topic: Arc<str> = "orders".into();
        let error = ClientError::Damaged {
            damage: Damage::Checksum { found: 1, computed: 2 },
            place: Place::offset(&topic, 3, 42),
            resume_at: Some(50),
        };
        assert_eq!(
            error.to_string(),
            "a record batch is damaged: checksum 00000001, computed 00000002 (topic orders, partition 3, offset 42)"
        );
        assert_eq!((error.topic(), error.partition(), error.offset()), (Some("orders"), Some(3), Some(42)));
        assert_eq!(error.code(), "DAMAGED");
    }

    #[test]
    fn an_unknown_outcome_is_not_retriable_and_keeps_its_cause() {
        let address = Address::parse("node-1:9092").expect("a good address");
        let cause = NetworkError { address, phase: Phase::Exchange, cause: NetworkCause::Closed };
        let error = ClientError::UnknownOutcome {
            cause: Some(Box::new(cause.into())),
            place: Place::partition(&"orders".into(), 1),
        };
        assert!(!error.is_retriable());
        assert_eq!(
            error.to_string(),
            "outcome unknown (topic orders, partition 1); last: node-1:9092: connection lost: closed by the broker"
        );
    }

    #[test]
    fn another_protocol_is_named_and_not_a_length() {
        let said = |bytes: &[u8]| {
            let mut reader = kafka_wire::FrameReader::new(kafka_wire::FRAME_BYTES_MAX_DEFAULT);
            bytes::BufMut::put_slice(&mut reader.spare(), bytes);
            Damage::of_frame(reader.next_frame().expect_err("no frame")).to_string()
        };
        assert!(
            said(b"HTTP/1.1 400 Bad Request\r\n").starts_with("this is an HTTP port; the Kafka port is ")
        );
        assert!(said(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]).starts_with("this port speaks TLS alone"));
        assert!(said(b"SSH-2.0-").starts_with("no Kafka frames: frame of 1397966893 bytes"));
    }

    #[test]
    fn broker_errors_are_coded_as_kafka_names_them() {
        let error = ClientError::broker(ErrorCode::NotEnoughReplicas, None, Place::partition(&"t".into(), 0));
        assert_eq!(error.code(), "NOT_ENOUGH_REPLICAS");
        assert!(error.is_retriable());
    }
}
