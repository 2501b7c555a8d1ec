// While WebTransport is refused the client goes over to WebSocket, and back when it is not refused any more; what is
// produced meanwhile is neither lost nor doubled.

import { equal, eventually } from '../world.mjs';

export const carriers = ['webtransport'];

export async function story(world) {
  const topic = 'back-to-webtransport';
  await world.highwater(['topic', 'create', topic, '--partitions', '1']);
  const tab = await world.tab({ prepare: refusable });
  await tab.evaluate(begin, topic);
  equal(await tab.evaluate(() => states[0]), 'websocket', 'the first carrier, with WebTransport refused');
  await tab.evaluate(() => (globalThis.isRefused = false));
  await eventually('the way back', () => tab.evaluate(() => states.at(-1) === 'webtransport'));
  await tab.evaluate(() => (globalThis.isRefused = true));
  await tab.evaluate(() => sessions.forEach((session) => session.close()));
  await eventually('WebSocket again', () => tab.evaluate(() => states.at(-1) === 'websocket'));
  await tab.evaluate(() => (globalThis.isRefused = false));
  await eventually('the way back again', () => tab.evaluate(() => states.at(-1) === 'webtransport'));
  const sent = await tab.evaluate(async () => {
    globalThis.isOver = true;
    await producing;
    await producer.close();
    return sent;
  });
  const read = await tab.evaluate(async (topic) => {
    const records = [];
    for await (const record of await client.consumer({ topics: topic, start: 'earliest', untilEnd: true })) records.push(Number(record.text()));
    await client.close();
    return records;
  }, topic);
  equal(read, Array.from({ length: sent }, (_, number) => number), 'what was produced on the way');
  world.tell(`${sent} records; ${(await tab.evaluate(() => states)).join(', ')}`);
}

// In the page, before everything else: a WebTransport that can be made to fail.
function refusable() {
  const Real = globalThis.WebTransport;
  Object.assign(globalThis, { isRefused: true, sessions: new Set() });
  globalThis.WebTransport = function WebTransport(...parts) {
    if (!globalThis.isRefused) {
      const session = new Real(...parts);
      globalThis.sessions.add(session);
      return session;
    }
    const refused = () => Promise.reject(new Error('refused by the test'));
    return { ready: refused(), closed: refused(), close() {} };
  };
}

async function begin(topic) {
  Object.assign(globalThis, { states: [], sent: 0, isOver: false });
  globalThis.client = await connect(url, { webtransportRetryMs: 300 });
  await new Promise((resolve) => {
    client.on('state', ({ transport }) => {
      if (transport !== 'offline' && states.at(-1) !== transport) states.push(transport);
      resolve();
    });
  });
  globalThis.producer = client.producer();
  globalThis.producing = (async () => {
    while (!isOver) {
      await producer.enqueue({ topic, value: String(sent) });
      sent += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
}
