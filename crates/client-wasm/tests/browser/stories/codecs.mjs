// Every codec is read; all but zstd are written. What a tab writes a native client reads, and the other way round.

import { equal } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const LINES = 2_000;
const line = (number) => `${number} the quick brown fox jumps over the lazy dog`;

export async function story(world) {
  const tab = await world.tab();
  await tab.evaluate(async () => (globalThis.client = await connect(url)));
  const all = Array.from({ length: LINES }, (_, number) => line(number)).join('\n');
  let before = 0;
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
    const topic = `codec-${codec}-${world.carrier}`;
    await world.highwater(['topic', 'create', topic, '--partitions', '1']);
    if (codec === 'zstd') await world.highwater(['produce', '--quiet', '--compression', codec, topic], all);
    else await tab.evaluate(produce, { topic, codec, lines: LINES });
    equal(await tab.evaluate(consume, topic), all, `${codec}, read by a tab`);
    const native = await world.highwater(['consume', '--quiet', '--from', 'beginning', '--exit-at-end', topic]);
    equal(native.trimEnd(), all, `${codec}, read by a native client`);
    if (codec === 'zstd') continue;
    const sent = await tab.evaluate(() => client.metrics().batchBytesSent);
    world.tell(`${world.told} ${codec} ${sent - before}`.trim());
    before = sent;
  }
  equal(await tab.evaluate(refused), 'INVALID_OPTION', 'zstd is refused before anything is sent');
  // The native client writes each, and the tab reads it.
  for (const codec of ['none', 'gzip', 'snappy', 'lz4']) {
    const topic = `codec-native-${codec}-${world.carrier}`;
    await world.highwater(['topic', 'create', topic, '--partitions', '1']);
    await world.highwater(['produce', '--quiet', '--compression', codec, topic], all);
    equal(await tab.evaluate(consume, topic), all, `${codec} of a native client, read by a tab`);
  }
  await tab.evaluate(() => client.close());
}

async function produce({ topic, codec, lines }) {
  const producer = client.producer({ compression: codec, lingerMs: 5 });
  for (let number = 0; number < lines; number += 1) {
    producer.enqueue({ topic, value: `${number} the quick brown fox jumps over the lazy dog` });
  }
  await producer.close();
}

async function consume(topic) {
  const consumer = await client.consumer({ topics: topic, start: 'earliest', untilEnd: true });
  const lines = [];
  for await (const record of consumer) lines.push(record.text());
  return lines.join('\n');
}

function refused() {
  try {
    client.producer({ compression: 'zstd' });
  } catch (error) {
    return error.code;
  }
}
