//! The native client of Highwater, which speaks to Apache Kafka and to other brokers of its protocol as well.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! use highwater_client::{Client, NewTopic, Record, Start};
//!
//! # let broker = highwater_broker::Broker::in_memory()?;
//! # broker.ready().await.map_err(|_| "the broker ended")?;
//! # let connect = broker.connector();
//! # let connector = move |_| { let stream = connect(); async move { Ok(stream) } };
//! let client = Client::builder("localhost:9092")
//! #   .connector(connector)
//!     .client_id("example")
//!     .connect()
//!     .await?;
//! client.admin().create_topic(NewTopic::named("orders").partitions(3)).await?;
//!
//! let producer = client.producer().build()?;
//! let ack = producer.send(Record::to("orders").key("k-1").value("first")).await?;
//! assert_eq!(ack.offset, 0);
//! for number in 0..1000 {
//!     let record = Record::to("orders").key("k-1").value(format!("number {number}"));
//!     let _ack = producer.enqueue(record).await?; // waits for room in the buffer only
//! }
//! producer.flush().await?; // now everything is delivered
//!
//! let mut consumer = client.consumer("orders").start(Start::Earliest).until_end().build().await?;
//! let mut records = 0;
//! while let Some(record) = consumer.try_next().await? {
//!     records += 1;
//!     assert_eq!(record.partition, ack.partition); // equal keys go to the same partition
//! }
//! assert_eq!(records, 1001);
//! client.close().await?;
//! # Ok(())
//! # })
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
//! # Without a network
//!
//! A [`Connector`] reaches brokers in another way, for instance one in the same process: tests need neither a port nor a
//! container.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = highwater_broker::Broker::in_memory()?;
//! let connect = broker.connector();
//! let client = highwater_client::Client::builder("in-memory")
//!     .connector(move |_address| {
//!         let stream = connect();
//!         async move { Ok(stream) }
//!     })
//!     .connect()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is seen of it
//!
//! [`Client::metrics`] is a snapshot of counters. With `tracing`, everything happens in a span `highwater_client`:
//! connections at level debug, each request and answer with its correlation id at level trace.
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
    ConfigSource, CreatedTopic, ElectedPartition, Election, GroupDescription, GroupLag, GroupListing,
    GroupMember, GroupProtocol, GroupReset, GroupState, LogDirDescription, NewTopic, OffsetSpec,
    PartitionDescription, PartitionOffset, QuorumDescription, QuorumReplica, ReplicaEnd, ReplicaSize,
    ResetTo, TopicDescription, TopicListing, UncleanChoice,
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
