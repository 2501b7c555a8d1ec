// Records on both ways: what a page gives as bytes for the engine, and blocks from the engine as records for the page.

import { HighwaterError, exact } from './errors.js';
import { invalid } from './options.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// Bytes of a key, a value or a header's value; undefined for null.
export function bytesOf(value, name) {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return encoder.encode(value);
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw invalid(name, 'be a string, a Uint8Array or null; JSON.stringify makes a string of an object');
}

// Names and values in turn, from an object or from pairs; undefined if there are none.
export function headersOf(headers) {
  if (headers === undefined || headers === null) return undefined;
  const pairs = typeof headers[Symbol.iterator] === 'function' ? [...headers] : Object.entries(headers);
  return pairs.length === 0 ? undefined : pairs.flatMap(([name, value]) => [encoder.encode(name), bytesOf(value, 'a header')]);
}

export function timestampOf(timestamp) {
  if (timestamp === undefined) return Date.now();
  const millis = timestamp instanceof Date ? timestamp.getTime() : timestamp;
  if (!Number.isSafeInteger(millis) || millis < 0) throw invalid('timestamp', 'be a Date or milliseconds since 1970');
  return millis;
}

// A record that was read. Its bytes lie in a block with those of others until they are asked for.
export class ConsumedRecord {
  #payload;
  #at;
  #keyBytes;
  #valueBytes;
  #headerLengths;
  #key;
  #value;
  #headers;

  constructor(block, offset, timestamp, at, keyBytes, valueBytes, headerLengths) {
    this.topic = block.topic;
    this.partition = block.partition;
    this.offset = offset;
    this.timestamp = timestamp;
    this.leaderEpoch = block.leaderEpoch;
    this.#payload = block.payload;
    this.#at = at;
    this.#keyBytes = keyBytes;
    this.#valueBytes = valueBytes;
    this.#headerLengths = headerLengths;
  }

  // A copy of its own: it may be sent to a worker or kept without keeping the block.
  get key() {
    if (this.#keyBytes < 0) return null;
    return (this.#key ??= this.#payload.slice(this.#at, this.#at + this.#keyBytes));
  }

  get value() {
    if (this.#valueBytes < 0) return null;
    return (this.#value ??= this.#payload.slice(this.#valueAt, this.#valueAt + this.#valueBytes));
  }

  // Pairs in the producer's order; names may repeat.
  get headers() {
    if (this.#headers) return this.#headers;
    let at = this.#valueAt + Math.max(this.#valueBytes, 0);
    const lengths = this.#headerLengths;
    const headers = [];
    for (let index = 0; index < lengths.length; index += 2) {
      const name = decoder.decode(this.#payload.subarray(at, at + lengths[index]));
      at += lengths[index];
      const bytes = lengths[index + 1];
      headers.push([name, bytes < 0 ? null : this.#payload.slice(at, at + bytes)]);
      at += Math.max(bytes, 0);
    }
    return (this.#headers = headers);
  }

  // The last header of this name as text.
  header(name) {
    const found = this.headers.findLast(([known]) => known === name);
    return found && (found[1] === null ? null : decoder.decode(found[1]));
  }

  keyText() {
    return this.#keyBytes < 0 ? null : decoder.decode(this.#payload.subarray(this.#at, this.#at + this.#keyBytes));
  }

  text() {
    return this.#valueBytes < 0
      ? null
      : decoder.decode(this.#payload.subarray(this.#valueAt, this.#valueAt + this.#valueBytes));
  }

  json() {
    if (this.#valueBytes < 0) return null;
    try {
      return JSON.parse(this.text());
    } catch (cause) {
      const { topic, partition, offset } = this;
      throw new HighwaterError('NOT_JSON', 'the value is no JSON', { topic, partition, offset, cause });
    }
  }

  get #valueAt() {
    return this.#at + Math.max(this.#keyBytes, 0);
  }
}

// Records of one partition, taken out one by one. The layout of the table stands in `src/block.rs`.
export class Block {
  #table;
  #row = 0;
  #at = 0;

  constructor(topic, partition, leaderEpoch, table, payload) {
    this.topic = topic;
    this.partition = partition;
    this.leaderEpoch = leaderEpoch;
    this.payload = payload;
    this.#table = table;
  }

  get isEmpty() {
    return this.#row >= this.#table.length;
  }

  // The offset of the record that comes next.
  get next() {
    return this.#table[this.#row];
  }

  take() {
    const table = this.#table;
    const row = this.#row;
    const headers = table[row + 4];
    const lengths = table.subarray(row + 5, row + 5 + 2 * headers);
    const offset = exact(table[row], this.topic, this.partition);
    const record = new ConsumedRecord(this, offset, table[row + 1], this.#at, table[row + 2], table[row + 3], lengths);
    this.#row += 5 + 2 * headers;
    this.#at += Math.max(table[row + 2], 0) + Math.max(table[row + 3], 0);
    for (const length of lengths) this.#at += Math.max(length, 0);
    return record;
  }
}
