//! Options as they come from JavaScript, which has checked their types and names already.

use std::sync::Arc;
use std::time::Duration;

use client_core::options::GroupOptions;
use client_core::{
    Acks, ClientOptions, ConsumerOptions, OnLostPosition, ProducerOptions, Start, Subscription,
};
use log_core::Compression;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Options of a client, a producer or a consumer: an object with some of these properties.
    pub type Settings;

    #[wasm_bindgen(method, getter, js_name = clientId)]
    fn client_id(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = connectTimeoutMs)]
    fn connect_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = requestTimeoutMs)]
    fn request_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = callTimeoutMs)]
    fn call_timeout_ms(this: &Settings) -> Option<f64>;

    #[wasm_bindgen(method, getter)]
    fn acks(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn idempotent(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter)]
    fn compression(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = lingerMs)]
    fn linger_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = batchBytesMax)]
    fn batch_bytes_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = bufferBytesMax)]
    fn buffer_bytes_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = deliveryTimeoutMs)]
    fn delivery_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = inFlightMax)]
    fn in_flight_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = autoCreateTopics)]
    fn auto_create_topics(this: &Settings) -> Option<bool>;

    #[wasm_bindgen(method, getter)]
    fn group(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = sessionTimeoutMs)]
    fn session_timeout_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = autoCommitMs)]
    fn auto_commit_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = onLostPosition)]
    fn on_lost_position(this: &Settings) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = prefetchBytesMax)]
    fn prefetch_bytes_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = fetchBytesMax)]
    fn fetch_bytes_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = partitionBytesMax)]
    fn partition_bytes_max(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = fetchBytesMin)]
    fn fetch_bytes_min(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = fetchWaitMs)]
    fn fetch_wait_ms(this: &Settings) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = checkCrc)]
    fn check_crc(this: &Settings) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = decompressedBytesMax)]
    fn decompressed_bytes_max(this: &Settings) -> Option<f64>;
}

/// A tab shares its memory with the page: less is fetched ahead than by a native client.
const PREFETCH_BYTES_MAX: usize = 16 << 20;
/// The most bytes that one Fetch asks for: a quarter of what is fetched ahead.
const FETCH_BYTES_MAX: usize = 4 << 20;
/// The most bytes of records that wait to be sent.
const BUFFER_BYTES_MAX: usize = 32 << 20;

pub(crate) fn client_options(settings: &Settings) -> ClientOptions {
    let mut options = ClientOptions::default();
    if let Some(client_id) = settings.client_id() {
        options.client_id = client_id.into();
    }
    set(&mut options.connect_timeout, settings.connect_timeout_ms().map(duration));
    set(&mut options.request_timeout, settings.request_timeout_ms().map(duration));
    set(&mut options.call_timeout, settings.call_timeout_ms().map(duration));
    options
}

pub(crate) fn producer_options(settings: &Settings) -> ProducerOptions {
    let mut options = ProducerOptions { buffer_bytes_max: BUFFER_BYTES_MAX, ..ProducerOptions::default() };
    match settings.acks().as_deref() {
        Some("none") => options.acks = Acks::None,
        Some("leader") => options.acks = Acks::Leader,
        _ => {}
    }
    set(&mut options.idempotent, settings.idempotent());
    set(&mut options.compression, settings.compression().as_deref().map(compression));
    set(&mut options.linger, settings.linger_ms().map(duration));
    set(&mut options.batch_bytes_max, settings.batch_bytes_max().map(size));
    set(&mut options.buffer_bytes_max, settings.buffer_bytes_max().map(size));
    set(&mut options.delivery_timeout, settings.delivery_timeout_ms().map(duration));
    set(&mut options.in_flight_max, settings.in_flight_max().map(size));
    set(&mut options.auto_create_topics, settings.auto_create_topics());
    options
}

pub(crate) fn consumer_options(
    settings: &Settings,
    topics: Vec<String>,
    partitions: Option<Vec<u32>>,
    start: Start,
) -> ConsumerOptions {
    let topics: Vec<Arc<str>> = topics.into_iter().map(Into::into).collect();
    let subscription = match partitions {
        None => Subscription::Topics(topics),
        Some(chosen) => {
            let of = |topic: &Arc<str>| chosen.iter().map(|index| (Arc::clone(topic), *index)).collect();
            Subscription::Partitions(topics.iter().flat_map::<Vec<_>, _>(of).collect())
        }
    };
    let mut options = ConsumerOptions { start, ..ConsumerOptions::new(subscription) };
    options.group = settings.group().map(GroupOptions::named);
    if let Some(group) = &mut options.group {
        set(&mut group.session_timeout, settings.session_timeout_ms().map(duration));
        // Zero switches it off.
        let interval = |ms: f64| (ms > 0.0).then(|| duration(ms));
        set(&mut group.auto_commit, settings.auto_commit_ms().map(interval));
    }
    match settings.on_lost_position().as_deref() {
        Some("latest") => options.on_lost_position = OnLostPosition::Latest,
        Some("fail") => options.on_lost_position = OnLostPosition::Fail,
        _ => {}
    }
    options.prefetch_bytes_max = settings.prefetch_bytes_max().map_or(PREFETCH_BYTES_MAX, size);
    options.fetch_bytes_max = settings.fetch_bytes_max().map_or(FETCH_BYTES_MAX, size);
    set(&mut options.partition_bytes_max, settings.partition_bytes_max().map(size));
    set(&mut options.fetch_bytes_min, settings.fetch_bytes_min().map(size));
    set(&mut options.fetch_wait_max, settings.fetch_wait_ms().map(duration));
    set(&mut options.check_crc, settings.check_crc());
    set(&mut options.decompressed_bytes_max, settings.decompressed_bytes_max().map(size));
    options
}

/// A place in a partition: its kind and, for two of them, a number.
pub(crate) fn start(kind: &str, value: f64) -> Start {
    match kind {
        "earliest" => Start::Earliest,
        "offset" => Start::Offset(value as i64),
        "timestamp" => Start::Timestamp(value as i64),
        _ => Start::Latest,
    }
}

fn compression(name: &str) -> Compression {
    match name {
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        _ => Compression::None,
    }
}

fn set<T>(option: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *option = given;
    }
}

/// Milliseconds; `as` saturates.
fn duration(ms: f64) -> Duration {
    Duration::from_micros((ms * 1e3) as u64)
}

const fn size(bytes: f64) -> usize {
    bytes as usize
}
