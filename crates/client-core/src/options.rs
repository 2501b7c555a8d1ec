//! Typed options with their defaults: safe first, fast second. There are no string maps here.

use core::time::Duration;
use std::sync::Arc;

use log_core::Compression;

use crate::error::{CallerProblem, ClientError, Place};

/// What holds for a whole client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// What the client calls itself in requests; brokers show it in logs and quotas. Default `highwater`.
    pub client_id: Arc<str>,
    /// How long a connection may take to be made and to agree on versions. Default 10 s.
    pub connect_timeout: Duration,
    /// How long the answer to a request may take before its connection is given up. Default 30 s.
    pub request_timeout: Duration,
    /// How long a call of the admin, or a question for offsets, is tried again before it fails. Default 60 s.
    pub call_timeout: Duration,
    /// How old metadata may become before it is asked for anew without any need. Default 5 min.
    pub metadata_age_max: Duration,
    /// How long a topic that brokers do not know is asked for before that counts as true: it may have been made a
    /// moment ago, or be about to be made by auto-creation. Default 5 s.
    pub unknown_topic_wait: Duration,
    /// The largest frame taken from a broker, in bytes. Default 100 MiB.
    pub frame_bytes_max: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            client_id: "highwater".into(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(60),
            metadata_age_max: Duration::from_secs(300),
            unknown_topic_wait: Duration::from_secs(5),
            frame_bytes_max: kafka_wire::FRAME_BYTES_MAX_DEFAULT,
        }
    }
}

impl ClientOptions {
    /// The options, if requests can carry them.
    ///
    /// # Errors
    /// When the client's id is longer than 32,767 bytes.
    pub fn checked(self) -> Result<Self, ClientError> {
        check_string("client_id", &self.client_id)?;
        Ok(self)
    }
}

/// When a record counts as delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// When it was handed to the network. Nothing is known about it afterwards; its offset is −1.
    None,
    /// When the leader has it. It is lost if the leader is.
    Leader,
    /// When it is committed: on every in-sync replica.
    #[default]
    All,
}

impl Acks {
    /// The number on the wire.
    #[must_use]
    pub const fn wire(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// What holds for one producer.
#[derive(Clone, Debug)]
pub struct ProducerOptions {
    /// When a record counts as delivered. Default [`Acks::All`].
    pub acks: Acks,
    /// Whether brokers drop what is sent twice, which also keeps the order of each partition. Needs [`Acks::All`];
    /// without it a retry may double records. Default true.
    pub idempotent: bool,
    /// How batches are compressed. Default not at all.
    pub compression: Compression,
    /// How long a batch waits for more records. Even with zero, records that arrive while the connection is busy
    /// share a batch. Default 0.
    pub linger: Duration,
    /// The most bytes in one batch, before compression and with its overhead. A larger record is refused. The broker's
    /// limit is `max.message.bytes` of the topic, by default 1,048,588. Default 1,000,000.
    pub batch_bytes_max: usize,
    /// The most bytes (keys, values, headers and overhead) of records that are not yet delivered. When it is used up,
    /// `send` and `enqueue` wait. Default 64 MiB.
    pub buffer_bytes_max: usize,
    /// How long a record may take from being accepted to being delivered, with all retries. Default 2 min.
    pub delivery_timeout: Duration,
    /// The most produce requests on their way to one broker; more than 5 is not possible with `idempotent`. Default 5.
    pub in_flight_max: usize,
    /// Whether brokers may create a topic that does not exist (if they are configured to). Default true.
    pub auto_create_topics: bool,
}

impl Default for ProducerOptions {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            idempotent: true,
            compression: Compression::None,
            linger: Duration::ZERO,
            batch_bytes_max: 1_000_000,
            buffer_bytes_max: 64 << 20,
            delivery_timeout: Duration::from_secs(120),
            in_flight_max: 5,
            auto_create_topics: true,
        }
    }
}

/// The least batch size that can be asked for, in bytes: a header and a small record.
const BATCH_BYTES_MIN: usize = 256;

impl ProducerOptions {
    /// Makes options that fit together: anything but [`Acks::All`] switches `idempotent` off.
    ///
    /// # Errors
    /// When a number is outside of what can work.
    pub fn checked(mut self) -> Result<Self, ClientError> {
        if self.acks != Acks::All {
            self.idempotent = false;
        }
        let highest_in_flight = if self.idempotent { 5 } else { 1000 };
        require((1..=highest_in_flight).contains(&self.in_flight_max), "in_flight_max", "must be 1 to 5")?;
        require(self.batch_bytes_max >= BATCH_BYTES_MIN, "batch_bytes_max", "must be at least 256")?;
        require(self.batch_bytes_max <= 64 << 20, "batch_bytes_max", "must be at most 64 MiB")?;
        let room = self.buffer_bytes_max >= self.batch_bytes_max;
        require(room, "buffer_bytes_max", "must have room for one batch (batch_bytes_max)")?;
        require(!self.delivery_timeout.is_zero(), "delivery_timeout", "must be longer than zero")?;
        Ok(self)
    }
}

/// Where a consumer begins in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first record that is kept.
    Earliest,
    /// With the next record that arrives.
    Latest,
    /// With the record at this offset, or the first one kept after it.
    Offset(i64),
    /// With the first record at or after this time, in milliseconds since 1970; with the next one that arrives if
    /// there is none.
    Timestamp(i64),
}

/// What a consumer does when retention has passed its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLostPosition {
    /// Goes on with the first record that is kept. What was cut off at the *end* of a log (truncation) is an error all
    /// the same.
    #[default]
    Earliest,
    /// Goes on with the next record that arrives.
    Latest,
    /// Gives an error for the partition; `seek` sets it going again.
    Fail,
}

/// What a consumer reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// Every partition of these topics; with a group, its share of them.
    Topics(Vec<Arc<str>>),
    /// Exactly these partitions; not possible with a group.
    Partitions(Vec<(Arc<str>, u32)>),
}

/// What holds for one consumer.
#[derive(Clone, Debug)]
pub struct ConsumerOptions {
    /// What to read.
    pub subscription: Subscription,
    /// Where to begin; with a group, only where the group has committed nothing. Default [`Start::Latest`].
    pub start: Start,
    /// What to do when retention has passed the position. Default [`OnLostPosition::Earliest`].
    pub on_lost_position: OnLostPosition,
    /// The group, if there is one.
    pub group: Option<GroupOptions>,
    /// The most bytes of fetched batches that wait to be read, over all partitions. One batch may exceed it. Default 16 MiB.
    pub prefetch_bytes_max: usize,
    /// The most bytes of one answer to a fetch. Default 8 MiB.
    pub fetch_bytes_max: usize,
    /// The most bytes of one partition in one answer. Default 1 MiB.
    pub partition_bytes_max: usize,
    /// How many bytes a broker should have before it answers. Default 1.
    pub fetch_bytes_min: usize,
    /// How long a broker waits for that many bytes. Default 500 ms.
    pub fetch_wait_max: Duration,
    /// Whether the checksum of each batch is checked. Default true.
    pub check_crc: bool,
    /// The most bytes that one batch may decompress to. Default 64 MiB.
    pub decompressed_bytes_max: usize,
}

/// How a consumer takes part in a group.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// The group's name.
    pub name: Arc<str>,
    /// How long the group keeps the place of a member that is not heard of. Default 45 s.
    pub session_timeout: Duration,
    /// How often the member is heard of. Default 3 s.
    pub heartbeat_interval: Duration,
    /// How long a rebalance waits for this member. Default 60 s.
    pub rebalance_timeout: Duration,
    /// How often marked positions are committed in the background; `None` leaves it to `commit`. Default 5 s.
    pub auto_commit: Option<Duration>,
}

impl GroupOptions {
    /// The defaults for a group of this name.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            session_timeout: Duration::from_secs(45),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_secs(60),
            auto_commit: Some(Duration::from_secs(5)),
        }
    }
}

impl ConsumerOptions {
    /// The defaults for this subscription.
    #[must_use]
    pub const fn new(subscription: Subscription) -> Self {
        Self {
            subscription,
            start: Start::Latest,
            on_lost_position: OnLostPosition::Earliest,
            group: None,
            prefetch_bytes_max: 16 << 20,
            fetch_bytes_max: 8 << 20,
            partition_bytes_max: 1 << 20,
            fetch_bytes_min: 1,
            fetch_wait_max: Duration::from_millis(500),
            check_crc: true,
            decompressed_bytes_max: log_core::limits::RECORDS_BYTES_MAX_DEFAULT,
        }
    }

    /// The options, if they fit together.
    ///
    /// # Errors
    /// When the subscription is empty, or a group is asked to read fixed partitions.
    pub fn checked(self) -> Result<Self, ClientError> {
        match &self.subscription {
            Subscription::Topics(topics) => {
                require(!topics.is_empty(), "topics", "must name at least one")?;
                topics.iter().try_for_each(check_topic_name)?;
            }
            Subscription::Partitions(partitions) => {
                require(!partitions.is_empty(), "partitions", "must name at least one")?;
                require(self.group.is_none(), "partitions", "cannot be chosen by a member of a group")?;
                partitions.iter().try_for_each(|(topic, _)| check_topic_name(topic))?;
            }
        }
        if let Some(group) = &self.group {
            check_string("group", &group.name)?;
            let heard_often = group.heartbeat_interval < group.session_timeout;
            require(heard_often, "heartbeat_interval", "must be shorter than session_timeout")?;
        }
        require(self.partition_bytes_max > 0, "partition_bytes_max", "must be more than zero")?;
        Ok(self)
    }
}

/// The longest name of a topic, in bytes.
const TOPIC_NAME_BYTES_MAX: usize = 249;

/// Refuses what no broker would take as the name of a topic.
pub(crate) fn check_topic_name(name: &Arc<str>) -> Result<(), ClientError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = (1..=TOPIC_NAME_BYTES_MAX).contains(&name.len());
    if fits && name.bytes().all(legal) && !matches!(&**name, "." | "..") {
        Ok(())
    } else {
        Err(ClientError::caller(CallerProblem::TopicName, Place::topic(name)))
    }
}

/// Refuses a text that the protocol has no room for.
pub(crate) fn check_string(option: &'static str, text: &str) -> Result<(), ClientError> {
    require(i16::try_from(text.len()).is_ok(), option, "must be at most 32,767 bytes")
}

const fn require(holds: bool, option: &'static str, must: &'static str) -> Result<(), ClientError> {
    if holds {
        Ok(())
    } else {
        Err(ClientError::caller(CallerProblem::Option { option, must }, Place::NOWHERE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weaker_acks_switch_idempotence_off() {
        let options = ProducerOptions { acks: Acks::Leader, in_flight_max: 20, ..ProducerOptions::default() };
        assert!(!options.checked().expect("fits").idempotent);
        let options = ProducerOptions { in_flight_max: 6, ..ProducerOptions::default() };
        assert_eq!(options.checked().map_err(|e| e.code()).err(), Some("INVALID_OPTION"));
    }

    #[test]
    fn a_client_id_that_no_request_has_room_for_is_refused() {
        let of = |bytes: usize| ClientOptions { client_id: "x".repeat(bytes).into(), ..Default::default() };
        assert!(of(32_767).checked().is_ok());
        let refused = of(32_768).checked().expect_err("too long");
        assert_eq!(refused.to_string(), "client_id must be at most 32,767 bytes");
    }

    #[test]
    fn names_that_no_broker_takes_are_refused_here() {
        for name in ["", ".", "..", "../x", "a b", "\u{e4}", &"x".repeat(250)] {
            let options = ConsumerOptions::new(Subscription::Topics(vec![name.into()]));
            assert_eq!(options.checked().map_err(|e| e.code()).err(), Some("INVALID_TOPIC_NAME"), "{name}");
        }
        assert!(ConsumerOptions::new(Subscription::Topics(vec!["a.B_c-9".into()])).checked().is_ok());
    }

    #[test]
    fn a_group_member_cannot_choose_partitions() {
        let mut options = ConsumerOptions::new(Subscription::Partitions(vec![("t".into(), 0)]));
        options.group = Some(GroupOptions::named("billing"));
        assert!(options.checked().is_err());
    }
}
