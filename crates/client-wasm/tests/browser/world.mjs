// What a story has at hand: a browser, pages whose errors are noticed, the brokers, and the native client.
//
// Environment, set by `cargo xtask browser`: HIGHWATER_CLUSTER (the description of the cluster), HIGHWATER_BINARY,
// BROWSER_PACKAGE (the built npm package), BROWSER_TOOLS (a folder with `node_modules`), BROWSER_ARTEFACTS, CHROMIUM.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';

const require = createRequire(join(process.env.BROWSER_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');

// Compiled code and what the compiler notes for itself count as heap, and grow for as long as a page runs: without them, the heap is what
// the page holds.
const NOT_COMPILED = '--no-opt --no-sparkplug --no-maglev --no-lazy-feedback-allocation --no-flush-bytecode';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.map': 'application/json', '.json': 'application/json', '.css': 'text/css', '.svg': 'image/svg+xml' };
const BLANK = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>story</title>';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Looks again and again until `look` gives something; `what` is named if it never does.
export async function eventually(what, look, limitMs = 30_000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${limitMs} ms`);
    await sleep(50);
  }
}

// Where a file is put that is kept.
export function artefact(name) {
  mkdirSync(process.env.BROWSER_ARTEFACTS, { recursive: true });
  return join(process.env.BROWSER_ARTEFACTS, name);
}

export function equal(found, wanted, what) {
  if (isDeepStrictEqual(found, wanted)) return;
  throw new Error(`${what}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
}

export class World {
  #browser;
  #server;
  #html = new Map();
  #contexts = [];
  #profile;
  #own = [];
  #devtools;
  // What the pages' consoles said, and which of it are errors.
  said = [];
  errors = [];
  // A line for the summary.
  told = '';

  // `holds`: the story looks at what pages hold.
  constructor(carrier, name, holds = false) {
    this.carrier = carrier;
    this.name = name;
    this.holds = holds;
  }

  // The brokers: { id, http: 'http://127.0.0.1:8092', kafka: '127.0.0.1:9092', pid }. `pid` is that of the last start.
  get brokers() {
    this.nodes ??= describedNodes();
    return this.nodes;
  }

  get http() {
    return this.brokers[0].http;
  }

  // Whether there is time for the whole length of stories that take minutes.
  get isLong() {
    return process.env.BROWSER_LONG === '1';
  }

  get bootstrap() {
    return this.brokers.map(({ kafka }) => kafka).join(',');
  }

  // A page at `url`, in a context of its own as another person's browser would be. Errors in its console, and thrown ones,
  // are collected; `tolerated` names (as a regular expression) what is expected.
  async page(url, { tolerated, prepare } = {}) {
    const browser = await this.#launched();
    const context = await browser.newContext();
    this.#contexts.push(context);
    if (this.carrier === 'websocket') await withoutWebTransport(context);
    if (prepare) await context.addInitScript(prepare);
    const page = await context.newPage();
    const noted = (kind, text) => {
      this.said.push(`  [${kind}] ${text}`);
      if (kind === 'error' && !tolerated?.test(text)) this.errors.push(text);
    };
    page.on('console', (message) => noted(message.type(), `${message.text()} ${message.location().url ?? ''}`));
    page.on('pageerror', (error) => noted('error', error.stack ?? String(error)));
    if (url) await page.goto(url);
    return page;
  }

  // An empty page with `connect`, `HighwaterError` and `url` (of a broker) as globals.
  async tab({ broker = this.brokers[0], ...options } = {}) {
    const page = await this.page(await this.serve('/blank.html', BLANK), options);
    await page.evaluate(async (url) => {
      Object.assign(globalThis, await import('/package/index.js'), { url });
    }, broker.http);
    return page;
  }

  // Puts a page onto the story's own server, which serves the package at `/package/`. Gives its address.
  async serve(path, html) {
    this.#html.set(path, html);
    return `http://127.0.0.1:${(await this.#serving()).address().port}${path}`;
  }

  // Runs the native client, with `input` if there is any; gives what it printed.
  highwater(args, input) {
    const running = promisify(execFile)(process.env.HIGHWATER_BINARY, args, {
      env: { ...process.env, HIGHWATER_BOOTSTRAP: this.bootstrap },
      maxBuffer: 1 << 28,
      encoding: 'utf8',
      timeout: 60_000,
    });
    // A command that reads nothing may have ended by now.
    running.child.stdin.on('error', () => {});
    running.child.stdin.end(input ?? '');
    return running.then(({ stdout }) => stdout);
  }

  // A broker of its own with further arguments; it ends with the story. Gives it as the others are described.
  async broker(...args) {
    const folder = await this.folder();
    const ports = await freePorts(3);
    const [kafka, replica, http] = ports.map((port) => `127.0.0.1:${port}`);
    const log = openSync(join(folder, 'broker.log'), 'a');
    const child = spawn(process.env.HIGHWATER_BINARY, ['serve', '--data-dir', join(folder, 'broker'), '--listen', kafka,
      '--replica-listen', replica, '--http-listen', http, ...args], { stdio: ['ignore', log, log] });
    this.#own.push(child);
    const node = { id: 1, kafka, http: `http://${http}`, pid: child.pid };
    const isReady = async () => {
      const { brokers } = await fetch(`${node.http}/brokers`).then((answer) => answer.json());
      return brokers[0]?.webtransport !== undefined && brokers[0].webtransport !== null;
    };
    await eventually('the broker is ready', () => isReady().catch(() => false), 60_000);
    return node;
  }

  // The sum of a metric's lines at one broker.
  async metric({ http }, name) {
    return metric(await fetch(`${http}/metrics`).then((answer) => answer.text()), name);
  }

  // What brokers hold now, added up: clients, each counted once at each broker; streams and sockets; bytes of memory.
  async held(nodes = this.brokers) {
    const each = await Promise.all(nodes.map(async ({ http, pid }) => {
      const metrics = await fetch(`${http}/metrics`).then((answer) => answer.text());
      return { clients: metric(metrics, 'highwater_clients'), connections: metric(metrics, 'highwater_connections'), resident: resident(pid) };
    }));
    const sum = (name) => each.reduce((total, broker) => total + broker[name], 0);
    return { clients: sum('clients'), connections: sum('connections'), resident: sum('resident') };
  }

  // The same once nothing of it comes or goes any more.
  async settled(nodes) {
    let before = await this.held(nodes);
    return eventually('clients come and go no more', async () => {
      const now = await this.held(nodes);
      const isSame = now.clients === before.clients && now.connections === before.connections;
      before = now;
      return isSame && now;
    });
  }

  // What a tab holds, once all that nobody needs is gone; it has to be `observed`.
  async heldBy(tab) {
    this.#devtools ??= new Map();
    if (!this.#devtools.has(tab)) {
      const session = await tab.context().newCDPSession(tab);
      await session.send('HeapProfiler.enable');
      this.#devtools.set(tab, session);
    }
    const devtools = this.#devtools.get(tab);
    for (let times = 0; times < 3; times += 1) await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    return { heap: usedSize, wasm: await tab.evaluate(() => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0)) };
  }

  kill(id, signal = 'SIGKILL') {
    const node = this.brokers.find((node) => node.id === id);
    process.kill(node.pid, signal);
    return node;
  }

  // Starts a broker that was killed, as it was started before, and waits until it is ready.
  async restart(id) {
    const node = this.brokers.find((node) => node.id === id);
    const log = openSync(node.log, 'a');
    const [program, ...args] = node.command;
    const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log] });
    child.unref();
    node.pid = child.pid;
    await eventually(`broker ${id} is ready`, () => fetch(`${node.http}/readyz`).then(({ ok }) => ok, () => false), 60_000);
    await this.doorsAnnounced();
  }

  // Brokers tell each other where their doors are soon after they are ready.
  async doorsAnnounced() {
    const isComplete = async ({ http }) => {
      const { brokers } = await fetch(`${http}/brokers`).then((answer) => answer.json());
      return brokers.length === this.brokers.length && brokers.every(({ webtransport }) => webtransport);
    };
    const all = () => Promise.all(this.brokers.map(isComplete)).then((complete) => complete.every(Boolean), () => false);
    await eventually('every broker knows all doors', all, 60_000);
  }

  // Where a file is put that is kept when the run is over.
  artefact(name) {
    return artefact(`${this.name}-${this.carrier}-${name}`);
  }

  tell(text) {
    this.told = text;
  }

  checkNoErrors() {
    if (this.errors.length > 0) throw new Error(`the console has errors:\n${this.errors.join('\n')}`);
  }

  async close() {
    for (const context of this.#contexts) await context.close().catch(() => {});
    await this.#browser?.close().catch(() => {});
    this.#server?.closeAllConnections();
    this.#server?.close();
    await Promise.all(this.#own.map((child) => ended(child)));
    if (this.#profile) await rm(this.#profile, { recursive: true, force: true });
  }

  async #launched() {
    this.#browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM, args: [...FLAGS, `--js-flags=--expose-gc ${this.holds ? NOT_COMPILED : ''}`] });
    return this.#browser;
  }

  async #serving() {
    if (this.#server) return this.#server;
    this.#server = createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this.#server;
  }

  async #answer(request, response) {
    const { pathname } = new URL(request.url, 'http://x');
    try {
      const html = this.#html.get(pathname);
      const body = html ?? (await readFile(join(process.env.BROWSER_PACKAGE, normalize(pathname.replace(/^\/package\//, '')))));
      response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'application/octet-stream' });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  }

  // A folder that is gone when the story is over.
  async folder() {
    this.#profile ??= await mkdtemp(join(tmpdir(), 'highwater-story-'));
    return this.#profile;
  }
}

// For a page's `prepare`: notes what is opened and what of it is closed, and the memories of modules.
export function observed() {
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

// More of anything than a twentieth is growth,
const GROWTH_MAX = 1.05;
// but of how many of the three brokers a client needs a connection at a moment is chance: of all of them, or of one.
const BY_CHANCE = { clients: 2, connections: 2 };

export function checkNoGrowth(what, early, late) {
  for (const [kind, before] of Object.entries(early)) {
    const most = before * GROWTH_MAX + (BY_CHANCE[kind] ?? 0);
    if (late[kind] > most) throw new Error(`${what}: ${kind} grew from ${before} to ${late[kind]}`);
  }
}

export const grown = (early, late) => Object.keys(early).map((kind) => `${kind} ${early[kind]} -> ${late[kind]}`).join(', ');

// The sum of a metric's lines.
function metric(text, name) {
  const lines = text.split('\n').filter((line) => /^[^{ ]+/.exec(line)?.[0] === name);
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

function resident(pid) {
  return 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

async function freePorts(count) {
  const servers = await Promise.all(Array.from({ length: count }, () => new Promise((resolve) => {
    const server = createTcpServer().listen(0, '127.0.0.1', () => resolve(server));
  })));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const limit = setTimeout(() => child.kill('SIGKILL'), 10_000);
  return end.finally(() => clearTimeout(limit));
}

// In pages by a script that runs before theirs, in workers by the first line of the client that they load.
async function withoutWebTransport(context) {
  await context.addInitScript(() => delete globalThis.WebTransport);
  await context.route(/\/(client|package)\/index\.js$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `delete globalThis.WebTransport;${await response.text()}` });
  });
}

let nodes;

// Shared by all stories of a run: a broker that one has started again has another process then.
function describedNodes() {
  nodes ??= JSON.parse(readFileSync(process.env.HIGHWATER_CLUSTER, 'utf8')).nodes.map((node) => ({
    ...node,
    http: `http://${node.http}`,
  }));
  return nodes;
}
