// Two hundred reconnects of one client and two hundred clients one after the other: neither leaves anything behind.

import { eventually } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const ROUNDS = 200;
const SETTLED = 20;
const GROWTH_MAX = 1.05;
// Compiled code counts as heap, and more gets compiled all the time.
const NOISE_BYTES = 300_000;

export async function story(world) {
  const topic = `reconnects-${world.carrier}`;
  await world.highwater(['topic', 'create', topic, '--partitions', '1']);
  const tab = await world.tab({ prepare: observed });
  const devtools = await tab.context().newCDPSession(tab);
  await devtools.send('HeapProfiler.enable');
  const measure = async () => {
    for (let times = 0; times < 3; times += 1) await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    return { heap: usedSize, wasm: await tab.evaluate(() => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0)) };
  };
  for (const [what, round] of [['reconnects', reconnect], ['clients', another]]) {
    await tab.evaluate(begin, topic);
    let early;
    for (let number = 1; number <= ROUNDS; number += 1) {
      await tab.evaluate(round, topic);
      if (number === SETTLED) early = await measure();
    }
    const late = await measure();
    await tab.evaluate(() => client.close());
    for (const kind of ['heap', 'wasm']) {
      const allowed = Math.max(early[kind] * GROWTH_MAX, early[kind] + (kind === 'heap' ? NOISE_BYTES : 0));
      if (late[kind] > allowed) throw new Error(`${what}: ${kind} grew from ${early[kind]} to ${late[kind]} bytes`);
    }
    world.tell(`${world.told} ${what}: heap ${early.heap} -> ${late.heap}, wasm ${early.wasm} -> ${late.wasm};`.trim());
  }
  await eventually('all carriers are closed', () => tab.evaluate(() => open() === 0));
}

// In the page, before everything else: notes what is opened and what of it is closed.
function observed() {
  const { instantiateStreaming, instantiate } = WebAssembly;
  Object.assign(globalThis, { memories: [], carriers: new Set() });
  // The browser notes each request of a page by itself.
  performance.setResourceTimingBufferSize(0);
  const noted = async (made) => {
    const result = await made;
    memories.push((result.instance ?? result).exports.memory);
    return result;
  };
  WebAssembly.instantiateStreaming = (...parts) => noted(instantiateStreaming(...parts));
  WebAssembly.instantiate = (...parts) => noted(instantiate(...parts));
  globalThis.open = () => carriers.size;
  for (const name of ['WebTransport', 'WebSocket']) {
    const Real = globalThis[name];
    if (!Real) continue;
    globalThis[name] = class extends Real {
      constructor(...parts) {
        super(...parts);
        carriers.add(this);
        const gone = () => carriers.delete(this);
        if (name === 'WebSocket') this.addEventListener('close', gone);
        else this.closed.then(gone, gone);
      }
    };
  }
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
  const consumer = await other.consumer({ topics: topic, start: 'earliest' });
  await consumer.read();
  await other.producer().send({ topic, value: 'another' });
  await other.close();
}
