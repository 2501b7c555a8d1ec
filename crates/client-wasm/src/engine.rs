//! The engine: owns the brain of one client and all that is driven by it. What happens is handed to the brain and
//! carried out at once; nothing in here waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::BufMut;
use client_core::error::{Damage, NetworkCause};
use client_core::{
    Action, Address, CallId, ClientBrain, ClientError, ConnectionId, ConsumerEvent, ConsumerHandle,
    Environment, ProducerHandle, Transport,
};
use js_sys::Uint8Array;
use kafka_wire::{FrameReader, Rope, Segment};
use log_core::{MonoTime, Now};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::answers;
use crate::clock;
use crate::host::Host;
use crate::settings::{self, Settings};

mod admin;
mod consumers;
mod producers;

use consumers::ConsumerEnd;
use producers::ProducerEnd;

/// Bytes taken from JavaScript at once; more come in several pieces.
const PIECE_BYTES: usize = 64 << 10;

/// One client without its sockets. The methods are for `js/`; a page uses the classes there.
#[wasm_bindgen]
pub struct Engine {
    host: Host,
    brain: ClientBrain,
    environment: Environment,
    frame_bytes_max: usize,
    links: BTreeMap<ConnectionId, FrameReader>,
    producers: BTreeMap<ProducerHandle, ProducerEnd>,
    consumers: BTreeMap<ConsumerHandle, ConsumerEnd>,
    /// When time has to be looked at, and for when JavaScript was asked for it: the same moment, or an earlier one.
    due: Option<MonoTime>,
    armed: Option<MonoTime>,
    closing: Option<Closing>,
    piece: Vec<u8>,
}

/// The client is being closed.
struct Closing {
    call: CallId,
    consumers_told: bool,
    is_over: bool,
}

#[wasm_bindgen]
impl Engine {
    /// An engine for the cluster of which `hosts` and `ports` are some doors. Nothing happens before it is asked for
    /// something.
    #[wasm_bindgen(constructor)]
    pub fn new(
        host: Host,
        settings: &Settings,
        over_websocket: bool,
        hosts: Vec<String>,
        ports: Vec<u16>,
        seed: f64,
    ) -> Self {
        let options = settings::client_options(settings);
        let transport = if over_websocket { Transport::WebSocket } else { Transport::WebTransport };
        let doors = hosts.into_iter().zip(ports);
        let bootstrap = doors.map(|(host, port)| Address { transport, host: host.into(), port }).collect();
        let environment =
            Environment { seed: seed.to_bits(), codecs: compression::CODECS, crc: crc32c::crc32c_append };
        Self {
            host,
            environment,
            frame_bytes_max: options.frame_bytes_max,
            brain: ClientBrain::new(options, bootstrap, environment),
            links: BTreeMap::new(),
            producers: BTreeMap::new(),
            consumers: BTreeMap::new(),
            due: None,
            armed: None,
            closing: None,
            piece: Vec::new(),
        }
    }

    /// Answers the call when a broker has been reached.
    pub fn bootstrap(&mut self, call: f64) {
        let now = clock::now();
        self.brain.bootstrap(now, call_id(call));
        self.run(now);
    }

    /// Does what was put off by `Host::wake`.
    pub fn turn(&mut self) {
        self.run(clock::now());
    }

    /// The delay that `Host::timer` named is over.
    pub fn timer_fired(&mut self) {
        self.armed = None;
        self.run(clock::now());
    }

    /// A connection is there.
    pub fn connected(&mut self, connection: f64) {
        let now = clock::now();
        self.brain.handle_connected(now, connection_id(connection));
        self.run(now);
    }

    /// A connection could not be made, or broke; `reason` says why, if it is known.
    pub fn disconnected(&mut self, connection: f64, was_open: bool, reason: Option<String>) {
        let now = clock::now();
        let connection = connection_id(connection);
        self.links.remove(&connection);
        let cause = reason.map_or(NetworkCause::Closed, |text| NetworkCause::System(text.into()));
        if was_open {
            self.brain.handle_closed(now, connection, cause);
        } else {
            self.brain.handle_connection_failed(now, connection, cause);
        }
        self.run(now);
    }

    /// Bytes have come over a connection. True if it goes on.
    pub fn received(&mut self, connection: f64, bytes: &Uint8Array) -> bool {
        let now = clock::now();
        let connection = connection_id(connection);
        let mut from = 0;
        while from < bytes.length() {
            let to = bytes.length().min(from.saturating_add(PIECE_BYTES as u32));
            let piece = bytes.subarray(from, to);
            self.piece.resize(piece.length() as usize, 0);
            piece.copy_to(&mut self.piece);
            self.take_piece(now, connection);
            from = to;
        }
        self.run(now);
        self.links.contains_key(&connection)
    }

    /// Delivers what producers hold, lets consumers leave their groups, and then answers the call, with the first
    /// failure of a record if there was one.
    pub fn close(&mut self, call: f64) {
        let now = clock::now();
        if self.closing.is_none() {
            self.closing = Some(Closing { call: call_id(call), consumers_told: false, is_over: false });
            self.producers.values_mut().for_each(ProducerEnd::close);
        }
        self.run(now);
    }

    /// What the client has counted so far.
    pub fn metrics(&self) -> JsValue {
        let mut metrics = self.brain.metrics();
        for end in self.producers.values() {
            metrics.producer_buffer_bytes += end.accumulator.used_bytes() as u64;
        }
        answers::metrics(&metrics)
    }
}

impl Engine {
    /// Hands the frames in the piece to the brain.
    fn take_piece(&mut self, now: Now, connection: ConnectionId) {
        let mut rest = self.piece.as_slice();
        while !rest.is_empty() {
            let Some(frames) = self.links.get_mut(&connection) else { return };
            let mut spare = frames.spare();
            let (taken, left) = rest.split_at(spare.remaining_mut().min(rest.len()));
            spare.put_slice(taken);
            rest = left;
            loop {
                match frames.next_frame() {
                    Ok(None) => break,
                    Ok(Some(frame)) => self.brain.handle_frame(now, connection, frame),
                    Err(error) => {
                        let cause = NetworkCause::Protocol(Damage::of_frame(error));
                        self.links.remove(&connection);
                        self.host.close(connection.0 as f64);
                        return self.brain.handle_closed(now, connection, cause);
                    }
                }
            }
        }
    }

    /// Gives everything its turn until there is nothing more to do at this moment.
    fn run(&mut self, now: Now) {
        if self.due.is_some_and(|due| due <= now.mono) {
            self.brain.handle_timeout(now);
            self.producers.values_mut().for_each(|end| end.pull = true);
        }
        loop {
            let mut progress = self.act();
            progress |= self.pull(now);
            progress |= self.release_producers(now);
            progress |= self.close_consumers(now);
            if !progress {
                break;
            }
        }
        self.answer_flushes();
        self.finish();
        self.arm(now);
    }

    /// Carries out what the brain has decided.
    fn act(&mut self) -> bool {
        let mut progress = false;
        while let Some(action) = self.brain.poll_action() {
            progress = true;
            match action {
                Action::Connect { connection, address } => {
                    self.links.insert(connection, FrameReader::new(self.frame_bytes_max));
                    self.host.connect(connection.0 as f64, &address.host, address.port);
                }
                Action::Send { connection, frame } => {
                    self.host.send(connection.0 as f64, contiguous(frame));
                }
                Action::Close { connection } => {
                    self.links.remove(&connection);
                    self.host.close(connection.0 as f64);
                }
                Action::Delivered { producer, delivery } => self.delivered(producer, delivery),
                Action::Pull { producer } => {
                    if let Some(end) = self.producers.get_mut(&producer) {
                        end.pull = true;
                    }
                }
                Action::ProducerChanged { producer } => self.host.producer_changed(producer.0),
                Action::Consumer { consumer, event } => self.consumer_event(consumer, event),
                Action::Answered { call, result } => {
                    let (error, value) = match result.and_then(|answer| self.converted(answer)) {
                        Ok(value) => (JsValue::UNDEFINED, value),
                        Err(error) => (self.host.error_of(&error), JsValue::UNDEFINED),
                    };
                    self.host.answered(call.0 as f64, error, value);
                }
            }
        }
        progress
    }

    fn consumer_event(&mut self, consumer: ConsumerHandle, event: ConsumerEvent) {
        let Some(end) = self.consumers.get_mut(&consumer) else { return };
        let is_reassigned = matches!(event, ConsumerEvent::Assigned(_));
        end.buffer.handle_event(event);
        self.host.consumer_changed(consumer.0, is_reassigned);
    }

    /// On the way out, consumers leave their groups when producers have delivered what they held.
    fn close_consumers(&mut self, now: Now) -> bool {
        let delivered = self.producers.values().all(ProducerEnd::is_idle);
        match &mut self.closing {
            Some(closing) if delivered && !closing.consumers_told => closing.consumers_told = true,
            _ => return false,
        }
        for handle in std::mem::take(&mut self.consumers).into_keys() {
            self.brain.close_consumer(now, handle, None);
        }
        true
    }

    fn finish(&mut self) {
        let Some(closing) = &mut self.closing else { return };
        if closing.is_over || !closing.consumers_told || self.brain.is_leaving() {
            return;
        }
        closing.is_over = true;
        let failure = self.producers.values_mut().find_map(|end| end.first_failure.take());
        let error = failure.map_or(JsValue::UNDEFINED, |error| self.host.error_of(&error));
        self.host.answered(closing.call.0 as f64, error, JsValue::UNDEFINED);
        self.host.finished();
    }

    /// Asks to be called when time has to be looked at, if it was not asked for an earlier moment already.
    fn arm(&mut self, now: Now) {
        let lingering = self.producers.values().filter_map(|end| end.accumulator.poll_timeout(now.mono));
        self.due = lingering.chain(self.brain.poll_timeout()).min();
        let is_over = self.closing.as_ref().is_some_and(|closing| closing.is_over);
        let Some(due) = self.due.filter(|_| !is_over) else { return };
        if self.armed.is_none_or(|armed| due < armed) {
            self.armed = Some(due);
            self.host.timer(clock::millis_until(now, due));
        }
    }

    fn error(&self, error: &ClientError) -> JsValue {
        self.host.error_of(error)
    }
}

fn call_id(call: f64) -> CallId {
    CallId(call as u64)
}

fn connection_id(connection: f64) -> ConnectionId {
    ConnectionId(connection as u64)
}

/// A frame in JavaScript's memory: what a carrier holds must not move when the engine's memory grows.
fn contiguous(frame: Rope) -> Uint8Array {
    let array = Uint8Array::new_with_length(u32::try_from(frame.len()).unwrap_or(u32::MAX));
    let mut at = 0;
    for segment in frame.into_segments() {
        let Segment::Bytes(bytes) = segment;
        let next = at + u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        array.subarray(at, next).copy_from(&bytes);
        at = next;
    }
    array
}

/// One topic's name, shared.
type Topic = Arc<str>;
