// One tab produces 100,000 records of 100 bytes and another consumes them: none is missing, doubled, changed or out of its
// partition's order.

import { equal } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const RECORDS = 100_000;
const PARTITIONS = 3;

export async function story(world) {
  const topic = `hundred-thousand-${world.carrier}`;
  await world.highwater(['topic', 'create', topic, '--partitions', String(PARTITIONS)]);
  const [writer, reader] = [await world.tab(), await world.tab()];
  await Promise.all([writer, reader].map((tab) => tab.evaluate(prepare)));
  const [sent, read] = await Promise.all([
    writer.evaluate(produce, { topic, records: RECORDS }),
    reader.evaluate(consume, { topic, records: RECORDS }),
  ]);
  equal(read.sums, sent.sums, 'counts and hashes by partition');
  equal(await writer.evaluate(() => client.state.transport), world.carrier, 'the carrier');
  const rate = ({ seconds }) => `${((RECORDS * 100) / 1e6 / seconds).toFixed(1)} MB/s`;
  world.tell(`produced at ${rate(sent)}, consumed at ${rate(read)} (${Object.values(sent.sums).map(({ count }) => count).join('+')})`);
  await Promise.all([writer, reader].map((tab) => tab.evaluate(() => client.close())));
}

// A hash that goes on record by record, and so knows their order (FNV-1a, 2 x 32 bits).
async function prepare() {
  globalThis.client = await connect(url);
  globalThis.Sums = class {
    byPartition = {};
    add(partition, bytes) {
      const sum = (this.byPartition[partition] ??= { count: 0, low: 0x811c9dc5, high: 0x9dc5811c });
      sum.count += 1;
      for (const byte of bytes) {
        sum.low = Math.imul(sum.low ^ byte, 0x01000193) >>> 0;
        sum.high = Math.imul(sum.high + byte, 0x85ebca6b) >>> 0;
      }
    }
  };
}

async function produce({ topic, records }) {
  const sums = new Sums();
  const producer = client.producer({ lingerMs: 5 });
  const began = performance.now();
  const failures = [];
  for (let number = 0; number < records; number += 1) {
    const value = new Uint8Array(100);
    new DataView(value.buffer).setUint32(0, number);
    for (let index = 4; index < 100; index += 1) value[index] = (number * 31 + index * 7) & 0xff;
    const { partition, ack } = await producer.enqueue({ topic, key: `k${number % 64}`, value });
    ack.catch((error) => failures.push(error.message));
    sums.add(partition, value);
  }
  await producer.flush();
  if (failures.length > 0) throw new Error(failures[0]);
  return { sums: sums.byPartition, seconds: (performance.now() - began) / 1000 };
}

async function consume({ topic, records }) {
  const sums = new Sums();
  const consumer = await client.consumer({ topics: topic, start: 'earliest' });
  let began;
  let read = 0;
  for await (const batch of consumer.batches(5_000)) {
    began ??= performance.now();
    for (const record of batch) sums.add(record.partition, record.value);
    read += batch.length;
    if (read >= records) break;
  }
  return { sums: sums.byPartition, seconds: (performance.now() - began) / 1000 };
}
