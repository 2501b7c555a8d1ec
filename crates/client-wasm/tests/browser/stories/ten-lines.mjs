// The ten lines of the README, as they stand there, make a page that produces and consumes.

import { readFile } from 'node:fs/promises';
import { equal, eventually } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

export async function story(world) {
  const topic = `ten-lines-${world.carrier}`;
  const lines = (await tenLines()).replace('http://localhost:8092', world.http).replaceAll("'hello'", `'${topic}'`);
  await world.highwater(['topic', 'create', topic, '--partitions', '3']);
  const map = '<script type="importmap">{ "imports": { "@highwater/client": "/package/index.js" } }</script>';
  const html = `<!doctype html><link rel="icon" href="data:,">${map}<script type="module">${lines}</script>`;
  const page = await world.page();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(await world.serve('/ten-lines.html', html));
  const [line] = await eventually('the record is read', () => said.length > 0 && said);
  equal(line.split(' ').slice(1).join(' '), '0 from a browser', 'what the page has read');
  const native = await world.highwater(['consume', topic, '--from', 'beginning', '--exit-at-end', '--quiet']);
  equal(native.trim(), 'from a browser', 'what a native client reads of it');
}

async function tenLines() {
  const readme = await readFile(new URL('../../../js/README.md', import.meta.url), 'utf8');
  return /```js\n([^]*?)```/.exec(readme)[1];
}
