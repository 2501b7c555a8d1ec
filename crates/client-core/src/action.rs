//! What the brain wants done: the closed list of its effects. A face carries them out and knows no protocol.

use std::sync::Arc;

use kafka_wire::Rope;

use crate::address::Address;
use crate::admin::AdminAnswer;
use crate::consumer::Fetched;
use crate::error::ClientError;

/// One connection, from [`Action::Connect`] to its end. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// One producer of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerHandle(pub u32);

/// One consumer of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerHandle(pub u32);

/// One call that will be answered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// One batch of a producer, from the first record put into it to its delivery or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// An effect.
#[derive(Clone, Debug)]
pub enum Action {
    /// Connect and say so with `handle_connected` or `handle_connection_failed`.
    Connect {
        /// The new connection.
        connection: ConnectionId,
        /// Where to.
        address: Address,
    },
    /// Send a frame; the length prefix is in it. Frames of one connection keep their order.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The frame.
        frame: Rope,
    },
    /// Close a connection; nothing more is said about it.
    Close {
        /// The connection.
        connection: ConnectionId,
    },
    /// Some or all records of a batch are done.
    Delivered {
        /// The producer.
        producer: ProducerHandle,
        /// What became of them.
        delivery: Delivery,
    },
    /// Those who wait for room or a topic of a producer may try again.
    ProducerChanged {
        /// The producer.
        producer: ProducerHandle,
    },
    /// A producer may be able to send more. Call `pull`.
    Pull {
        /// The producer.
        producer: ProducerHandle,
    },
    /// Something for the one who reads from a consumer.
    Consumer {
        /// The consumer.
        consumer: ConsumerHandle,
        /// What happened.
        event: ConsumerEvent,
    },
    /// A call is answered.
    Answered {
        /// The call.
        call: CallId,
        /// Its result.
        result: Result<Answer, ClientError>,
    },
}

/// What became of a range of a batch's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The batch.
    pub batch: BatchId,
    /// The first record, counted from 0 in the order in which they were put in.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Bytes of the producer's buffer that are free again.
    pub bytes: usize,
    /// Where the first one was put and, if the broker set it, their timestamp; the others follow at the next offsets.
    pub result: Result<Placed, ClientError>,
}

/// Where delivered records begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The first one's offset; −1 if unknown.
    pub base_offset: i64,
    /// Their timestamp in milliseconds since 1970, if the broker set it.
    pub log_append_time: Option<i64>,
}

/// What happened to a consumer.
#[derive(Clone, Debug)]
pub enum ConsumerEvent {
    /// Batches have come.
    Fetched(Fetched),
    /// The partitions that it reads from now on, each with its generation.
    Assigned(Vec<(Arc<str>, u32, u32)>),
    /// A partition has a position: reading begins there.
    Positioned {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: u32,
        /// Changes with every assignment and seek of the partition.
        generation: u32,
        /// The offset of the next record.
        offset: i64,
    },
    /// A partition's reading has stopped, or the whole consumer's. Seeking sets a partition going again.
    Failed(ClientError),
}

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There was nothing to tell.
    Done,
    /// An admin's answer.
    Admin(AdminAnswer),
}
