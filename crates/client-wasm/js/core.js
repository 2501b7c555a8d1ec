// The inside of one client: the engine, its host, and what both need of the browser. The engine is never called from inside
// one of its own calls: whatever it leads to waits for the next microtask.

import { HighwaterError, abortable, closed } from './errors.js';
import { forget, makeEngine, trapped } from './engine.js';
import { Block } from './records.js';

// A connection of the engine, from `connect` to its end.
class Link {
  carrier;
  isOver = false;
  attempt = new AbortController();
  askedAt;

  close() {
    this.isOver = true;
    this.attempt.abort();
    this.carrier?.close();
  }
}

export class Core {
  #engine;
  #doors;
  #links = new Map();
  #calls = new Map();
  #nextCall = 0;
  #nextHandle = 0;
  #timer;
  #isAwake = false;
  #fault;
  #state;
  #onState;
  #hasFailed = false;
  producers = new Map();
  consumers = new Map();

  constructor(options, doors, addresses, onState) {
    this.#doors = doors;
    this.#onState = onState;
    this.#state = { transport: 'offline', rtt: undefined, reason: undefined };
    doors.onChange((reason) => this.#stateChanged(reason));
    const hosts = addresses.map(({ host }) => host);
    const ports = Uint16Array.from(addresses, ({ port }) => port);
    const seed = crypto.getRandomValues(new Uint32Array(1))[0] + 2 ** -32 * crypto.getRandomValues(new Uint32Array(1))[0];
    this.#engine = makeEngine(this, options, doors.mode === 'websocket', hosts, ports, seed);
  }

  get state() {
    return { ...this.#state };
  }

  get isClosed() {
    return this.#fault !== undefined;
  }

  handle() {
    return this.#nextHandle++;
  }

  // Calls the engine.
  use(call) {
    if (this.#fault) throw this.#fault;
    try {
      return call(this.#engine);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) trapped(error);
      throw this.#fault ?? error;
    }
  }

  // Calls the engine with news; there is nobody to tell that it cannot hear them any more.
  tell(call) {
    if (this.#fault) return;
    try {
      this.use(call);
    } catch (error) {
      if (!this.#fault) throw error;
    }
  }

  // Calls the engine for an answer. Whoever aborts does not wait for it any more.
  ask(call, signal, onAbort) {
    const id = this.#nextCall++;
    const answer = new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      try {
        this.use((engine) => call(engine, id));
      } catch (error) {
        this.#calls.delete(id);
        reject(error);
      }
    });
    return abortable(answer, signal, onAbort);
  }

  // The engine has had a fault: the client is of no use any more.
  poison(fault) {
    this.#fault ??= fault;
    queueMicrotask(() => this.#end(fault));
  }

  // The end of everything that somebody waits for.
  end() {
    if (this.#fault) return;
    const engine = this.#engine;
    this.#fault = closed();
    forget(this);
    this.#end(this.#fault);
    engine.free();
  }

  #end(error) {
    this.#engine = undefined;
    clearTimeout(this.#timer);
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    this.#doors.close();
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
    for (const part of [...this.producers.values(), ...this.consumers.values()]) part.fail(error);
    this.#setState({ transport: 'offline', rtt: undefined, reason: error.message });
  }

  // ---- What the engine calls; see `src/host.rs`. -------------------------------------------------------------------

  connect(connection, host, port) {
    const link = new Link();
    this.#links.set(connection, link);
    this.#doors.open(host, port, link.attempt.signal).then(
      (carrier) => this.#opened(connection, link, carrier),
      (error) => this.#lost(connection, link, error.message),
    );
  }

  send(connection, frame) {
    const link = this.#links.get(connection);
    if (!link?.carrier) return;
    link.askedAt ??= performance.now();
    link.carrier.send(frame);
  }

  close(connection) {
    this.#links.get(connection)?.close();
    this.#links.delete(connection);
  }

  delivered(producer, ...delivery) {
    this.producers.get(producer)?.delivered(...delivery);
  }

  producerChanged(producer) {
    const changed = this.producers.get(producer);
    if (changed) queueMicrotask(() => changed.changed());
  }

  consumerChanged(consumer, isReassigned) {
    const changed = this.consumers.get(consumer);
    if (changed) queueMicrotask(() => changed.changed(isReassigned));
  }

  answered(id, error, value) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(error);
  }

  wake() {
    if (this.#isAwake) return;
    this.#isAwake = true;
    queueMicrotask(() => {
      this.#isAwake = false;
      this.tell((engine) => engine.turn());
    });
  }

  timer(delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.tell((engine) => engine.timer_fired()), Math.min(delay, 2 ** 31 - 1));
  }

  finished() {}

  error(code, message, retriable, topic, partition, offset, resumeAt) {
    return new HighwaterError(code, message, { retriable, topic, partition, offset, resumeAt });
  }

  block(topic, partition, leaderEpoch, table, payload) {
    return new Block(topic, partition, leaderEpoch, table, payload);
  }

  // ---- Connections -------------------------------------------------------------------------------------------------

  #opened(connection, link, carrier) {
    if (link.isOver) return carrier.close();
    link.carrier = carrier;
    this.#hasFailed = false;
    this.#stateChanged();
    carrier.start(
      (bytes) => this.#received(connection, link, bytes),
      (reason) => {
        this.#doors.lost();
        this.#lost(connection, link, reason);
      },
    );
    this.tell((engine) => engine.connected(connection));
  }

  #received(connection, link, bytes) {
    if (link.isOver) return;
    if (link.askedAt !== undefined && link.rtt === undefined) {
      link.rtt = performance.now() - link.askedAt;
      this.#setState({ ...this.#state, rtt: link.rtt });
    }
    this.tell((engine) => engine.received(connection, bytes));
  }

  #lost(connection, link, reason) {
    if (link.isOver) return;
    const wasOpen = link.carrier !== undefined;
    link.isOver = true;
    this.#links.delete(connection);
    // A broker may end a connection that is not used; one that cannot be made is trouble.
    this.#hasFailed ||= !wasOpen || reason !== undefined;
    this.#stateChanged(reason);
    this.tell((engine) => engine.disconnected(connection, wasOpen, reason));
  }

  #stateChanged(reason) {
    const isUp = [...this.#links.values()].some(({ carrier }) => carrier && !carrier.isOver);
    if (isUp) this.#setState({ ...this.#state, transport: this.#doors.mode, reason: undefined });
    else if (this.#hasFailed) this.#setState({ transport: 'offline', rtt: undefined, reason });
  }

  #setState(state) {
    const { transport, rtt } = this.#state;
    this.#state = state;
    if (state.transport !== transport || (state.rtt !== undefined && rtt === undefined)) this.#onState(this.state);
  }
}
