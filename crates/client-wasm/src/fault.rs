//! What happens if the engine has a fault: the instance cannot be used any more, and whoever uses it is told.

use std::cell::RefCell;

use js_sys::Function;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Names the function that is called, with a text, before a panic ends the call that it happened in. To be called once,
/// when the instance has been made.
#[wasm_bindgen]
pub fn on_panic(listener: Function) {
    LISTENER.with_borrow_mut(|slot| *slot = Some(listener));
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        LISTENER.with_borrow(|slot| {
            if let Some(listener) = slot {
                // There is nobody to tell if the listener throws.
                let _ = listener.call1(&JsValue::UNDEFINED, &JsValue::from_str(&text));
            }
        });
    }));
}
