// A tab idles at a broker that ends silent connections after five seconds: one client reads where nothing comes, one says
// nothing at all, and one produces a record now and then, each time over a new connection. In minutes of it nothing grows,
// in the tab or in the broker.

import { checkNoGrowth, equal, grown, observed, sleep } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];
export const holds = true;

const IDLE_MS = 5_000;
const EVERY_MS = IDLE_MS + 1_000;

export async function story(world) {
  const [settledMs, lengthMs] = world.isLong ? [20_000, 180_000] : [7_000, 19_000];
  const broker = await world.broker('--connection-idle', `${IDLE_MS / 1000}s`);
  const tab = await world.tab({ prepare: observed, broker });
  const began = performance.now();
  await tab.evaluate(begin, EVERY_MS);
  const measured = async () => ({ ...(await world.settled([broker])), ...(await world.heldBy(tab)) });
  await sleep(settledMs);
  const early = await measured();
  await sleep(lengthMs - (performance.now() - began));
  const late = await measured();
  checkNoGrowth('idling', early, late);
  const { sent, read, failures } = await tab.evaluate(finish);
  equal(failures, [], 'failures');
  equal(read, sent, 'the records that were read');
  // Each record went over a connection of its own, since the one before had been ended.
  const opened = await world.metric(broker, 'highwater_connections_opened_total');
  equal(opened >= sent.length, true, `${opened} connections for ${sent.length} records are enough`);
  world.tell(`${sent.length} records in ${lengthMs / 1000} s; ${grown(early, late)}`);
}

async function begin(everyMs) {
  Object.assign(globalThis, { sent: [], read: [], failures: [], silent: await connect(url), reading: await connect(url), writing: await connect(url) });
  const failed = (error) => error.code === 'CLOSED' || failures.push(`${error.code}: ${error.message}`);
  await writing.admin().createTopic({ name: 'idling', partitions: 1 });
  const consumer = await reading.consumer({ topics: 'idling', start: 'earliest' });
  (async () => {
    for await (const record of consumer) read.push(record.text());
  })().catch(failed);
  const producer = writing.producer();
  const send = async () => {
    sent.push(String(sent.length));
    await producer.send({ topic: 'idling', value: sent.at(-1) }).catch(failed);
  };
  await send();
  globalThis.sending = setInterval(send, everyMs);
}

async function finish() {
  clearInterval(sending);
  await writing.producer().send({ topic: 'idling', value: 'end' });
  while (read.at(-1) !== 'end') await new Promise((resolve) => setTimeout(resolve, 20));
  read.pop();
  // The silent one is there when it is needed.
  await silent.admin().listTopics();
  await Promise.all([silent, reading, writing].map((client) => client.close()));
  return { sent, read, failures };
}
