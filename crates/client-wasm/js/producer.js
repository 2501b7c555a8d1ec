// Producers. A record that the engine takes waits there for its batch; one that it does not take yet waits here, behind
// those of its topic that came before it.

import { HighwaterError, abortable, closed, exact } from './errors.js';
import * as known from './options.js';
import { bytesOf, headersOf, timestampOf } from './records.js';

const DELIVERY_TIMEOUT_MS = 120_000;

// Records that wait, first in first out.
class Queue {
  #items = [];
  #head = 0;

  get length() {
    return this.#items.length - this.#head;
  }

  first() {
    return this.#items[this.#head];
  }

  push(item) {
    this.#items.push(item);
  }

  shift() {
    this.#items[this.#head++] = undefined;
    if (this.#head < 1024 || this.#head * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  *[Symbol.iterator]() {
    for (let index = this.#head; index < this.#items.length; index += 1) yield this.#items[index];
  }
}

export class Producer {
  #core;
  #handle;
  #deliveryTimeoutMs;
  #topics = new Map();
  #batches = new Map();
  #waiting = new Map();
  #timer;
  #end;
  #closing;

  constructor(core, options) {
    this.#core = core;
    this.#handle = core.handle();
    this.#deliveryTimeoutMs = options.deliveryTimeoutMs ?? DELIVERY_TIMEOUT_MS;
    core.use((engine) => engine.open_producer(this.#handle, options));
    core.producers.set(this.#handle, {
      delivered: (...delivery) => this.#delivered(...delivery),
      changed: () => this.#offerWaiting(),
      fail: (error) => this.#fail(error),
    });
  }

  // Resolves when the record is acknowledged.
  send(record, options) {
    const { signal } = known.checked(options, known.SIGNAL);
    return this.#put(record, signal, (entry) => entry.outcome);
  }

  // Resolves when the record is accepted; then `ack` is the promise of its acknowledgement.
  enqueue(record, options) {
    const { signal } = known.checked(options, known.SIGNAL);
    return this.#put(record, signal, (entry) => {
      entry.outcome.catch(() => {});
      return entry.acceptance.then(() => ({ partition: entry.partition, ack: entry.outcome }));
    });
  }

  // Resolves when every record that was given before is acknowledged or has failed; rejects with the first failure since
  // the last flush.
  async flush(options) {
    const { signal } = known.checked(options, known.SIGNAL);
    signal?.throwIfAborted();
    const waiting = [...this.#waiting.values()].flatMap((queue) => [...queue]).filter(({ isGone }) => !isGone);
    const accepted = Promise.allSettled(waiting.map(({ acceptance }) => acceptance));
    if (waiting.length > 0) await abortable(accepted, signal);
    return this.#core.ask((engine, call) => engine.flush(this.#handle, call), signal);
  }

  // Flushes; takes no records from then on.
  close(options) {
    return (this.#closing ??= this.#close(options));
  }

  async #close(options) {
    if (this.#end) return;
    this.#end = closed();
    try {
      await this.flush(options);
    } finally {
      this.#fail(this.#end);
      this.#core.producers.delete(this.#handle);
      this.#core.tell((engine) => engine.close_producer(this.#handle));
    }
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  // Bytes of records that are accepted and not yet acknowledged.
  get bufferedBytes() {
    return this.#core.isClosed ? 0 : this.#core.use((engine) => engine.buffered_bytes(this.#handle));
  }

  #put(record, signal, result) {
    try {
      signal?.throwIfAborted();
      if (this.#end) throw this.#end;
      const entry = entryOf(record);
      this.#offer(entry);
      const promise = result(entry);
      return abortable(promise, signal, () => this.#takeBack(entry, signal.reason));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #offer(entry) {
    let queue = this.#waiting.get(entry.topic);
    if (!queue && this.#append(entry)) return;
    if (!queue) this.#waiting.set(entry.topic, (queue = new Queue()));
    entry.deadline = performance.now() + this.#deliveryTimeoutMs;
    queue.push(entry);
    this.#armTimer();
  }

  // Whether the entry needs not wait any more.
  #append(entry) {
    let batch;
    try {
      batch = this.#core.use((engine) =>
        engine.append(this.#handle, this.#topic(engine, entry.topic), entry.chosen, entry.key, entry.value, entry.headers, entry.timestamp),
      );
    } catch (error) {
      entry.reject(error);
      return true;
    }
    if (batch < 0) return false;
    let entries = this.#batches.get(batch);
    if (!entries) {
      entries = { partition: this.#core.use((engine) => engine.batch_partition(this.#handle, batch)), list: [], done: 0 };
      this.#batches.set(batch, entries);
    }
    entries.list.push(entry);
    entry.accept(entries.partition);
    return true;
  }

  #topic(engine, name) {
    let number = this.#topics.get(name);
    if (number === undefined) this.#topics.set(name, (number = engine.topic_number(this.#handle, name)));
    return number;
  }

  #offerWaiting() {
    for (const [topic, queue] of this.#waiting) {
      while (queue.length > 0 && (queue.first().isGone || this.#append(queue.first()))) queue.shift();
      if (queue.length === 0) this.#waiting.delete(topic);
    }
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #delivered(batch, first, count, baseOffset, appendTime, error) {
    const entries = this.#batches.get(batch);
    if (!entries) return;
    for (let index = first; index < first + count; index += 1) {
      const entry = entries.list[index];
      entries.list[index] = undefined;
      if (!entry) continue;
      if (error !== undefined) entry.reject(error);
      else entry.acknowledge(baseOffset < 0 ? -1 : baseOffset + (index - first), appendTime);
    }
    entries.done += count;
    if (entries.done >= entries.list.length) this.#batches.delete(batch);
  }

  // A record that was not accepted is not sent; one that was is delivered all the same.
  #takeBack(entry, reason) {
    if (entry.isAccepted) return;
    entry.reject(reason);
    this.#offerWaiting();
  }

  // Records that wait for room or for their topic wait for no longer than a delivery may take.
  #armTimer() {
    if (this.#timer !== undefined) return;
    const first = Math.min(...[...this.#waiting.values()].map((queue) => queue.first()?.deadline ?? Infinity));
    if (!Number.isFinite(first)) return;
    this.#timer = setTimeout(() => this.#expire(), Math.min(Math.max(first - performance.now(), 1), 2 ** 31 - 1));
  }

  #expire() {
    this.#timer = undefined;
    const now = performance.now();
    for (const queue of this.#waiting.values()) {
      for (const entry of queue) {
        if (entry.deadline > now) break;
        const message = `room or metadata did not come within ${this.#deliveryTimeoutMs} ms (topic ${entry.topic})`;
        entry.reject(new HighwaterError('TIMED_OUT', message, { retriable: true, topic: entry.topic }));
      }
    }
    this.#offerWaiting();
    this.#armTimer();
  }

  #fail(error) {
    this.#end ??= error;
    clearTimeout(this.#timer);
    const lost = error.code === 'CLOSED'
      ? new HighwaterError('UNKNOWN_OUTCOME', 'the client was closed before the record was acknowledged', { cause: error })
      : error;
    for (const queue of this.#waiting.values()) for (const entry of queue) entry.reject(error);
    for (const { list } of this.#batches.values()) for (const entry of list) entry?.reject(lost);
    this.#waiting.clear();
    this.#batches.clear();
  }
}

// A record on its way, checked.
function entryOf(record) {
  if (typeof record !== 'object' || record === null) throw known.invalid('a record', 'be an object with a topic and a value');
  return new Entry(record);
}

class Entry {
  #resolve;
  #reject;
  #onAccepted;
  #onRefused;
  #acceptance;
  partition;
  isAccepted = false;
  isGone = false;

  constructor({ topic, partition, key, value, headers, timestamp }) {
    this.topic = known.topicName(topic);
    this.chosen = partition === undefined ? undefined : known.partitionNumber(partition);
    this.key = bytesOf(key, 'key');
    this.value = bytesOf(value, 'value');
    this.headers = headersOf(headers);
    this.timestamp = timestampOf(timestamp);
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  // Made only for those who look at it.
  get acceptance() {
    if (this.#acceptance) return this.#acceptance;
    if (this.isAccepted) return (this.#acceptance = Promise.resolve());
    if (this.isGone) return (this.#acceptance = this.outcome.then(() => {}));
    return (this.#acceptance = new Promise((resolve, reject) => {
      this.#onAccepted = resolve;
      this.#onRefused = reject;
    }));
  }

  accept(partition) {
    this.partition = partition;
    this.isAccepted = true;
    this.key = this.value = this.headers = undefined;
    this.#onAccepted?.();
  }

  acknowledge(offset, appendTime) {
    this.isGone = true;
    try {
      this.#resolve({ partition: this.partition, offset: exact(offset, this.topic, this.partition), timestamp: appendTime ?? this.timestamp });
    } catch (error) {
      this.#reject(error);
    }
  }

  reject(error) {
    if (this.isGone) return;
    this.isGone = true;
    this.#onRefused?.(error);
    this.#reject(error);
  }
}
