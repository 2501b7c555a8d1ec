// The leader of a partition is killed with -9 while one tab produces and another consumes: both go on, and nothing is
// lost, doubled or out of order.

import { equal, eventually } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

// What a browser says of its own accord about connections to a broker that is gone; no page can keep it from that.
const TOLERATED = /ERR_CONNECTION|ERR_QUIC|ERR_NETWORK|WebSocket connection|Failed to load resource|Failed to establish a connection|WebTransport/;

export async function story(world) {
  const topic = `leader-killed-${world.carrier}`;
  await world.highwater(['topic', 'create', topic, '--partitions', '2', '--replication', '3']);
  const [writer, reader] = [await world.tab({ tolerated: TOLERATED }), await world.tab({ tolerated: TOLERATED })];
  await writer.evaluate(produce, topic);
  await reader.evaluate(consume, topic);
  await eventually('records flow', async () => (await reader.evaluate(() => read.length)) > 100);
  const leader = await writer.evaluate(leaderOf, topic);
  world.kill(leader);
  const before = await writer.evaluate(() => sent);
  const killed = Date.now();
  await eventually('the tab goes on', async () => (await writer.evaluate(() => acknowledged)) > before + 500, 60_000);
  const took = ((Date.now() - killed) / 1000).toFixed(1);
  const total = await writer.evaluate(finish);
  await eventually('all is read', async () => (await reader.evaluate(() => read.length)) >= total);
  const { missing, doubled, disordered, failures } = await reader.evaluate(judge, total);
  equal({ missing, doubled, disordered }, { missing: [], doubled: [], disordered: 0 }, 'records');
  equal(failures, [], 'failures of the consumer');
  equal(await writer.evaluate(() => failures), [], 'failures of the producer');
  world.tell(`${total} records; ${took} s until 500 more were acknowledged`);
  await Promise.all([writer, reader].map((tab) => tab.evaluate(() => client.close())));
  await world.restart(leader);
}

async function produce(topic) {
  Object.assign(globalThis, { client: await connect(url), sent: 0, acknowledged: 0, failures: [], isOver: false });
  globalThis.producer = client.producer({ lingerMs: 2 });
  globalThis.producing = (async () => {
    while (!isOver) {
      const { ack } = await producer.enqueue({ topic, key: String(sent % 7), value: String(sent) });
      ack.then(() => (acknowledged += 1), (error) => failures.push(`${error.code}: ${error.message}`));
      sent += 1;
      if (sent % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
}

async function finish() {
  globalThis.isOver = true;
  await producing;
  await producer.flush();
  return sent;
}

async function leaderOf(topic) {
  const { partitions } = await client.admin().describeTopic(topic);
  return partitions[0].leader;
}

async function consume(topic) {
  Object.assign(globalThis, { client: await connect(url), read: [], failures: [] });
  const consumer = await client.consumer({ topics: topic, start: 'earliest' });
  (async () => {
    for await (const record of consumer) read.push([Number(record.keyText()), Number(record.text())]);
  })().catch((error) => error.code === 'CLOSED' || failures.push(`${error.code}: ${error.message}`));
}

function judge(total) {
  const times = new Array(total).fill(0);
  const last = {};
  let disordered = 0;
  for (const [key, number] of read) {
    times[number] += 1;
    if ((last[key] ?? -1) >= number) disordered += 1;
    last[key] = number;
  }
  const numbers = [...times.keys()];
  return {
    missing: numbers.filter((number) => times[number] === 0).slice(0, 10),
    doubled: numbers.filter((number) => times[number] > 1).slice(0, 10),
    disordered,
    failures,
  };
}
