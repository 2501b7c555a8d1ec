// Consumers. The engine gives one block of records at a time, and fetches more only while blocks are taken: a page that
// does not read stops its fetches.

import { abortable, closed } from './errors.js';
import * as known from './options.js';

// For so long marks stay here, where they cost nothing; the engine commits every few seconds.
const MARKS_KEPT_MS = 500;

const keyOf = (topic, partition) => `${topic}/${partition}`;

export class Consumer {
  #core;
  #handle;
  #hasGroup;
  #autoMark;
  // Blocks that are being read, the first one first; those of paused partitions are set aside.
  #blocks = [];
  #paused = new Map();
  #marks = new Map();
  #markedAt = 0;
  #readers = [];
  #last;
  #end;

  // A consumer whose partitions have their positions.
  static async open(core, given) {
    const options = known.checked(given, known.CONSUMER);
    if (options.topics === undefined) throw known.invalid('topics', 'be a name or an array of names');
    const { signal, topics, partitions, start, untilEnd, ...settings } = options;
    if (untilEnd && settings.group !== undefined) throw known.invalid('untilEnd', 'be used without a group');
    const names = known.topicNames(topics);
    const chosen = partitions && Uint32Array.from(partitions);
    const place = known.place(start);
    signal?.throwIfAborted();
    const consumer = new Consumer(core, settings);
    try {
      await core.ask((engine, call) => engine.open_consumer(consumer.#handle, call, settings, names, chosen, ...place), signal);
      if (untilEnd) await consumer.#stopAtEnd(signal);
    } catch (error) {
      consumer.#leave().catch(() => {});
      throw error;
    }
    return consumer;
  }

  constructor(core, settings) {
    this.#core = core;
    this.#handle = core.handle();
    this.#hasGroup = settings.group !== undefined;
    this.#autoMark = this.#hasGroup && (settings.autoMark ?? true);
    core.consumers.set(this.#handle, {
      changed: (isReassigned) => this.#changed(isReassigned),
      fail: (error) => this.#fail(error),
    });
  }

  // The next record; undefined where `untilEnd` ends the reading.
  async read(options) {
    const { signal } = known.checked(options, known.SIGNAL);
    return this.#read(() => this.#next(), signal);
  }

  // All records that are here, one at least and `max` at most; undefined at the end.
  async readMany(max = 1_000, options) {
    const { signal } = known.checked(options, known.SIGNAL);
    return this.#read(() => this.#many(max), signal);
  }

  // Records as they come. Leaving the loop closes the consumer.
  records(options) {
    return this.#iterate(() => this.read(options));
  }

  // The same in arrays of what is here: for those who handle many records.
  batches(max, options) {
    return this.#iterate(() => this.readMany(max, options));
  }

  [Symbol.asyncIterator]() {
    return this.records();
  }

  // This record and all before it in its partition are dealt with.
  mark(record) {
    const { topic, partition, offset, leaderEpoch } = record;
    const key = keyOf(topic, partition);
    const marked = this.#marks.get(key);
    if (!marked || marked.offset <= offset) this.#marks.set(key, { topic, partition, offset, leaderEpoch });
  }

  async commit(options) {
    const { signal } = known.checked(options, known.SIGNAL);
    this.#passOnMarks();
    return this.#core.ask((engine, call) => engine.commit(this.#handle, call), signal);
  }

  // Goes on reading a partition somewhere else.
  seek(topic, partition, start) {
    const place = known.place(start);
    known.partitionNumber(partition);
    this.#core.use((engine) => engine.seek(this.#handle, known.topicName(topic), partition, ...place));
    this.#blocks = this.#blocks.filter((block) => block.topic !== topic || block.partition !== partition);
    if (this.#paused.has(keyOf(topic, partition))) this.#paused.set(keyOf(topic, partition), []);
    if (this.#last?.topic === topic && this.#last.partition === partition) this.#last = undefined;
  }

  pause(topic, partition) {
    this.#core.use((engine) => engine.set_paused(this.#handle, topic, known.partitionNumber(partition), true));
    const isIts = (block) => block.topic === topic && block.partition === partition;
    const held = this.#paused.get(keyOf(topic, partition)) ?? [];
    this.#paused.set(keyOf(topic, partition), [...held, ...this.#blocks.filter(isIts)]);
    this.#blocks = this.#blocks.filter((block) => !isIts(block));
  }

  resume(topic, partition) {
    this.#core.use((engine) => engine.set_paused(this.#handle, topic, known.partitionNumber(partition), false));
    this.#blocks.unshift(...(this.#paused.get(keyOf(topic, partition)) ?? []));
    this.#paused.delete(keyOf(topic, partition));
    this.#serve();
  }

  // The partitions that the consumer reads now.
  assignment() {
    return this.#core.use((engine) => engine.assignment(this.#handle));
  }

  // The offset of the next record of a partition; undefined while it is not known.
  position(topic, partition) {
    const blocks = [...(this.#paused.get(keyOf(topic, partition)) ?? []), ...this.#blocks];
    const block = blocks.find((block) => block.topic === topic && block.partition === partition && !block.isEmpty);
    return block ? block.next : this.#core.use((engine) => engine.position(this.#handle, topic, partition));
  }

  // Where each of its partitions ends now.
  async endOffsets(options) {
    const { signal } = known.checked(options, known.SIGNAL);
    const assigned = this.assignment();
    const topics = assigned.map(({ topic }) => topic);
    const partitions = Uint32Array.from(assigned, ({ partition }) => partition);
    const offsets = await this.#core.ask((engine, call) => engine.list_offsets(call, topics, partitions, 'latest', 0), signal);
    return offsets.map(({ topic, partition, offset }) => ({ topic, partition, offset: offset ?? 0 }));
  }

  // How far the consumer is behind.
  async lag(options) {
    const ends = await this.endOffsets(options);
    return ends.flatMap(({ topic, partition, offset: end }) => {
      const position = this.position(topic, partition);
      return position === undefined ? [] : [{ topic, partition, position, end, records: Math.max(end - position, 0) }];
    });
  }

  // Commits what is marked and leaves the group.
  async close(options) {
    const { signal } = known.checked(options, known.SIGNAL);
    if (this.#end) return;
    this.#passOnMarks();
    await this.#leave(signal);
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  async #stopAtEnd(signal) {
    const ends = await this.endOffsets({ signal });
    const topics = ends.map(({ topic }) => topic);
    const partitions = Uint32Array.from(ends, ({ partition }) => partition);
    const offsets = Float64Array.from(ends, ({ offset }) => offset);
    this.#core.use((engine) => engine.set_ends(this.#handle, topics, partitions, offsets));
  }

  async #leave(signal) {
    this.#core.consumers.delete(this.#handle);
    this.#fail(closed());
    if (!this.#core.isClosed) await this.#core.ask((engine, call) => engine.close_consumer(this.#handle, call), signal);
  }

  #iterate(next) {
    const consumer = this;
    return {
      async next() {
        const value = await next();
        if (value !== undefined) return { done: false, value };
        await consumer.close();
        return { done: true, value };
      },
      async return(value) {
        await consumer.close();
        return { done: true, value };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  // Who asks for the next record has dealt with the one before.
  #read(take, signal) {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#autoMark && this.#last) this.mark(this.#last);
    this.#last = undefined;
    if (this.#marks.size > 0 && performance.now() - this.#markedAt > MARKS_KEPT_MS) this.#passOnMarks();
    const reader = { take };
    const promise = new Promise((resolve, reject) => Object.assign(reader, { resolve, reject }));
    this.#readers.push(reader);
    this.#serve();
    return abortable(promise, signal, () => (this.#readers = this.#readers.filter((other) => other !== reader)));
  }

  // Gives readers what is here, in the order in which they came.
  #serve() {
    while (this.#readers.length > 0) {
      const [{ take, resolve, reject }] = this.#readers;
      try {
        const taken = this.#end ? Promise.reject(this.#end) : take();
        if (taken === null) break;
        resolve(taken);
      } catch (error) {
        reject(error);
      }
      this.#readers.shift();
    }
  }

  // The next record; undefined at the end, null if there is none yet.
  #next() {
    for (;;) {
      const block = this.#blocks[0];
      if (block && !block.isEmpty) return (this.#last = block.take());
      this.#blocks.shift();
      if (this.#blocks.length > 0) continue;
      this.#passOnMarks();
      const next = this.#core.use((engine) => engine.take(this.#handle));
      if (next === undefined) return null;
      if (next === null) return undefined;
      this.#blocks.push(next);
    }
  }

  #many(max) {
    const first = this.#next();
    if (!first) return first;
    const records = [first];
    const block = this.#blocks[0];
    while (records.length < max && !block.isEmpty) records.push((this.#last = block.take()));
    return records;
  }

  #changed(isReassigned) {
    if (isReassigned && !this.#core.isClosed) {
      const assigned = new Set(this.assignment().map(({ topic, partition }) => keyOf(topic, partition)));
      this.#blocks = this.#blocks.filter(({ topic, partition }) => assigned.has(keyOf(topic, partition)));
      for (const key of this.#paused.keys()) if (!assigned.has(key)) this.#paused.delete(key);
    }
    this.#serve();
  }

  #passOnMarks() {
    this.#markedAt = performance.now();
    for (const { topic, partition, offset, leaderEpoch } of this.#marks.values()) {
      this.#core.tell((engine) => engine.mark(this.#handle, topic, partition, offset + 1, leaderEpoch));
    }
    this.#marks.clear();
  }

  #fail(error) {
    this.#end ??= error;
    this.#blocks = [];
    this.#serve();
  }
}
