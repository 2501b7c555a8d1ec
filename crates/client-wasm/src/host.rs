//! What the engine asks of JavaScript. The host is one object per client; see `js/client.js`.

use client_core::ClientError;
use js_sys::{Float64Array, Uint8Array};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::block::number;

#[wasm_bindgen]
extern "C" {
    /// JavaScript's side of one client. No method throws, and none calls the engine before it has returned.
    pub type Host;

    /// Connect to a broker's door.
    #[wasm_bindgen(method)]
    pub(crate) fn connect(this: &Host, connection: f64, host: &str, port: u16);

    /// Send a frame.
    #[wasm_bindgen(method)]
    pub(crate) fn send(this: &Host, connection: f64, frame: Uint8Array);

    /// Close a connection, and say nothing more about it.
    #[wasm_bindgen(method)]
    pub(crate) fn close(this: &Host, connection: f64);

    /// Some records of a batch are done.
    #[wasm_bindgen(method)]
    pub(crate) fn delivered(
        this: &Host,
        producer: u32,
        batch: f64,
        first: u32,
        count: u32,
        base_offset: f64,
        log_append_time: Option<f64>,
        error: JsValue,
    );

    /// Records that a producer did not take may be offered again.
    #[wasm_bindgen(method, js_name = producerChanged)]
    pub(crate) fn producer_changed(this: &Host, producer: u32);

    /// A consumer may have something to read.
    #[wasm_bindgen(method, js_name = consumerChanged)]
    pub(crate) fn consumer_changed(this: &Host, consumer: u32, is_reassigned: bool);

    /// A call is answered, by an error or by a value.
    #[wasm_bindgen(method)]
    pub(crate) fn answered(this: &Host, call: f64, error: JsValue, value: JsValue);

    /// Call `turn` soon, but not from in here.
    #[wasm_bindgen(method)]
    pub(crate) fn wake(this: &Host);

    /// Call `timer_fired` after so many milliseconds, and forget what was said before.
    #[wasm_bindgen(method)]
    pub(crate) fn timer(this: &Host, delay_ms: f64);

    /// Everything of a client that is being closed is done.
    #[wasm_bindgen(method)]
    pub(crate) fn finished(this: &Host);

    /// An error in JavaScript's form.
    #[wasm_bindgen(method)]
    fn error(
        this: &Host,
        code: &str,
        message: &str,
        retriable: bool,
        topic: Option<String>,
        partition: Option<u32>,
        offset: Option<f64>,
        resume_at: Option<f64>,
    ) -> JsValue;

    /// Records of one partition.
    #[wasm_bindgen(method)]
    pub(crate) fn block(
        this: &Host,
        topic: &str,
        partition: u32,
        leader_epoch: i32,
        table: Float64Array,
        payload: Uint8Array,
    ) -> JsValue;
}

impl Host {
    /// An error of the client, with the same code as in Rust.
    pub(crate) fn error_of(&self, error: &ClientError) -> JsValue {
        self.error(
            error.code(),
            &error.to_string(),
            error.is_retriable(),
            error.topic().map(str::to_owned),
            error.partition(),
            error.offset().map(number),
            error.resume_at().map(number),
        )
    }

    /// An offset that no JavaScript number holds exactly.
    pub(crate) fn offset_too_large(&self, topic: &str, partition: Option<u32>, offset: i64) -> JsValue {
        let message = format!("offset {offset} is beyond what a JavaScript number holds");
        let topic = Some(topic.to_owned());
        self.error("OFFSET_TOO_LARGE", &message, false, topic, partition, None, None)
    }
}
