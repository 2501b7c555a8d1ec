// Measures a tab over both carriers beside the native client over both of its own. Started by `cargo xtask bench --browser`,
// with the environment of `world.mjs`; BENCH_LINK says whether the brokers are near (`clean`) or behind a link that is slow and
// loses packets (`lossy`). The figures go into a file beside the stories' pictures.

import { writeFileSync } from 'node:fs';
import { World, artefact, sleep } from './world.mjs';

const LINK = process.env.BENCH_LINK;
const IS_LOSSY = LINK === 'lossy';
const CARRIERS = ['webtransport', 'websocket'];
const NATIVE = ['quic', 'tcp'];

const RUNS = 3;
const RUN_MS = 4_000;
const RECORD_BYTES = 1_000;
const NATIVE_RECORDS = 100_000;
const PAIRS = 2_000;

const SMALL_EVERY_MS = 20;
const SMALLS = 750;
const BULK_RECORDS = 10_000;

await new World('websocket', 'bench').doorsAnnounced();
const figures = {};
for (const client of [...CARRIERS, ...NATIVE]) {
  const world = new World(CARRIERS.includes(client) ? client : 'webtransport', 'bench');
  try {
    figures[client] = await (IS_LOSSY ? lossy : clean)(world, client);
    world.checkNoErrors();
  } finally {
    await world.close();
  }
  console.log(client, JSON.stringify(figures[client]));
}
writeFileSync(artefact(`bench-${LINK}.json`), JSON.stringify(figures, undefined, 2));
process.exit(0);

// ---- On loopback: throughput in large batches, and the time from a producer to a consumer. --------------------------------

async function clean(world, client) {
  const runs = { produced: [], consumed: [] };
  const tab = CARRIERS.includes(client) && (await ready(world));
  for (let run = 0; run < RUNS; run += 1) {
    const topic = `bench-${client}-${run}`;
    await create(world, topic, 3);
    runs.produced.push(tab
      ? await tab.evaluate(produce, { topic, bytes: RECORD_BYTES, ms: RUN_MS })
      : await native(world, client, ['bench', 'produce', topic, '-n', NATIVE_RECORDS, '--record-bytes', RECORD_BYTES]).then(rate));
    runs.consumed.push(tab
      ? await tab.evaluate(consume, topic)
      : await native(world, client, ['bench', 'consume', topic]).then(rate));
    await world.highwater(['topic', 'delete', topic]);
  }
  const topic = `bench-${client}-latency`;
  await create(world, topic, 1);
  const { p50, p99 } = tab
    ? await tab.evaluate(latency, { topic, pairs: PAIRS })
    : await native(world, client, ['bench', 'latency', topic, '-n', PAIRS]).then(({ received }) => quantiles(received));
  return { produced: median(runs.produced), consumed: median(runs.consumed), p50, p99 };
}

// In the tab: megabytes of values a second, from the first record to the last acknowledgement.
async function produce({ topic, bytes, ms }) {
  const producer = client.producer({ lingerMs: 5, batchBytesMax: 1_000_000 });
  const value = crypto.getRandomValues(new Uint8Array(bytes));
  await producer.send({ topic, value });
  const began = performance.now();
  let sent = 0;
  while (performance.now() - began < ms) {
    for (let number = 0; number < 100; number += 1) await producer.enqueue({ topic, value });
    sent += 100;
  }
  await producer.flush();
  const seconds = (performance.now() - began) / 1000;
  await producer.close();
  return (sent * bytes) / 1e6 / seconds;
}

// In the tab: the same of what is read, from the beginning to the end; every value is looked at.
async function consume(topic) {
  const began = performance.now();
  let bytes = 0;
  for await (const records of (await client.consumer({ topics: topic, start: 'earliest', untilEnd: true })).batches(5_000)) {
    for (const record of records) bytes += record.value.length;
  }
  return bytes / 1e6 / ((performance.now() - began) / 1000);
}

// In the tab: one record at a time, from sending to having it.
async function latency({ topic, pairs }) {
  const producer = client.producer();
  const value = new Uint8Array(100);
  const { offset } = await producer.send({ topic, partition: 0, value });
  const consumer = await client.consumer({ topics: topic, partitions: [0], start: { offset: offset + 1 } });
  const times = [];
  for (let number = 0; number < 100 + pairs; number += 1) {
    const began = performance.now();
    const sent = producer.send({ topic, partition: 0, value });
    await consumer.read();
    if (number >= 100) times.push(performance.now() - began);
    await sent;
  }
  await consumer.close();
  times.sort((one, other) => one - other);
  return { p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}

// ---- Over the slow link: small produces, alone and beside a bulk fetch. ---------------------------------------------------

async function lossy(world, client) {
  const [small, bulk] = [`small-${client}`, `bulk-${client}`];
  await create(world, small, 1);
  await create(world, bulk, 1);
  await native(world, 'tcp', ['bench', 'produce', bulk, '-n', BULK_RECORDS, '--record-bytes', RECORD_BYTES]);
  if (CARRIERS.includes(client)) {
    const tab = await ready(world);
    await tab.evaluate(produceSmall, { topic: small, every: SMALL_EVERY_MS, count: 50 });
    const alone = await tab.evaluate(produceSmall, { topic: small, every: SMALL_EVERY_MS, count: SMALLS });
    await tab.evaluate(beginBulk, bulk);
    await sleep(2_000);
    const before = await tab.evaluate(() => bulkBytes);
    const began = performance.now();
    const beside = await tab.evaluate(produceSmall, { topic: small, every: SMALL_EVERY_MS, count: SMALLS });
    const rate = ((await tab.evaluate(() => bulkBytes)) - before) / 1e3 / (performance.now() - began);
    return { alone_p50: alone.p50, alone_p99: alone.p99, beside_p50: beside.p50, beside_p99: beside.p99, bulk: rate };
  }
  const smalls = () => native(world, client, ['bench', 'produce', small, '-n', SMALLS, '--record-bytes', 100,
    '--rate', 1_000 / SMALL_EVERY_MS]).then(({ acknowledged }) => quantiles(acknowledged));
  const alone = await smalls();
  let isOver = false;
  const rates = [];
  const fetching = (async () => {
    while (!isOver) rates.push(rate(await native(world, client, ['bench', 'consume', bulk])));
  })();
  await sleep(2_000);
  const beside = await smalls();
  isOver = true;
  await fetching;
  return { alone_p50: alone.p50, alone_p99: alone.p99, beside_p50: beside.p50, beside_p99: beside.p99, bulk: median(rates) };
}

// In the tab: a record every so often, whatever became of those before; from sending to the acknowledgement.
async function produceSmall({ topic, every, count }) {
  globalThis.small ??= client.producer();
  const times = [];
  const sent = [];
  const value = new Uint8Array(100);
  const began = performance.now();
  for (let number = 0; number < count; number += 1) {
    const due = began + number * every;
    while (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, Math.max(due - performance.now(), 0)));
    sent.push(small.send({ topic, value }).then(() => times.push(performance.now() - due)));
  }
  await Promise.all(sent);
  times.sort((one, other) => one - other);
  return { p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}

async function beginBulk(topic) {
  globalThis.bulkBytes = 0;
  (async () => {
    for (;;) {
      const consumer = await client.consumer({ topics: topic, start: 'earliest', untilEnd: true });
      for await (const records of consumer.batches(5_000)) for (const record of records) bulkBytes += record.value.length;
    }
  })();
}

// ---- Both. ----------------------------------------------------------------------------------------------------------------

async function ready(world) {
  const [node] = world.brokers;
  const broker = { http: behind(node, node.http) };
  const tab = await world.tab({ broker });
  const transport = await tab.evaluate(async () => {
    globalThis.client = await connect(url);
    return client.state.transport;
  });
  if (transport !== world.carrier) throw new Error(`the tab is connected over ${transport}, not ${world.carrier}`);
  return tab;
}

function create(world, topic, partitions) {
  return world.highwater(['topic', 'create', topic, '--partitions', String(partitions), '--replication', '3']);
}

async function native(world, scheme, args) {
  const bootstrap = world.brokers.map((node) => `${scheme}://${behind(node, node.kafka)}`).join(',');
  return JSON.parse(await world.highwater([...args.map(String), '--bootstrap', bootstrap, '--output', 'json']));
}

// An address of a broker as clients have it: behind the link by its name.
function behind({ id }, address) {
  return IS_LOSSY ? address.replace('127.0.0.1', `broker-${id}.highwater.internal`) : address;
}

function rate({ bytes_per_second }) {
  return bytes_per_second / 1e6;
}

function quantiles({ p50_us, p99_us }) {
  return { p50: p50_us / 1000, p99: p99_us / 1000 };
}

function median(numbers) {
  return [...numbers].sort((one, other) => one - other)[numbers.length >> 1];
}
