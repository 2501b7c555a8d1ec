// Whoever aborts waits no longer, for whatever it was; a record that was not accepted is never sent, and nothing that was
// read is lost.

import { createServer } from 'node:net';
import { equal } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

export async function story(world) {
  const tab = await world.tab();
  const topic = `aborting-${world.carrier}`;
  await world.highwater(['topic', 'create', topic, '--partitions', '1']);
  // A server that takes connections and never answers.
  const silent = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const found = await tab.evaluate(aborted, { topic, silent: `http://127.0.0.1:${silent.address().port}` });
  silent.close();
  equal(found, {
    connect: 'reason connect', connectNever: 'AbortError', consumer: 'AbortError', read: 'reason read', loop: 'reason loop',
    send: 'reason send', sendLater: 'reason later', admin: 'AbortError', flush: 'AbortError', close: 'AbortError',
    left: ['kept', 'later', 'end'],
  }, 'what aborting rejects with');
}

async function aborted({ topic, silent }) {
  const reason = (promise) => promise.then(() => 'no rejection', (error) => (error instanceof Error ? error.name : error));
  const soon = (text) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(text), 30);
    return controller.signal;
  };
  const found = {};
  found.connectNever = await reason(connect(url, { signal: AbortSignal.abort() }));
  found.connect = await reason(connect(silent, { signal: soon('reason connect') }));
  const client = await connect(url);
  found.consumer = await reason(client.consumer({ topics: topic, signal: AbortSignal.abort() }));
  const consumer = await client.consumer({ topics: topic, start: 'latest' });
  found.read = await reason(consumer.read({ signal: soon('reason read') }));
  const loop = async (signal) => {
    for await (const record of consumer.records({ signal })) throw new Error(`unexpected ${record.offset}`);
  };
  found.loop = await reason(loop(soon('reason loop')));
  const producer = client.producer();
  await producer.send({ topic, value: 'kept' });
  // A topic that nobody knows yet keeps a record waiting here: taken back, it is never sent.
  const unknown = client.producer({ autoCreateTopics: false });
  found.send = await reason(unknown.send({ topic: `${topic}-unknown`, value: 'lost' }, { signal: soon('reason send') }));
  // One that is accepted is delivered all the same.
  const slow = client.producer({ lingerMs: 300 });
  await slow.send({ topic, value: 'later', partition: 0 }, { signal: soon('reason later') }).catch((error) => (found.sendLater = error));
  found.flush = await reason(slow.flush({ signal: AbortSignal.abort() }));
  await slow.close();
  found.admin = await reason(client.admin().listTopics({ signal: AbortSignal.abort() }));
  await producer.send({ topic, value: 'end' });
  found.left = [];
  for (let record; (record = await consumer.read()); ) {
    found.left.push(record.text());
    if (record.text() === 'end') break;
  }
  await client.close();
  const other = await connect(url);
  found.close = await reason(other.close({ signal: AbortSignal.abort() }));
  return found;
}
