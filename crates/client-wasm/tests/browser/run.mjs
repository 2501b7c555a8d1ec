// Runs stories in a real browser against a running cluster. Started by `cargo xtask browser`, which makes the cluster and
// installs what is needed. Every file in `stories/` exports:
//
//   carriers   which ways to the brokers it is told by, one after the other: ['webtransport', 'websocket'] as a rule
//   holds      optional: true if it compares what pages hold in memory
//   story      async (world) => {}: it throws if what it shows does not hold
//
// World, see `world.mjs`: carrier, brokers, tab(), page(), kill(id), restart(id), highwater(...), held(), artefact(name).
//
//   node run.mjs [--only NAME,NAME] [--carrier NAME]
//
// BROWSER_LONG=1 tells stories that take minutes in their whole length.

import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { World } from './world.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' }, carrier: { type: 'string' } } });
const only = values.only?.split(',');
const folder = new URL('./stories/', import.meta.url);
const names = (await readdir(folder)).filter((name) => name.endsWith('.mjs')).map((name) => name.slice(0, -4)).sort();
const missing = (only ?? []).filter((name) => !names.includes(name));
if (missing.length > 0) throw new Error(`there is no story ${missing.join(', ')}; there are ${names.join(', ')}`);

await new World('websocket', 'run').doorsAnnounced();

let passed = 0;
const failed = [];
const summaries = [];
for (const name of names.filter((name) => !only || only.includes(name))) {
  const { carriers, holds, story } = await import(new URL(`${name}.mjs`, folder));
  for (const carrier of carriers.filter((carrier) => !values.carrier || carrier === values.carrier)) {
    const world = new World(carrier, name, holds);
    const began = performance.now();
    let failure;
    try {
      await story(world);
      world.checkNoErrors();
    } catch (error) {
      failure = error;
    }
    await world.close();
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const line = `${failure ? 'FAILED' : 'ok    '} ${name} over ${carrier} (${seconds} s)${world.told ? `: ${world.told}` : ''}`;
    console.log(line);
    summaries.push(line);
    if (failure) {
      console.log(failure.stack ?? failure, world.said.join('\n'));
      failed.push(`${name} over ${carrier}`);
    } else passed += 1;
  }
}
console.log(`\n${summaries.join('\n')}`);
console.log(`test result: ${failed.length === 0 ? 'ok' : 'FAILED'}. ${passed} passed; ${failed.length} failed; 0 ignored; browser stories`);
process.exit(failed.length === 0 ? 0 : 1);
