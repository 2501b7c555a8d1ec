// The dashboard example at 10,000 records a second: all are read, and the display goes on at its own rate.

import { equal } from '../world.mjs';

export const carriers = ['webtransport', 'websocket'];

const TRACED_MS = 20_000;
const RATE = 10_000;
// Of the frames that the display, which without a screen is one of 60 Hz, had to offer.
const DROPPED_SHARE_MAX = 0.01;
const PERIOD_MS = 1000 / 60;

export async function story(world) {
  const page = await world.page(`${world.http}/examples/dashboard/`);
  await page.setViewportSize({ width: 1200, height: 800 });
  await page.locator(`#carrier[data-transport=${world.carrier}]`).waitFor();
  await page.keyboard.press('l');
  await page.waitForFunction((wanted) => Number(document.getElementById('rate').value.replaceAll(',', '')) > wanted, 0.9 * RATE);

  const [began, before] = [Date.now(), await total(page)];
  const times = await trace(page, TRACED_MS);
  const rate = ((await total(page)) - before) / (Date.now() - began) * 1000;
  const { frames, dropped } = count(times);
  const share = dropped / frames;
  world.tell(`${Math.round(rate)} records/s, ${dropped} of ${frames} frames dropped (${(share * 100).toFixed(2)} %)`);
  await pictures(world, page);
  await page.keyboard.press('l');
  await page.locator('#load[aria-pressed=false]').waitFor();
  equal(Math.abs(rate - RATE) < 0.05 * RATE, true, `${rate} records/s are ${RATE}`);
  equal(share < DROPPED_SHARE_MAX, true, `${dropped} of ${frames} frames dropped are few enough`);
}

// When each frame began, in milliseconds.
function trace(page, limitMs) {
  return page.evaluate((limit) => new Promise((resolve) => {
    const times = [];
    const frame = (at) => {
      times.push(at);
      if (at - times[0] < limit) requestAnimationFrame(frame);
      else resolve(times);
    };
    requestAnimationFrame(frame);
  }), limitMs);
}

// A gap of n periods between two frames has dropped n - 1 of them.
function count(times) {
  const gaps = times.slice(1).map((time, at) => time - times[at]);
  const frames = gaps.reduce((sum, gap) => sum + Math.max(1, Math.round(gap / PERIOD_MS)), 0);
  return { frames, dropped: frames - gaps.length };
}

const total = (page) => page.$eval('#total', (output) => Number(output.value.replaceAll(',', '')));

async function pictures(world, page) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const [name, width] of [['wide', 1200], ['phone', 390]]) {
      await page.setViewportSize({ width, height: 800 });
      // The figures and rows are shown anew four times a second, the plot in the next frame.
      await trace(page, 500);
      await page.screenshot({ path: world.artefact(`${name}-${colorScheme}.png`) });
    }
  }
}
