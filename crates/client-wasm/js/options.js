// Options as a page gives them: each has a name and a kind that are checked here, so that a slip is an error with the
// option's name and not a default that nobody wanted.

import { HighwaterError } from './errors.js';

const millis = { must: 'be milliseconds, zero or more', holds: (value) => Number.isFinite(value) && value >= 0 };
const bytes = { must: 'be a number of bytes below 2 GiB', holds: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31 };
const count = { must: 'be a whole number, zero or more', holds: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31 };
const text = { must: 'be a string', holds: (value) => typeof value === 'string' };
// The length of a string in a request has two bytes.
const short = {
  must: 'be a string of at most 32,767 bytes',
  holds: (value) => text.holds(value) && value.length < 2 ** 15 && new TextEncoder().encode(value).length < 2 ** 15,
};
const flag = { must: 'be true or false', holds: (value) => typeof value === 'boolean' };
const signal = { must: 'be an AbortSignal', holds: (value) => typeof value?.addEventListener === 'function' };
const any = { must: 'be something', holds: () => true };
const oneOf = (...words) => ({
  must: `be one of ${words.map((word) => `'${word}'`).join(', ')}`,
  holds: (value) => words.includes(value),
});
const partitions = {
  must: 'be an array of partition numbers',
  holds: (value) => Array.isArray(value) && value.length > 0 && value.every((number) => count.holds(number)),
};

export const SIGNAL = { signal };

export const CLIENT = {
  clientId: short,
  transport: oneOf('auto', 'webtransport', 'websocket'),
  connectTimeoutMs: millis,
  requestTimeoutMs: millis,
  callTimeoutMs: millis,
  webtransportRetryMs: millis,
  signal,
};

export const PRODUCER = {
  acks: oneOf('all', 'leader', 'none'),
  idempotent: flag,
  compression: oneOf('none', 'gzip', 'snappy', 'lz4'),
  lingerMs: millis,
  batchBytesMax: bytes,
  bufferBytesMax: bytes,
  deliveryTimeoutMs: millis,
  inFlightMax: count,
  autoCreateTopics: flag,
};

export const CONSUMER = {
  topics: any,
  partitions,
  start: any,
  group: text,
  sessionTimeoutMs: millis,
  autoCommitMs: millis,
  autoMark: flag,
  onLostPosition: oneOf('earliest', 'latest', 'fail'),
  untilEnd: flag,
  prefetchBytesMax: bytes,
  fetchBytesMax: bytes,
  partitionBytesMax: bytes,
  fetchBytesMin: bytes,
  fetchWaitMs: millis,
  checkCrc: flag,
  decompressedBytesMax: bytes,
  signal,
};

export const NEW_TOPIC = {
  name: text,
  partitions: count,
  replication: count,
  configs: { must: 'be an object of strings', holds: (value) => typeof value === 'object' && value !== null },
};

export const invalid = (option, must) => new HighwaterError('INVALID_OPTION', `${option} must ${must}`);

// The options that were given, if each of them is known and of its kind.
export function checked(given, known) {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null) throw invalid('options', 'be an object');
  const options = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const kind = known[name];
    if (!kind) throw new HighwaterError('INVALID_OPTION', `there is no option ${name}; there are ${Object.keys(known).join(', ')}`);
    if (!kind.holds(value)) throw invalid(name, kind.must);
    options[name] = value;
  }
  return options;
}

export function topicName(topic) {
  if (typeof topic !== 'string') throw new HighwaterError('INVALID_TOPIC_NAME', 'a topic is named by a string');
  return topic;
}

export function topicNames(topics) {
  const names = typeof topics === 'string' ? [topics] : topics;
  if (!Array.isArray(names)) throw invalid('topics', 'be a name or an array of names');
  return names.map(topicName);
}

export function partitionNumber(partition) {
  if (!count.holds(partition)) throw invalid('partition', count.must);
  return partition;
}

// A place in a partition as the engine takes it: a kind and a number.
export function place(start = 'latest') {
  if (start === 'earliest' || start === 'latest') return [start, 0];
  if (typeof start === 'number') return ['offset', position('offset', start)];
  if (start instanceof Date) return ['timestamp', position('timestamp', start.getTime())];
  if (start?.offset !== undefined) return ['offset', position('offset', start.offset)];
  if (start?.timestamp !== undefined) return ['timestamp', position('timestamp', Number(start.timestamp))];
  throw invalid('start', "be 'earliest', 'latest', an offset, a Date, { offset } or { timestamp }");
}

function position(name, number) {
  if (!Number.isSafeInteger(number) || number < 0) throw invalid(name, 'be a whole number from 0 to 2^53 - 1');
  return number;
}
