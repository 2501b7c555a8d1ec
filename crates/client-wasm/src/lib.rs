//! The client in a browser tab: the engine behind the npm package `@highwater/client`.
//!
//! All decisions are made by `client-core`, as in the native client. `Engine` drives it on the browser's event loop:
//! it owns the brain, the accumulators and the fetch buffers, and turns their words into calls that JavaScript can make
//! and answer. What a browser alone can do (WebTransport, WebSocket, timers, promises, `AbortSignal`) is JavaScript, in
//! `js/`; that part decides nothing about the protocol. It is the package's face too: the classes that a page uses stand
//! in `js/index.d.ts`.
//!
//! # Call order
//!
//! Every method of `Engine` reads the clocks itself, hands the news to the brain and carries out at once what the brain
//! decides, by calls to the `Host`. A host never calls back into the engine from inside such a call: it waits for the
//! next microtask. After `Host::wake` it calls `Engine::turn`; after `Host::timer` and the delay named there,
//! `Engine::timer_fired`; to each `Host::connect` it answers with `Engine::connected` or `Engine::disconnected`.
//!
//! Nothing that comes from a broker makes the engine panic. If it has a fault all the same, the hook given to
//! `on_panic` hears of it, and JavaScript fails every client of this instance with an error and makes a new instance.
//!
//! On a computer that is no browser the crate holds only what can be tested there.

#[cfg(any(test, target_arch = "wasm32"))]
mod block;

#[cfg(target_arch = "wasm32")]
mod answers;
#[cfg(target_arch = "wasm32")]
mod clock;
#[cfg(target_arch = "wasm32")]
mod engine;
#[cfg(target_arch = "wasm32")]
mod fault;
#[cfg(target_arch = "wasm32")]
mod host;
#[cfg(target_arch = "wasm32")]
mod settings;

#[cfg(target_arch = "wasm32")]
pub use engine::Engine;
#[cfg(target_arch = "wasm32")]
pub use fault::on_panic;
