//! Answers as JavaScript sees them: plain objects with the words of `js/index.d.ts`. Offsets are numbers; one that no
//! number holds exactly is a `BigInt`.

use client_core::Metrics;
use client_core::admin::{
    BrokerDescription, ClusterDescription, CommittedOffset, ConfigEntry, ConfigSource, CreatedTopic,
    PartitionDescription, PartitionOffset, QuorumDescription, QuorumReplica, TopicDescription, TopicListing,
};
use js_sys::{Array, Object, Reflect};
use log_core::TopicId;
use wasm_bindgen::prelude::JsValue;

use crate::block::{SAFE_INTEGER_MAX, number};

/// A value that JavaScript can have.
pub(crate) trait Convert {
    /// It, as JavaScript has it.
    fn convert(&self) -> JsValue;
}

/// An object with these properties; those that are `undefined` are left out.
pub(crate) fn object<const N: usize>(properties: [(&str, JsValue); N]) -> JsValue {
    let object = Object::new();
    for (name, value) in properties {
        if !value.is_undefined() {
            Reflect::set(&object, &name.into(), &value).expect("a fresh object takes any property");
        }
    }
    object.into()
}

pub(crate) fn metrics(metrics: &Metrics) -> JsValue {
    let count = |value: u64| JsValue::from(value as f64);
    let millis = |time: core::time::Duration| JsValue::from(time.as_secs_f64() * 1e3);
    object([
        ("connections", count(metrics.connections)),
        ("connectionFailures", count(metrics.connection_failures)),
        ("requests", count(metrics.requests)),
        ("requestsInFlight", count(metrics.requests_in_flight)),
        ("bytesSent", count(metrics.bytes_sent)),
        ("bytesReceived", count(metrics.bytes_received)),
        ("metadataUpdates", count(metrics.metadata_updates)),
        ("batchesSent", count(metrics.batches_sent)),
        ("batchBytesSent", count(metrics.batch_bytes_sent)),
        ("batchesResent", count(metrics.batches_resent)),
        ("batchesSplit", count(metrics.batches_split)),
        ("batchesDelivered", count(metrics.batches_delivered)),
        ("recordsDelivered", count(metrics.records_delivered)),
        ("recordsFailed", count(metrics.records_failed)),
        ("producerBufferBytes", count(metrics.producer_buffer_bytes)),
        ("deliveryTimeMs", millis(metrics.delivery_time)),
        ("fetches", count(metrics.fetches)),
        ("fetchedBytes", count(metrics.fetched_bytes)),
        ("consumerBufferBytes", count(metrics.consumer_buffer_bytes)),
        ("throttleTimeMs", millis(metrics.throttle_time)),
    ])
}

impl<T: Convert> Convert for Vec<T> {
    fn convert(&self) -> JsValue {
        self.iter().map(Convert::convert).collect::<Array>().into()
    }
}

impl<T: Convert> Convert for Option<T> {
    fn convert(&self) -> JsValue {
        self.as_ref().map_or(JsValue::UNDEFINED, Convert::convert)
    }
}

impl Convert for i32 {
    fn convert(&self) -> JsValue {
        (*self).into()
    }
}

impl Convert for i64 {
    fn convert(&self) -> JsValue {
        let is_safe = (-SAFE_INTEGER_MAX..=SAFE_INTEGER_MAX).contains(self);
        if is_safe { number(*self).into() } else { (*self).into() }
    }
}

impl Convert for TopicId {
    /// As Kafka's tools print it would need base64; hexadecimal digits serve to compare.
    fn convert(&self) -> JsValue {
        self.to_string().into()
    }
}

impl Convert for CreatedTopic {
    fn convert(&self) -> JsValue {
        object([
            ("name", (&*self.name).into()),
            ("id", self.id.convert()),
            ("partitions", self.partitions.map_or(JsValue::UNDEFINED, Into::into)),
            ("replication", self.replication.map_or(JsValue::UNDEFINED, Into::into)),
        ])
    }
}

impl Convert for TopicListing {
    fn convert(&self) -> JsValue {
        object([
            ("name", (&*self.name).into()),
            ("id", self.id.convert()),
            ("isInternal", self.is_internal.into()),
            ("partitions", self.partitions.into()),
            ("replication", self.replication.into()),
        ])
    }
}

impl Convert for TopicDescription {
    fn convert(&self) -> JsValue {
        object([
            ("name", (&*self.name).into()),
            ("id", self.id.convert()),
            ("isInternal", self.is_internal.into()),
            ("partitions", self.partitions.convert()),
        ])
    }
}

impl Convert for PartitionDescription {
    fn convert(&self) -> JsValue {
        object([
            ("partition", self.partition.into()),
            ("leader", self.leader.convert()),
            ("leaderEpoch", self.leader_epoch.into()),
            ("replicas", self.replicas.convert()),
            ("inSync", self.in_sync.convert()),
            ("offline", self.offline.convert()),
        ])
    }
}

impl Convert for ConfigEntry {
    fn convert(&self) -> JsValue {
        let source = match self.source {
            ConfigSource::Topic => "topic",
            ConfigSource::DynamicBroker => "dynamic-broker",
            ConfigSource::StaticBroker => "static-broker",
            ConfigSource::Default => "default",
            _ => "other",
        };
        let text =
            |text: &Option<std::sync::Arc<str>>| text.as_deref().map_or(JsValue::UNDEFINED, JsValue::from);
        object([
            ("name", (&*self.name).into()),
            ("value", text(&self.value)),
            ("source", source.into()),
            ("isReadOnly", self.is_read_only.into()),
            ("isSensitive", self.is_sensitive.into()),
            ("documentation", text(&self.documentation)),
        ])
    }
}

impl Convert for ClusterDescription {
    fn convert(&self) -> JsValue {
        object([
            ("clusterId", self.cluster_id.as_deref().map_or(JsValue::UNDEFINED, JsValue::from)),
            ("controller", self.controller.convert()),
            ("brokers", self.brokers.convert()),
            ("fenced", self.fenced.convert()),
        ])
    }
}

impl Convert for BrokerDescription {
    fn convert(&self) -> JsValue {
        object([
            ("id", self.id.into()),
            ("host", (&*self.host).into()),
            ("port", self.port.into()),
            ("rack", self.rack.as_deref().map_or(JsValue::UNDEFINED, JsValue::from)),
        ])
    }
}

impl Convert for QuorumDescription {
    fn convert(&self) -> JsValue {
        object([
            ("leader", self.leader.convert()),
            ("leaderEpoch", self.leader_epoch.into()),
            ("highWatermark", self.high_watermark.convert()),
            ("voters", self.voters.convert()),
            ("observers", self.observers.convert()),
        ])
    }
}

impl Convert for QuorumReplica {
    fn convert(&self) -> JsValue {
        object([
            ("id", self.id.into()),
            ("logEndOffset", self.log_end_offset.convert()),
            ("lastFetchTimestamp", self.last_fetch_timestamp.convert()),
            ("lastCaughtUpTimestamp", self.last_caught_up_timestamp.convert()),
        ])
    }
}

impl Convert for PartitionOffset {
    fn convert(&self) -> JsValue {
        object([
            ("topic", (&*self.topic).into()),
            ("partition", self.partition.into()),
            ("offset", self.offset.convert()),
            ("timestamp", self.timestamp.convert()),
            ("leaderEpoch", self.leader_epoch.into()),
        ])
    }
}

impl Convert for CommittedOffset {
    fn convert(&self) -> JsValue {
        object([
            ("topic", (&*self.topic).into()),
            ("partition", self.partition.into()),
            ("offset", self.offset.convert()),
            ("leaderEpoch", self.leader_epoch.into()),
        ])
    }
}
