// The chat example: two tabs and a native client in one room see the same messages in the same order, at the same
// offsets. A tab that comes later sees them too, and who has left is not shown any more.

import { equal } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const EACH = 10;
const ALL = 3 * EACH;

export async function story(world) {
  const room = `harbour-${Date.now() % 100_000}`;
  const heron = await enter(world, 0, room, 'Heron');
  const teal = await enter(world, 1, room, 'Teal');
  for (const tab of [heron, teal]) await present(tab, ['Heron', 'Teal']);

  const lines = Array.from({ length: EACH }, (_, at) => `Otter:${at} from a terminal\n`).join('');
  const reading = world.highwater(['consume', `chat-${room}`, '--from', 'beginning', '--count', `${ALL}`, '--format', 'json']);
  const written = world.highwater(['produce', `chat-${room}`, '--key-separator', ':'], lines);
  await Promise.all([talk(heron, 'Heron'), talk(teal, 'Teal'), written]);

  const native = (await reading).trim().split('\n').map((line) => JSON.parse(line));
  const said = native.map(({ offset, key, value }) => [offset, key, value]);
  equal(said.map(([offset]) => offset), Array.from({ length: ALL }, (_, at) => at), 'the offsets in the room');
  for (const name of ['Heron', 'Teal', 'Otter']) {
    const own = said.filter(([, key]) => key === name).map(([, , words]) => Number.parseInt(words, 10));
    equal(own, Array.from({ length: EACH }, (_, at) => at), `what ${name} said, in its order`);
  }
  equal(await heard(heron, ALL), said, 'what the first tab shows');
  equal(await heard(teal, ALL), said, 'what the second tab shows');

  const late = await enter(world, 2, room, 'Curlew');
  equal(await heard(late, ALL), said, 'what a tab shows that came later');
  await say(late, 'What did I miss?');
  equal(await heard(heron, ALL + 1), await heard(late, ALL + 1), 'what the first tab shows of the newcomer');
  await present(heron, ['Curlew', 'Heron', 'Teal']);
  await pictures(world, late);

  await teal.close();
  await present(heron, ['Curlew', 'Heron']);
}

async function enter(world, broker, room, name) {
  const url = `${world.brokers[broker].http}/examples/chat/?room=${room}`;
  const page = await world.page(url, { prepare: `localStorage.name = '${name}'` });
  await page.locator('#send:enabled').waitFor();
  equal(await page.locator('#carrier').getAttribute('data-transport'), world.carrier, `the carrier of ${name}`);
  return page;
}

async function talk(page, name) {
  for (let at = 0; at < EACH; at += 1) await say(page, `${at} from ${name}`);
}

async function say(page, words) {
  await page.fill('#text', words);
  await page.keyboard.press('Enter');
}

// Offset, author and words of all messages, once there are so many.
async function heard(page, count) {
  const messages = '#log li:not(.mark)';
  await page.waitForFunction(([which, wanted]) => document.querySelectorAll(which).length >= wanted, [messages, count]);
  return page.$$eval(messages, (items) => items.map((item) => [
    Number(item.querySelector('small').textContent),
    item.querySelector('b').textContent,
    item.querySelector('p:not(.head)').textContent,
  ]));
}

// Waits until exactly these are here. A tab that has gone without a word is forgotten after ten seconds.
async function present(page, names) {
  await page.waitForFunction((wanted) => {
    const here = [...document.querySelectorAll('#people li')].map((item) => item.childNodes[1].data);
    return here.sort().join() === wanted;
  }, names.join());
}

async function pictures(world, page) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const [name, width] of [['wide', 1200], ['phone', 390]]) {
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: world.artefact(`${name}-${colorScheme}.png`) });
    }
  }
}
