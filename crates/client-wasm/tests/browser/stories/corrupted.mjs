// Whatever bytes come from a broker, flipped, cut or made up: errors at most, never a fault of the module; and when sound
// ones come again, the same module serves as before.

import { equal } from '../world.mjs';

export const carriers = ['websocket'];

const ROUNDS = 16;

export async function story(world) {
  const topic = 'corrupted';
  await world.highwater(['topic', 'create', topic, '--partitions', '2']);
  await world.highwater(['produce', '--quiet', '--compression', 'zstd', topic], Array.from({ length: 500 }, (_, number) => `line ${number}`).join('\n'));
  const tab = await world.tab({ prepare: corrupting });
  const { codes, corrupted } = await tab.evaluate(suffer, { topic, rounds: ROUNDS });
  equal(codes.INTERNAL, undefined, 'faults of the module');
  equal(codes.other, undefined, 'what is no HighwaterError');
  if (corrupted < ROUNDS) throw new Error(`only ${corrupted} messages were corrupted`);
  equal(await tab.evaluate(recovered, topic), 500, 'records read when all is sound again');
  world.tell(`${corrupted} corrupted messages; ${Object.entries(codes).map(([code, times]) => `${code} ${times}`).join(', ')}`);
}

// In the page, before everything else: a WebSocket that changes what comes, by a rule that is the same in every run.
function corrupting() {
  let state = 20261201;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  globalThis.corruption = { isOn: false, done: 0 };
  const changes = [
    (bytes) => ((bytes[random(bytes.length)] ^= 1 << random(8)), bytes),
    (bytes) => bytes.slice(0, random(bytes.length)),
    (bytes) => (bytes.fill(random(256), random(bytes.length), bytes.length), bytes),
    (bytes) => new Uint8Array([...bytes.slice(0, random(bytes.length)), ...Array.from({ length: random(40) }, () => random(256))]),
    // The frame and its correlation id are sound, the rest is made up.
    (bytes) => (bytes.set(Array.from({ length: Math.max(bytes.length - 8, 0) }, () => random(4)), Math.min(8, bytes.length)), bytes),
  ];
  const changed = (data) => {
    if (!corruption.isOn || random(3) > 0) return data;
    corruption.done += 1;
    return changes[random(changes.length)](new Uint8Array(data)).slice().buffer;
  };
  globalThis.WebSocket = class extends WebSocket {
    set onmessage(listener) {
      super.onmessage = listener && ((event) => listener({ data: changed(event.data) }));
    }
  };
}

async function suffer({ topic, rounds }) {
  const codes = {};
  const noted = (promise) => promise.then(
    () => (codes.ok = (codes.ok ?? 0) + 1),
    (error) => {
      const code = error instanceof HighwaterError ? error.code : error.name === 'TimeoutError' ? 'gave up' : 'other';
      codes[code] = (codes[code] ?? 0) + 1;
    },
  );
  corruption.isOn = true;
  for (let round = 0; round < rounds; round += 1) {
    const signal = AbortSignal.timeout(1_500);
    const attempt = async () => {
      const client = await connect(url, { signal, requestTimeoutMs: 400, connectTimeoutMs: 400, callTimeoutMs: 800 });
      try {
        await noted(client.admin().describeTopic(topic, { signal }));
        const producer = client.producer({ deliveryTimeoutMs: 500 });
        await noted(producer.send({ topic: `${topic}-other`, value: 'x' }, { signal }));
        const consumer = await client.consumer({ topics: topic, start: 'earliest', signal });
        for (let times = 0; times < 10; times += 1) await noted(consumer.readMany(100, { signal }));
      } finally {
        await noted(client.close({ signal: AbortSignal.timeout(200) }));
      }
    };
    await noted(attempt());
  }
  corruption.isOn = false;
  return { codes, corrupted: corruption.done };
}

async function recovered(topic) {
  const client = await connect(url);
  const consumer = await client.consumer({ topics: topic, start: 'earliest', untilEnd: true });
  let records = 0;
  for await (const batch of consumer.batches()) records += batch.length;
  await client.close();
  return records;
}
