// Reading from everywhere: by offset, by time, at the tail, chosen partitions, paused ones; positions of a group; a page
// that does not read stops its fetches.

import { equal, eventually, sleep } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

export async function story(world) {
  const tab = await world.tab();
  const topic = `reading-${world.carrier}`;
  await tab.evaluate(async () => (globalThis.client = await connect(url)));
  const created = await tab.evaluate((name) => client.admin().createTopic({ name, partitions: 3, replication: 3, configs: { 'retention.ms': 86400000 } }), topic);
  equal([created.name, created.partitions, created.replication], [topic, 3, 3], 'the created topic');
  equal(await tab.evaluate(fill, topic), [0, 1, 2].flatMap((partition) => [0, 1, 2, 3].map((offset) => [partition, offset])), 'acknowledgements');
  equal(await tab.evaluate(read, { topics: topic, start: 'earliest', untilEnd: true, partitions: [1] }), ['1/0', '1/1', '1/2', '1/3'], 'one partition');
  equal(await tab.evaluate(read, { topics: topic, start: 2, untilEnd: true, partitions: [0, 2] }), ['0/2', '0/3', '2/2', '2/3'], 'from an offset');
  equal(await tab.evaluate(read, { topics: topic, start: { timestamp: 3_000 }, untilEnd: true, partitions: [0] }), ['0/2', '0/3'], 'from a time');
  equal(await tab.evaluate(seekAndPause, topic), { sought: ['0/1', '0/2'], paused: ['1/0'], resumed: '0/3', position: 4, lag: 0, refused: 'NOT_ASSIGNED' }, 'seek and pause');
  equal(await tab.evaluate(tail, topic), ['new'], 'the tail');
  equal(await tab.evaluate(whole, topic), { key: 'key', value: [1, 2, 3], headers: [['a', 'x'], ['b', null], ['a', 'y']], last: 'y', timestamp: 5_000, json: { deep: [1] } }, 'a whole record');
  equal(await tab.evaluate(inGroup, topic), { first: ['0/0', '0/1'], second: '0/2', committed: 3 }, 'positions of a group');
  await backPressure(world, tab, topic);
  equal(await tab.evaluate(refusals, topic), ['TOPIC_ALREADY_EXISTS', 'UNKNOWN_TOPIC_OR_PARTITION', 'NO_SUCH_PARTITION', 'RECORD_TOO_LARGE', 'INVALID_OPTION', 'INVALID_TOPIC_NAME', 'NOT_JSON'], 'refusals');
  await tab.evaluate(async (name) => {
    await client.admin().deleteTopic(name);
    await client.close();
  }, topic);
}

async function fill(topic) {
  const producer = client.producer();
  const acks = [];
  for (const partition of [0, 1, 2]) {
    for (const number of [0, 1, 2, 3]) {
      acks.push(producer.send({ topic, partition, value: `${partition}/${number}`, timestamp: (number + 1) * 1_000 }));
    }
  }
  return (await Promise.all(acks)).map(({ partition, offset }) => [partition, offset]);
}

async function read(options) {
  const found = [];
  for await (const record of await client.consumer(options)) found.push(record.text());
  return found.sort();
}

async function seekAndPause(topic) {
  const consumer = await client.consumer({ topics: topic, start: 'earliest', partitions: [0, 1] });
  const found = {};
  consumer.pause(topic, 1);
  await consumer.read();
  await consumer.read();
  consumer.seek(topic, 0, 1);
  found.sought = [(await consumer.read()).text(), (await consumer.read()).text()];
  consumer.pause(topic, 0);
  consumer.resume(topic, 1);
  found.paused = [(await consumer.read()).text()];
  consumer.pause(topic, 1);
  consumer.resume(topic, 0);
  found.resumed = (await consumer.read()).text();
  found.position = consumer.position(topic, 0);
  found.lag = (await consumer.lag()).find(({ partition }) => partition === 0).records;
  try {
    consumer.seek(topic, 2, 0);
  } catch (error) {
    found.refused = error.code;
  }
  await consumer.close();
  return found;
}

async function tail(topic) {
  const consumer = await client.consumer({ topics: topic });
  await client.producer().send({ topic, partition: 2, value: 'new', timestamp: 5_000 });
  const found = [(await consumer.read()).text()];
  await consumer.close();
  return found;
}

async function whole(topic) {
  const producer = client.producer();
  const { partition, offset } = await producer.send({
    topic, partition: 1, key: 'key', value: new Uint8Array([1, 2, 3]), timestamp: new Date(5_000),
    headers: [['a', 'x'], ['b', null], ['a', new TextEncoder().encode('y')]],
  });
  await producer.send({ topic, partition, value: JSON.stringify({ deep: [1] }), timestamp: 6_000 });
  const consumer = await client.consumer({ topics: topic, partitions: [partition], start: { offset } });
  const record = await consumer.read();
  const decode = (bytes) => bytes && new TextDecoder().decode(bytes);
  const found = {
    key: record.keyText(), value: [...record.value], headers: record.headers.map(([name, value]) => [name, decode(value)]),
    last: record.header('a'), timestamp: record.timestamp, json: (await consumer.read()).json(),
  };
  await consumer.close();
  return found;
}

async function inGroup(topic) {
  const options = { topics: topic, group: `${topic}-group`, start: 'earliest' };
  const ofZero = async function* (consumer) {
    for await (const record of consumer.records()) if (record.partition === 0) yield record;
  };
  const found = { first: [] };
  const one = await client.consumer(options);
  for await (const record of ofZero(one)) {
    one.mark(record);
    found.first.push(record.text());
    if (found.first.length === 2) break;
  }
  const two = await client.consumer(options);
  for await (const record of ofZero(two)) {
    found.second = record.text();
    two.mark(record);
    break;
  }
  const offsets = await client.admin().groupOffsets(options.group);
  found.committed = offsets.find(({ partition }) => partition === 0).offset;
  return found;
}

// 24 MB are there; of them no more is fetched than the bound allows.
async function backPressure(world, tab, topic) {
  const fetched = () => tab.evaluate(() => client.metrics().fetchedBytes);
  await tab.evaluate(async (topic) => {
    const producer = client.producer({ lingerMs: 5 });
    const value = new Uint8Array(100_000);
    for (let number = 0; number < 240; number += 1) await producer.enqueue({ topic, partition: 2, value });
    await producer.close();
  }, topic);
  const before = await fetched();
  await tab.evaluate(async (topic) => {
    globalThis.lazy = await client.consumer({ topics: topic, partitions: [2], start: 'earliest', prefetchBytesMax: 2_000_000, fetchBytesMax: 1_000_000 });
    await lazy.read();
  }, topic);
  await eventually('something is fetched', async () => (await fetched()) - before > 1_000_000);
  await sleep(1_500);
  const ahead = (await fetched()) - before;
  if (ahead > 5_000_000) throw new Error(`${ahead} bytes were fetched for a page that does not read`);
  await tab.evaluate(async () => {
    let records = 1;
    while (records < 240) records += (await lazy.readMany()).length;
    await lazy.close();
  });
  world.tell(`${(ahead / 1e6).toFixed(1)} MB fetched for a page that does not read, of 24`);
}

async function refusals(topic) {
  const code = async (attempt) => {
    try {
      await attempt();
      return 'no error';
    } catch (error) {
      return error instanceof HighwaterError ? error.code : String(error);
    }
  };
  const producer = client.producer();
  const consumer = await client.consumer({ topics: topic, partitions: [0], start: 'earliest' });
  const record = await consumer.read();
  await consumer.close();
  return [
    await code(() => client.admin().createTopic({ name: topic, partitions: 1 })),
    await code(() => client.admin().describeTopic(`${topic}-nowhere`)),
    await code(() => producer.send({ topic, partition: 9, value: 'x' })),
    await code(() => producer.send({ topic, value: new Uint8Array(2_000_000) })),
    await code(() => client.producer({ linger: 5 })),
    await code(() => producer.send({ topic: 'no topic', value: 'x' })),
    await code(() => record.json()),
  ];
}
