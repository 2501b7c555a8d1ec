// Every broker shows browsers another certificate than before: tabs that are there stay, and new ones connect.

import { equal, eventually } from '../world.mjs';

export const carriers = ['webtransport'];

export async function story(world) {
  const topic = 'rotated-certificate';
  await world.highwater(['topic', 'create', topic, '--partitions', '1']);
  const old = await world.tab();
  await old.evaluate(begin);
  const before = await hashes(world);
  for (const { http } of world.brokers) {
    const said = await world.highwater(['cluster', 'rotate-certificate', '--http', http]);
    equal(said, 'browsers are shown the next certificate\n', 'what the command line says');
  }
  const after = await eventually('other hashes are announced everywhere', async () => {
    const now = await hashes(world);
    return now.every((hash, index) => hash !== before[index]) && now;
  });
  const status = await world.highwater(['cluster', 'status']);
  equal(after.filter((hash) => !status.includes(hash)), [], 'hashes that the status does not tell');
  const fresh = await world.tab();
  await fresh.evaluate(begin);
  for (const tab of [old, fresh]) {
    equal(await tab.evaluate(sendAndRead, topic), 'webtransport', 'the carrier');
    await tab.evaluate(() => client.close());
  }
  world.tell(`${before.length} certificates of ${new Set([...before, ...after]).size} are shown no more`);
}

async function hashes(world) {
  const { brokers } = await fetch(`${world.http}/brokers`).then((answer) => answer.json());
  return brokers.map(({ certificates }) => certificates[0].sha256);
}

async function begin() {
  globalThis.client = await connect(url, { transport: 'webtransport' });
}

async function sendAndRead(topic) {
  const { offset } = await client.producer().send({ topic, value: 'x' });
  const consumer = await client.consumer({ topics: topic, start: offset });
  await consumer.read();
  await consumer.close();
  return client.state.transport;
}
