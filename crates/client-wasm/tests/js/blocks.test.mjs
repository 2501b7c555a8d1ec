// Blocks of records: the table's layout is that of `src/block.rs`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Block } from '../../js/records.js';

function blockOf(...records) {
  const table = [];
  const payload = [];
  const put = (text) => {
    const bytes = text === null ? undefined : new TextEncoder().encode(text);
    table.push(bytes ? bytes.length : -1);
    payload.push(...(bytes ?? []));
  };
  for (const { offset, key, value, headers = [] } of records) {
    table.push(offset, 1_000 + offset);
    put(key);
    put(value);
    table.push(headers.length);
    for (const [name, text] of headers) (put(name), put(text));
  }
  return new Block('t', 3, 5, Float64Array.from(table), Uint8Array.from(payload));
}

test('records come out as they went in', () => {
  const block = blockOf(
    { offset: 7, key: 'k', value: 'v', headers: [['a', 'x'], ['b', null], ['a', 'y']] },
    { offset: 9, key: null, value: null },
    { offset: 10, key: '', value: '{"a":1}' },
  );
  assert.equal(block.next, 7);
  const [first, second, third] = [block.take(), block.take(), block.take()];
  assert.ok(block.isEmpty);
  assert.deepEqual([first.topic, first.partition, first.offset, first.timestamp, first.leaderEpoch], ['t', 3, 7, 1_007, 5]);
  assert.deepEqual([first.keyText(), first.text(), first.header('a'), first.header('b'), first.header('c')], ['k', 'v', 'y', null, undefined]);
  assert.deepEqual(first.headers.map(([name]) => name), ['a', 'b', 'a']);
  assert.deepEqual([second.key, second.value, second.text(), second.json(), second.headers], [null, null, null, null, []]);
  assert.deepEqual([third.key.length, third.json()], [0, { a: 1 }]);
});

test('a value is a copy of its own', () => {
  const block = blockOf({ offset: 0, key: 'k', value: 'abc' });
  const record = block.take();
  assert.equal(record.value.buffer.byteLength, 3);
  record.value[0] = 0;
  assert.equal(record.text(), 'abc');
  assert.equal(record.value, record.value);
});

test('a value that is no JSON is an error with its place', () => {
  const record = blockOf({ offset: 4, key: null, value: '{' }).take();
  assert.throws(() => record.json(), (error) => error.code === 'NOT_JSON' && error.offset === 4 && error.partition === 3);
});
