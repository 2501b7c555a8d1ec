// The inside of a client, with an engine that only pretends: faults, the order of records that wait, and what is told.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import './engine.double.mjs';

const { Core } = await import('../../js/core.js');
const { Producer } = await import('../../js/producer.js');
const { Consumer } = await import('../../js/consumer.js');
const { load } = await import('../../js/engine.js');

const double = globalThis.engineDouble;
const tick = () => new Promise((resolve) => setImmediate(resolve));

let core;
let doors;
let states;

beforeEach(async () => {
  await load();
  states = [];
  doors = { mode: 'websocket', isClosed: false, carriers: [], onChange() {}, lost() {}, close: () => (doors.isClosed = true), open: async () => carrier() };
  double.append = () => 0;
  core = new Core({}, doors, [{ host: 'a', port: 1 }], (state) => states.push(state));
});

function carrier() {
  const made = { sent: [], isOver: false, start: (onBytes, onEnd) => Object.assign(made, { onBytes, onEnd }), send: (bytes) => made.sent.push(bytes), close: () => (made.isClosed = true) };
  doors.carriers.push(made);
  return made;
}

const engine = () => double.engines.at(-1);

test('a fault of the engine fails whatever is waited for, and what is asked later', async () => {
  const producer = new Producer(core, {});
  const consumer = new Consumer(core, {});
  const waiting = [core.ask(() => {}), producer.send({ topic: 't', value: 'v' }), consumer.read()];
  core.connect(1, 'a', 1);
  await tick();
  assert.throws(() => core.use((engine) => engine.fault('index out of bounds')), (error) => error.code === 'INTERNAL');
  for (const promise of waiting) {
    await assert.rejects(promise, (error) => error.code === 'INTERNAL' && /index out of bounds/.test(error.message));
  }
  await assert.rejects(producer.send({ topic: 't', value: 'v' }), (error) => error.code === 'INTERNAL');
  assert.ok(doors.isClosed && doors.carriers[0].isClosed);
  assert.equal(states.at(-1).transport, 'offline');
});

test('a fault fails every client of the instance, and the next one gets a new instance', async () => {
  const other = new Core({}, { ...doors }, [], () => {});
  const waiting = other.ask(() => {});
  const resets = double.resets;
  assert.throws(() => core.use((engine) => engine.fault('x')));
  await assert.rejects(waiting, (error) => error.code === 'INTERNAL');
  await load();
  assert.equal(double.resets, resets + 1);
  await load();
  assert.equal(double.resets, resets + 1);
});

test('a trap without a panic is a fault too', async () => {
  const trap = () => {
    throw new WebAssembly.RuntimeError('memory access out of bounds');
  };
  assert.throws(() => core.use(trap), (error) => error.code === 'INTERNAL');
  assert.ok(core.isClosed);
});

test('a closed client rejects what is waited for and frees its engine', async () => {
  const waiting = core.ask(() => {});
  core.end();
  await assert.rejects(waiting, (error) => error.code === 'CLOSED');
  assert.ok(engine().isFree && doors.isClosed);
});

test('a connection that the engine has given up is closed when it comes', async () => {
  core.connect(1, 'a', 1);
  core.close(1);
  await tick();
  assert.ok(doors.carriers[0].isClosed);
  assert.ok(!engine().asked.some(([name]) => name === 'connected'));
});

test('the end of a connection is told once, and nothing after it', async () => {
  core.connect(1, 'a', 1);
  await tick();
  const [made] = doors.carriers;
  made.onBytes(new Uint8Array([1]));
  made.onEnd('gone');
  made.onBytes(new Uint8Array([2]));
  made.onEnd('gone');
  const told = engine().asked.map(([name]) => name);
  assert.deepEqual(told, ['connected', 'received', 'disconnected']);
  assert.deepEqual(states.map(({ transport }) => transport), ['websocket', 'offline']);
});

test('records that find no room are offered again in their order', async () => {
  const producer = new Producer(core, {});
  const taken = [];
  let room = 1;
  const take = (_handle, _topic, _partition, _key, value) => (room-- > 0 ? (taken.push(new TextDecoder().decode(value)), 0) : -1);
  double.append = take;
  const acks = ['a', 'b', 'c'].map((value) => producer.send({ topic: 't', value }));
  assert.deepEqual(taken, ['a']);
  room = 5;
  acks.push(producer.send({ topic: 't', value: 'd' }));
  assert.deepEqual(taken, ['a'], 'who comes later waits behind');
  core.producerChanged(0);
  await tick();
  assert.deepEqual(taken, ['a', 'b', 'c', 'd']);
  core.delivered(0, 0, 0, 4, 70, undefined, undefined);
  assert.deepEqual((await Promise.all(acks)).map(({ partition, offset }) => [partition, offset]), [70, 71, 72, 73].map((offset) => [2, offset]));
});

test('a record that is taken back while it waits is never offered', async () => {
  const producer = new Producer(core, {});
  const taken = [];
  double.append = () => -2;
  const controller = new AbortController();
  const first = producer.send({ topic: 't', value: 'a' }, { signal: controller.signal });
  const second = producer.enqueue({ topic: 't', value: 'b' });
  controller.abort('not any more');
  await assert.rejects(first, (reason) => reason === 'not any more');
  double.append = (_handle, _topic, _partition, _key, value) => (taken.push(new TextDecoder().decode(value)), 0);
  core.producerChanged(0);
  assert.equal((await second).partition, 2);
  assert.deepEqual(taken, ['b']);
});

test('a record that waits for too long is an error with its topic', async () => {
  double.append = () => -2;
  const producer = new Producer(core, { deliveryTimeoutMs: 20 });
  await assert.rejects(producer.send({ topic: 't', value: 'a' }), (error) => error.code === 'TIMED_OUT' && error.topic === 't');
});

test('halves of a batch are told apart', async () => {
  const producer = new Producer(core, {});
  const acks = ['a', 'b', 'c'].map((value) => producer.send({ topic: 't', value, timestamp: 5 }));
  const failure = core.error('MESSAGE_TOO_LARGE', 'too large', false, 't', 2);
  core.delivered(0, 0, 1, 2, -1, undefined, failure);
  core.delivered(0, 0, 0, 1, 9, 1_000, undefined);
  assert.deepEqual(await acks[0], { partition: 2, offset: 9, timestamp: 1_000 });
  await assert.rejects(acks[1], (error) => error === failure);
  await assert.rejects(acks[2], (error) => error === failure);
});
