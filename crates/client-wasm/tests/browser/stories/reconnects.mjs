// Two hundred reconnects of one client and two hundred clients one after the other: neither leaves anything behind, in the
// tab or in the brokers.

import { checkNoGrowth, eventually, grown, observed } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];
export const holds = true;

const ROUNDS = 200;
const SETTLED = 20;
// Which broker is asked first is chance, and so is whether it is the leader too: the most of so many rounds is compared.
const SAMPLES = 5;

export async function story(world) {
  const topic = `reconnects-${world.carrier}`;
  // Each client reads the same: one that reads what those before it have written takes more memory than they did.
  for (const name of [topic, `${topic}-read`]) {
    await world.highwater(['topic', 'create', name, '--partitions', '1', '--replication', '3']);
  }
  await world.highwater(['produce', '--quiet', `${topic}-read`], 'the one record\n');
  const tab = await world.tab({ prepare: observed });
  for (const [what, round] of [['reconnects', reconnect], ['clients', another]]) {
    await tab.evaluate(begin, topic);
    const early = {};
    const late = {};
    for (let number = 1; number <= ROUNDS; number += 1) {
      await tab.evaluate(round, topic);
      if (number > SETTLED - SAMPLES && number <= SETTLED) most(early, await world.settled());
      if (number === SETTLED) Object.assign(early, await world.heldBy(tab));
      if (number > ROUNDS - SAMPLES) most(late, await world.settled());
    }
    Object.assign(late, await world.heldBy(tab));
    await tab.evaluate(() => client.close());
    checkNoGrowth(what, early, late);
    world.tell(`${world.told} ${what}: ${grown(early, late)};`.trim());
  }
  await eventually('all carriers are closed', () => tab.evaluate(() => open() === 0));
  await eventually('the brokers have no client any more', async () => (await world.held()).clients === 0);
}

function most(sofar, held) {
  for (const [kind, number] of Object.entries(held)) sofar[kind] = Math.max(sofar[kind] ?? 0, number);
}

async function begin() {
  globalThis.client = await connect(url);
}

// Every connection is cut, and the client produces again.
async function reconnect(topic) {
  globalThis.producer ??= client.producer();
  if (producer.owner !== client) producer = Object.assign(client.producer(), { owner: client });
  for (const carrier of [...carriers]) carrier.close();
  await producer.send({ topic, value: 'again' });
}

async function another(topic) {
  const other = await connect(url);
  const consumer = await other.consumer({ topics: `${topic}-read`, start: 'earliest' });
  await consumer.read();
  await other.producer().send({ topic, value: 'another' });
  await other.close();
}
