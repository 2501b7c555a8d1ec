// Tabs ask for far more than they read: each costs the broker under 2 MiB, and beside one of them another tab's 99th percentile of the
// time to an acknowledgement at most doubles.

import { equal, sleep } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const TABS = 6;
const COST_MAX = 2 << 20;
const SENDS = 300;
const SLOWER_MAX = 2;
// The 99th percentile of so few is that of the machine's hiccups as well: it counts if it is seen so often.
const ATTEMPTS = 3;
const RECORD_BYTES = 500_000;
const RECORDS = 40;
// By each tab: sixteen streams or one socket, and on each so many fetches.
const FETCHES = 8;
// So long nothing leaves the broker before the pages count as standing still.
const STILL_MS = 500;

export async function story(world) {
  const topic = `unread-${world.carrier}`;
  await world.highwater(['topic', 'create', topic, '--partitions', '1', '--replication', '3']);
  const good = await world.tab();
  const leader = await good.evaluate(begin, { topic, records: RECORDS, bytes: RECORD_BYTES });
  const broker = world.brokers.find(({ id }) => id === leader);
  const door = await doorOf(world, leader);
  await good.evaluate(p99, { topic, sends: SENDS });
  const seen = [];
  for (let attempt = 1; ; attempt += 1) {
    const before = await good.evaluate(p99, { topic, sends: SENDS });
    const first = await deaf(world, door, topic);
    await nothingMoves(world, broker);
    const during = await good.evaluate(p99, { topic, sends: SENDS });
    const [resident, out] = [(await world.held([broker])).resident, await world.metric(broker, 'highwater_bytes_out_total')];
    const tabs = [];
    while (tabs.length < TABS) tabs.push(await deaf(world, door, topic));
    await nothingMoves(world, broker);
    const cost = ((await world.held([broker])).resident - resident) / TABS;
    const taken = (await world.metric(broker, 'highwater_bytes_out_total')) - out;
    const asked = TABS * tabs[0].asked;
    seen.push(`p99 ${before.toFixed(1)} -> ${during.toFixed(1)} ms, ${(cost / 1024).toFixed(0)} KiB each, ${(taken / 1e6).toFixed(0)} of ${(asked / 1e6).toFixed(0)} MB taken`);
    world.tell(seen.join('; '));
    for (const { page } of [first, ...tabs]) await page.context().close();
    equal(taken > 0 && taken < asked / 2, true, `${taken} bytes of ${asked} are those of tabs that do not read`);
    equal(cost < COST_MAX, true, `${cost} bytes are less than ${COST_MAX}`);
    // Where debug builds share two cores with everything else, as in CI, what the others take of the processors is not the broker's cost.
    if (during < SLOWER_MAX * before || !world.isLong) break;
    equal(attempt < ATTEMPTS, true, `${during} ms are at most twice ${before} ms`);
  }
  await good.evaluate(() => client.close());
}

async function doorOf(world, id) {
  const { brokers } = await fetch(`${world.http}/brokers`).then((answer) => answer.json());
  return brokers.find((broker) => broker.id === id);
}

// What the browsers take for their pages before they stop is theirs to take; what is asked here is what the pages cost after that.
async function nothingMoves(world, broker) {
  const out = () => world.metric(broker, 'highwater_bytes_out_total');
  for (let before = await out(), since = Date.now(); Date.now() - since < STILL_MS; await sleep(50)) {
    const now = await out();
    if (now !== before) [before, since] = [now, Date.now()];
  }
}

// A tab that asks and does not read. Over a WebSocket the browser reads for the page, until the page stands still.
async function deaf(world, door, topic) {
  const page = await world.tab();
  const asked = await page.evaluate(ask, { door, topic, fetches: FETCHES, carrier: world.carrier });
  if (world.carrier === 'websocket') {
    page.on('dialog', () => {});
    await page.evaluate(() => setTimeout(() => alert('the page stands still')));
  }
  await sleep(300);
  return { page, asked };
}

async function ask({ door, topic, fetches, carrier }) {
  const name = new TextEncoder().encode(topic);
  // A Fetch request, version 4, of everything from the beginning.
  const frame = (correlation) => {
    const bytes = new Uint8Array(4 + 10 + 17 + 4 + 2 + name.length + 4 + 16);
    const view = new DataView(bytes.buffer);
    let at = 0;
    const put = (size, value) => (view[`setInt${8 * size}`](at, value), (at += size));
    put(4, bytes.length - 4);
    put(2, 1), put(2, 4), put(4, correlation), put(2, -1);
    put(4, -1), put(4, 500), put(4, 1), put(4, 1 << 20), put(1, 0);
    put(4, 1), put(2, name.length), bytes.set(name, at), (at += name.length);
    put(4, 1), put(4, 0), view.setBigInt64(at, 0n), (at += 8), put(4, 1 << 20);
    return bytes;
  };
  const all = Array.from({ length: fetches }, (_, number) => frame(number));
  // Kept, or the browser would close them at some time.
  globalThis.kept = [];
  if (carrier === 'websocket') {
    const socket = new WebSocket(door.websocket);
    await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
    for (let number = 0; number < 16; number += 1) all.forEach((bytes) => socket.send(bytes));
    kept.push(socket);
  } else {
    const value = Uint8Array.from(door.certificates[0].sha256.match(/../g), (hex) => parseInt(hex, 16));
    const session = new WebTransport(door.webtransport, { serverCertificateHashes: [{ algorithm: 'sha-256', value }] });
    await session.ready;
    kept.push(session);
    for (let number = 0; number < 16; number += 1) {
      const stream = await session.createBidirectionalStream();
      const writer = stream.writable.getWriter();
      for (const bytes of all) await writer.write(bytes);
      kept.push(stream, writer);
    }
  }
  return 16 * fetches * 1_000_000;
}

async function begin({ topic, records, bytes }) {
  globalThis.client = await connect(url);
  globalThis.producer = client.producer({ lingerMs: 0 });
  const filling = client.producer();
  for (let number = 0; number < records; number += 1) await filling.enqueue({ topic, value: new Uint8Array(bytes) });
  await filling.close();
  return (await client.admin().describeTopic(topic)).partitions[0].leader;
}

async function p99({ topic, sends }) {
  const times = [];
  for (let number = 0; number < sends; number += 1) {
    const began = performance.now();
    await producer.send({ topic, value: 'x' });
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other)[Math.floor(0.99 * sends)];
}
