// Which way is taken to the brokers, with a WebTransport, a WebSocket and a `fetch` that only pretend.

import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { Doors } from '../../js/doors.js';

// Timers of the client do not keep a process alive; a browser's page stays by itself.
const alive = setInterval(() => {}, 1_000);
after(() => clearInterval(alive));

const HASH = 'ab'.repeat(32);
const tick = () => new Promise((resolve) => setImmediate(resolve));

// What the pretended network is like, and what was asked of it.
let network;

function pretend({ brokers = [1, 2], webtransport = () => true, websocket = () => true, ends = Infinity } = {}) {
  network = { webtransport, websocket, brokers, ends, lists: 0, refused: undefined, sessions: [], sockets: [] };
  globalThis.fetch = async (url) => {
    network.lists += 1;
    if (network.refused) return { ok: false, status: 403, text: async () => network.refused };
    if (!network.brokers.some((id) => url.port === String(8092 + 10 * (id - 1)))) throw new TypeError('fetch failed');
    return { ok: true, json: async () => ({ brokers: network.brokers.map(described) }) };
  };
  globalThis.WebTransport = FakeTransport;
  globalThis.WebSocket = FakeSocket;
}

const described = (id) => ({
  id,
  webtransport: `https://127.0.0.1:${9092 + 10 * (id - 1)}/kafka`,
  websocket: `ws://127.0.0.1:${8092 + 10 * (id - 1)}/ws`,
  certificates: [{ sha256: HASH, not_before_ms: 0, not_after_ms: network.ends }],
});

class FakeTransport {
  constructor(url, options) {
    this.url = url;
    this.options = options;
    network.sessions.push(this);
    this.closed = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    const works = network.webtransport(url);
    this.ready = works ? Promise.resolve() : Promise.reject(new Error('Opening handshake failed.'));
    if (!works) this.reject(new Error('Opening handshake failed.'));
  }

  async createBidirectionalStream() {
    const written = (this.written = []);
    return {
      readable: new ReadableStream({ start: (controller) => (this.incoming = controller) }),
      writable: new WritableStream({ write: (bytes) => void written.push(bytes) }),
    };
  }

  close() {
    this.isClosed = true;
    this.resolve({ closeCode: 0, reason: '' });
  }
}

class FakeSocket {
  static CONNECTING = 0;
  static OPEN = 1;
  readyState = 0;
  sent = [];

  constructor(url) {
    this.url = url;
    network.sockets.push(this);
    queueMicrotask(() => {
      this.readyState = 1;
      if (network.websocket(url)) this.onopen?.();
      else this.onclose?.({ code: 1006, reason: '' });
    });
  }

  send(bytes) {
    this.sent.push(bytes);
  }

  close() {
    this.isClosed = true;
  }
}

let doors;
async function opened(...options) {
  doors = new Doors(['http://127.0.0.1:8092'], ...options);
  return doors.prepare();
}

afterEach(() => doors?.close());

test('WebTransport is taken where it works, with the hashes of the list', async () => {
  pretend();
  assert.deepEqual(await opened(), [{ host: '127.0.0.1', port: 9092 }, { host: '127.0.0.1', port: 9102 }]);
  await doors.open('127.0.0.1', 9102);
  const [session] = network.sessions;
  assert.equal(session.url, 'https://127.0.0.1:9102/kafka');
  assert.equal(session.options.serverCertificateHashes[0].algorithm, 'sha-256');
  assert.deepEqual([...session.options.serverCertificateHashes[0].value], new Array(32).fill(0xab));
});

test('the connections to a broker are streams of one session', async () => {
  pretend();
  await opened();
  await Promise.all([doors.open('127.0.0.1', 9092), doors.open('127.0.0.1', 9092), doors.open('127.0.0.1', 9102)]);
  assert.equal(network.sessions.length, 2);
});

test('a session takes as many streams as brokers do, and the next one the rest', async () => {
  pretend();
  await opened();
  const carriers = await Promise.all(Array.from({ length: 17 }, () => doors.open('127.0.0.1', 9092)));
  assert.equal(network.sessions.length, 2);
  carriers[0].close();
  await doors.open('127.0.0.1', 9092);
  assert.equal(network.sessions.length, 2);
});

test('an end in order has no reason', async () => {
  pretend();
  await opened();
  const carrier = await doors.open('127.0.0.1', 9092);
  const ends = [];
  carrier.start(() => {}, (reason) => ends.push(reason));
  network.sessions[0].resolve({ closeCode: 1, reason: 'no stream was open for 600 s' });
  await tick();
  assert.deepEqual(ends, [undefined]);
});

test('bytes go both ways and the end is told once', async () => {
  pretend();
  await opened();
  const carrier = await doors.open('127.0.0.1', 9092);
  const received = [];
  const ends = [];
  carrier.start((bytes) => received.push(...bytes), (reason) => ends.push(reason));
  carrier.send(new Uint8Array([1]));
  for (let number = 2; number < 6; number += 1) carrier.send(new Uint8Array([number]));
  network.sessions[0].incoming.enqueue(new Uint8Array([7, 8]));
  await tick();
  assert.deepEqual(network.sessions[0].written.map(([byte]) => byte), [1, 2, 3, 4, 5]);
  assert.deepEqual(received, [7, 8]);
  network.sessions[0].resolve({ closeCode: 3, reason: 'idle for 5 s' });
  await tick();
  network.sessions[0].incoming.error(new Error('late'));
  await tick();
  assert.deepEqual(ends, ['closed by the broker: idle for 5 s (3)']);
});

test('without WebTransport in the browser it is WebSocket from the beginning', async () => {
  pretend();
  delete globalThis.WebTransport;
  assert.deepEqual((await opened()).map(({ port }) => port), [8092, 8102]);
  const carrier = await doors.open('127.0.0.1', 8102);
  carrier.send(new Uint8Array([1]));
  assert.deepEqual([network.sockets[0].url, network.sockets[0].sent.length], ['ws://127.0.0.1:8102/ws', 1]);
  assert.throws(() => new Doors(['http://x'], 'webtransport'), (error) => error.code === 'UNSUPPORTED_BY_BROWSER');
});

test('where WebTransport is refused and WebSocket works, WebSocket is taken for all', async () => {
  pretend({ webtransport: () => false });
  await opened();
  const changes = [];
  doors.onChange((reason) => changes.push(reason));
  await doors.open('127.0.0.1', 9092);
  assert.deepEqual([doors.mode, changes.length], ['websocket', 1]);
  await doors.open('127.0.0.1', 9102);
  assert.deepEqual([network.sessions.length, network.sockets.length], [1, 2]);
});

test('a broker that is gone is no reason to change the way', async () => {
  pretend();
  await opened();
  await doors.open('127.0.0.1', 9092);
  network.webtransport = network.websocket = (url) => !url.includes(':9102') && !url.includes(':8102');
  for (let times = 0; times < 3; times += 1) await assert.rejects(doors.open('127.0.0.1', 9102), /Opening handshake/);
  assert.equal(doors.mode, 'webtransport');
});

test('one failure of a broker that was reached is not enough to change the way', async () => {
  pretend();
  await opened();
  await doors.open('127.0.0.1', 9092);
  network.webtransport = (url) => !url.includes(':9102');
  await assert.rejects(doors.open('127.0.0.1', 9102));
  assert.equal(doors.mode, 'webtransport');
  await doors.open('127.0.0.1', 9102);
  assert.equal(doors.mode, 'websocket');
});

test('WebTransport is taken again when every broker can be reached by it', async () => {
  pretend({ webtransport: () => false });
  await opened('auto', 10);
  const carrier = await doors.open('127.0.0.1', 9092);
  const ends = [];
  carrier.start(() => {}, (reason) => ends.push(reason));
  network.webtransport = (url) => url.includes(':9092');
  const isBack = new Promise((resolve) => doors.onChange(resolve));
  while (network.sessions.filter(({ url }) => url.includes(':9102')).length < 2) await tick();
  assert.equal(doors.mode, 'websocket');
  network.webtransport = () => true;
  await isBack;
  await tick();
  assert.deepEqual([doors.mode, ends.length], ['webtransport', 1]);
});

test('one way alone is taken if only that is wanted', async () => {
  pretend({ webtransport: () => false });
  await opened('webtransport');
  await assert.rejects(doors.open('127.0.0.1', 9092), /WebTransport: Opening handshake/);
  assert.equal(network.sockets.length, 0);
});

test('the list is asked for anew after a failure, and from another broker if the first is gone', async () => {
  pretend();
  await opened();
  network.brokers = [2];
  network.webtransport = network.websocket = (url) => url.includes(':9102');
  const first = network.lists;
  await assert.rejects(doors.open('127.0.0.1', 9092));
  await new Promise((resolve) => setTimeout(resolve, 260));
  await assert.rejects(doors.open('127.0.0.1', 9092), /no live broker/);
  assert.ok(network.lists > first + 1);
  await doors.open('127.0.0.1', 9102);
});

test('the list is asked for anew before a certificate ends', async () => {
  pretend();
  network.ends = Date.now() + 1_300;
  await opened();
  const first = network.lists;
  while (network.lists === first) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(Date.now() < network.ends);
});

test('a refused origin is told in the words of the broker', async () => {
  pretend();
  network.refused = 'origin http://evil.example is not in allowed-origins';
  await assert.rejects(opened(), (error) => error.code === 'ORIGIN_REFUSED' && error.message.includes('allowed-origins'));
});

test('a list that makes no sense is an error, whatever it holds', async () => {
  for (const list of [null, 7, [], {}, { brokers: [null, 7, {}] }, { brokers: [{ id: 1, webtransport: 'ftp://x', certificates: 3 }] }]) {
    pretend();
    globalThis.fetch = async () => ({ ok: true, json: async () => list });
    await assert.rejects(opened(), (error) => error.code === 'NETWORK' && error.retriable);
  }
});

test('a closed client has no timer, session or socket left', async () => {
  pretend();
  network.ends = Date.now() + 3_600_000;
  await opened();
  await doors.open('127.0.0.1', 9092);
  doors.close();
  await tick();
  assert.ok(network.sessions.every(({ isClosed }) => isClosed));
});
