//! The native client of Highwater, which speaks to Apache Kafka and to other brokers of its protocol as well.
//!
//! ```no_run
//! # async fn example() -> Result<(), highwater_client::ClientError> {
//! use highwater_client::{Client, Record, Start};
//!
//! let client = Client::connect("localhost:9092").await?;
//!
//! let producer = client.producer().build()?;
//! let ack = producer.send(Record::to("orders").key("k-1").value("first")).await?;
//! println!("partition {}, offset {}", ack.partition, ack.offset);
//!
//! let mut consumer = client.consumer("orders").start(Start::Earliest).build().await?;
//! while let Some(record) = consumer.try_next().await? {
//!     println!("{} {:?}", record.offset, record.value);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! All decisions are made by `client-core`, a state machine without socket or clock. One background task per
//! [`Client`] drives it: it owns every connection, and it alone reads, writes and waits. [`Client`], [`Producer`] and
//! [`Admin`] are handles to it, cheap to clone. When the last handle is dropped the task ends; what must not be lost is
//! waited for by [`Producer::flush`], [`Producer::close`] and [`Consumer::close`], which say what failed.
//!
//! A record that is produced does not wake that task. It is encoded straight into the open batch of its partition under
//! a short lock, which costs a fraction of a microsecond; the task is woken once per batch.
//!
//! # Cancellation
//!
//! Every future here may be dropped at any time. What that means is said at each method; in short: a record is either
//! not accepted yet and then never sent, or accepted and then delivered (or failed) in the background.

mod admin;
mod builder;
mod client;
mod consumer;
mod driver;
mod pending;
mod producer;
mod quic;
mod tls;
mod transport;

pub use admin::Admin;
pub use builder::ClientBuilder;
pub use client::Client;
pub use client_core::admin::{
    BrokerDescription, ClusterDescription, CommittedOffset, ConfigChange, ConfigEntry, ConfigResource,
    ConfigSource, CreatedTopic, NewTopic, OffsetSpec, PartitionDescription, PartitionOffset,
    QuorumDescription, QuorumReplica, TopicDescription, TopicListing,
};
pub use client_core::error::{
    AddressError, CallerProblem, ClientError, Damage, LostPosition, NetworkCause, NetworkError, Phase, Place,
    Waiting,
};
pub use client_core::{
    Ack, Acks, Address, ConsumedRecord, ErrorCode, Header, Metrics, OnLostPosition, Record, RecordBatch,
    Start, Transport,
};
pub use consumer::{Batches, Consumer, ConsumerBuilder, IntoTopics, PartitionLag};
pub use log_core::batch::{Record as BatchRecord, RecordHeader as BatchRecordHeader};
pub use log_core::{Compression, TopicId};
pub use pending::Pending;
pub use producer::{Producer, ProducerBuilder, TryEnqueueError};
pub use transport::{Carrier, Connecting, Connector};
