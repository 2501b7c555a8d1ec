// The handle to one cluster.

import { Admin } from './admin.js';
import { Consumer } from './consumer.js';
import { Core } from './core.js';
import { Doors } from './doors.js';
import { load } from './engine.js';
import { abortable, closed } from './errors.js';
import * as known from './options.js';
import { Producer } from './producer.js';

// Resolves when one of the cluster's brokers has answered. `urls` are HTTP addresses of some of them; without any, the
// page's own server is taken for one.
export async function connect(urls, options) {
  const bases = basesOf(urls);
  const { signal, transport, webtransportRetryMs, ...settings } = known.checked(options, known.CLIENT);
  signal?.throwIfAborted();
  const doors = new Doors(bases, transport, webtransportRetryMs);
  let client;
  try {
    await abortable(load(), signal);
    const addresses = await abortable(doors.prepare(), signal);
    client = new Client(settings, doors, addresses);
    await client.bootstrap(signal);
  } catch (error) {
    client?.end();
    doors.close();
    throw error;
  }
  return client;
}

// The module is loaded from beside this one as a rule. Where that cannot be (a bundler that inlines, a runtime without
// `fetch`), this is called first, with its bytes, a URL or a response.
export { load };

function basesOf(urls) {
  const own = globalThis.location?.origin;
  const given = urls ?? own ?? [];
  const list = (Array.isArray(given) ? given : String(given).split(',')).map((url) => String(url).trim()).filter(Boolean);
  const isHttp = (url) => URL.canParse(url, own) && /^https?:$/.test(new URL(url, own).protocol);
  if (list.length === 0 || !list.every(isHttp)) throw known.invalid('a URL', 'be the HTTP address of a broker, as http://localhost:8092');
  return list.map((url) => new URL(url, own).origin);
}

export class Client {
  #core;
  #listeners = new Set();
  #closing;

  constructor(settings, doors, addresses) {
    this.#core = new Core(settings, doors, addresses, (state) => this.#tell(state));
  }

  // For `connect`.
  bootstrap(signal) {
    return this.#core.ask((engine, call) => engine.bootstrap(call), signal);
  }

  producer(options) {
    return new Producer(this.#core, known.checked(options, known.PRODUCER));
  }

  consumer(options) {
    return Consumer.open(this.#core, options);
  }

  admin() {
    return new Admin(this.#core);
  }

  // How the brokers are reached now.
  get state() {
    return this.#core.state;
  }

  // Calls the listener with the state of now and with each new one. Gives a function that ends that.
  on(event, listener) {
    if (event !== 'state') throw known.invalid('an event', "be 'state'");
    this.#listeners.add(listener);
    queueMicrotask(() => this.#listeners.has(listener) && listener(this.state));
    return () => this.off(event, listener);
  }

  off(_event, listener) {
    this.#listeners.delete(listener);
  }

  metrics() {
    return this.#core.use((engine) => engine.metrics());
  }

  // Delivers what producers hold, lets consumers leave their groups, and closes all connections. Rejects with the first
  // failure of a record.
  close(options) {
    return (this.#closing ??= this.#close(known.checked(options, known.SIGNAL).signal));
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  // Without waiting for anything.
  end() {
    this.#core.end();
  }

  async #close(signal) {
    if (this.#core.isClosed) return;
    try {
      await this.#core.ask((engine, call) => engine.close(call), signal);
    } catch (error) {
      if (error.code !== closed().code) throw error;
    } finally {
      this.#core.end();
    }
  }

  #tell(state) {
    for (const listener of [...this.#listeners]) {
      // A listener's slip is the page's to see, and nobody else's to suffer from.
      queueMicrotask(() => listener(state));
    }
  }
}
