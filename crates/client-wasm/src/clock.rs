//! The clocks and the randomness of the browser, in a page as in a worker.

use log_core::{MonoTime, Now, Timestamp};
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;
}

const NANOS_PER_MILLI: f64 = 1e6;

/// Both clocks. Monotonic time counts from the beginning of the page or worker.
pub(crate) fn now() -> Now {
    // `as` saturates: no clock of a browser is out of range.
    let mono = MonoTime((performance_now() * NANOS_PER_MILLI) as u64);
    Now { mono, wall: Timestamp(date_now() as i64) }
}

/// The milliseconds from `now` to `at`, 0 if that has passed, rounded up: timers of browsers cut fractions off.
pub(crate) fn millis_until(now: Now, at: MonoTime) -> f64 {
    (at.since(now.mono).as_nanos() as f64 / NANOS_PER_MILLI).ceil()
}
