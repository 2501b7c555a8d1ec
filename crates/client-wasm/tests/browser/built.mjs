// Runs what Vite has built, from a server of plain files: node built.mjs DIST BROKER

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';

const { chromium } = createRequire(join(process.env.BROWSER_TOOLS, 'package.json'))('playwright-core');
const [folder, broker] = process.argv.slice(2);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };

const server = createServer(async (request, response) => {
  const path = new URL(request.url, 'http://x').pathname;
  const name = path === '/' ? 'index.html' : normalize(path);
  try {
    const body = await readFile(join(folder, name));
    response.writeHead(200, { 'content-type': TYPES[extname(name)] ?? 'text/plain' }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage();
const errors = [];
page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
page.on('pageerror', (error) => errors.push(error.stack));
await page.goto(`http://127.0.0.1:${server.address().port}/?broker=${broker}`);
await page.waitForFunction(() => document.title !== 'running', undefined, { timeout: 60_000 });
const title = await page.title();
await browser.close();
server.close();
if (title !== '2 0 built vite TOPIC_ALREADY_EXISTS' || errors.length > 0) {
  console.error(title, errors.join('\n'));
  process.exit(1);
}
