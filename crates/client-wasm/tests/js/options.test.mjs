// Options, places and payloads: what is wrong is told with its name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortable, exact } from '../../js/errors.js';
import { CLIENT, CONSUMER, PRODUCER, checked, place, topicNames } from '../../js/options.js';
import { bytesOf, headersOf, timestampOf } from '../../js/records.js';

const refused = (code, text) => (error) => error.code === code && text.test(error.message);

test('an unknown option is refused with the known ones', () => {
  assert.throws(() => checked({ linger: 5 }, PRODUCER), refused('INVALID_OPTION', /no option linger; .*lingerMs/));
  assert.throws(() => checked(7, PRODUCER), refused('INVALID_OPTION', /must be an object/));
});

test('an option of the wrong kind is refused with what it must be', () => {
  assert.throws(() => checked({ lingerMs: -1 }, PRODUCER), refused('INVALID_OPTION', /lingerMs must be milliseconds/));
  assert.throws(() => checked({ compression: 'zstd' }, PRODUCER), refused('INVALID_OPTION', /'gzip', 'snappy', 'lz4'/));
  assert.throws(() => checked({ partitions: [-1] }, CONSUMER), refused('INVALID_OPTION', /partitions/));
  assert.throws(() => checked({ transport: 'tcp' }, CLIENT), refused('INVALID_OPTION', /transport/));
  for (const clientId of [7, 'x'.repeat(32768), 'ä'.repeat(16384)]) {
    assert.throws(() => checked({ clientId }, CLIENT), refused('INVALID_OPTION', /clientId must be a string of at most 32,767 bytes/));
  }
  assert.deepEqual(checked({ clientId: 'x'.repeat(32767) }, CLIENT).clientId.length, 32767);
  assert.deepEqual(checked({ lingerMs: 5, acks: undefined }, PRODUCER), { lingerMs: 5 });
});

test('a place is a word, an offset or a time', () => {
  assert.deepEqual(place('earliest'), ['earliest', 0]);
  assert.deepEqual(place(), ['latest', 0]);
  assert.deepEqual(place(42), ['offset', 42]);
  assert.deepEqual(place({ offset: 2 ** 53 - 1 }), ['offset', 2 ** 53 - 1]);
  assert.deepEqual(place(new Date(7)), ['timestamp', 7]);
  assert.deepEqual(place({ timestamp: new Date(8) }), ['timestamp', 8]);
  for (const wrong of [2 ** 53, -1, 0.5, NaN, 'begin', {}, null]) assert.throws(() => place(wrong), /must/);
});

test('topics are names', () => {
  assert.deepEqual(topicNames('a'), ['a']);
  assert.throws(() => topicNames(['a', 7]), refused('INVALID_TOPIC_NAME', /string/));
  assert.throws(() => topicNames({}), refused('INVALID_OPTION', /array/));
});

test('payloads are text, bytes or null', () => {
  assert.deepEqual(bytesOf('ä', 'value'), new Uint8Array([0xc3, 0xa4]));
  assert.deepEqual(bytesOf(new Uint8Array([1, 2, 3]).subarray(1), 'value'), new Uint8Array([2, 3]));
  assert.deepEqual(bytesOf(new DataView(new Uint8Array([1, 2, 3]).buffer, 2), 'value'), new Uint8Array([3]));
  assert.equal(bytesOf(null, 'value'), undefined);
  assert.throws(() => bytesOf({ a: 1 }, 'value'), refused('INVALID_OPTION', /value must .*JSON.stringify/));
  assert.throws(() => bytesOf(7, 'key'), refused('INVALID_OPTION', /key/));
});

test('headers keep their order and may repeat', () => {
  const text = (list) => list.map((bytes) => bytes && new TextDecoder().decode(bytes));
  assert.deepEqual(text(headersOf({ b: '1', a: '2' })), ['b', '1', 'a', '2']);
  assert.deepEqual(text(headersOf([['a', '1'], ['a', null]])), ['a', '1', 'a', undefined]);
  assert.equal(headersOf({}), undefined);
});

test('timestamps are whole milliseconds', () => {
  assert.equal(timestampOf(new Date(5)), 5);
  assert.throws(() => timestampOf('today'), /timestamp/);
});

test('an offset that is not exact is an error with its partition', () => {
  assert.equal(exact(2 ** 53 - 1, 't', 0), 2 ** 53 - 1);
  assert.throws(() => exact(2 ** 53, 't', 3), (error) => error.code === 'OFFSET_TOO_LARGE' && error.partition === 3);
});

test('who aborts is told the reason at once, and leaves no listener', async () => {
  const controller = new AbortController();
  let undone = 0;
  const waiting = abortable(new Promise(() => {}), controller.signal, () => (undone += 1));
  controller.abort('why');
  await assert.rejects(waiting, (reason) => reason === 'why');
  assert.equal(undone, 1);
  const other = new AbortController();
  assert.equal(await abortable(Promise.resolve(3), other.signal, () => (undone += 1)), 3);
  other.abort();
  assert.equal(undone, 1);
});
