// Which way a client takes to the brokers: WebTransport, or WebSocket while that is refused. One way for all brokers at a
// time, since brokers name each other by the door that they are asked at.

import { BrokerList } from './brokers.js';
import { Session, SocketCarrier } from './carriers.js';
import { HighwaterError } from './errors.js';

// A session that is not there by then is given up.
const SESSION_LIMIT_MS = 3_000;
// A broker has to fail so often in a row while WebSocket works, if others were reached by WebTransport before.
const FAILURES_MIN = 2;
// A broker that has just started may not have told the others yet where its door is.
const FAILURES_WITHOUT_DOOR_MIN = 6;
const RETRY_MS = 15_000;
const RETRY_MAX_MS = 300_000;

export class Doors {
  #list;
  #preference;
  #mode;
  #sessions = new Set();
  #sockets = new Set();
  #failures = new Map();
  #wasUp = false;
  #retry;
  #retryMs;
  #retryFirstMs;
  #onChange = () => {};
  #isClosed = false;

  constructor(bases, preference = 'auto', retryMs = RETRY_MS) {
    const isThere = typeof globalThis.WebTransport === 'function';
    if (preference === 'webtransport' && !isThere) {
      throw new HighwaterError('UNSUPPORTED_BY_BROWSER', 'this browser has no WebTransport here; it needs https:// or localhost');
    }
    this.#list = new BrokerList(bases);
    this.#preference = isThere ? preference : 'websocket';
    this.#mode = this.#preference === 'websocket' ? 'websocket' : 'webtransport';
    this.#retryFirstMs = this.#retryMs = retryMs;
  }

  get mode() {
    return this.#mode;
  }

  // Learns where the brokers are. Gives addresses to begin with.
  async prepare() {
    await this.#list.refresh();
    const doors = this.#list.entries.map((entry) => entry[this.#mode] ?? entry.websocket ?? entry.webtransport);
    return doors.map(({ host, port }) => ({ host, port }));
  }

  onChange(listener) {
    this.#onChange = listener;
  }

  // A carrier to the broker that has a door at this address.
  async open(host, port, signal) {
    const entry = await this.#list.find(host, port);
    if (this.#mode === 'websocket') return this.#socket(entry, signal);
    try {
      const carrier = await this.#session(entry).open();
      this.#failures.delete(entry.id);
      this.#wasUp = true;
      return carrier;
    } catch (error) {
      this.#list.doubt();
      return this.#fallBack(entry, signal, error);
    }
  }

  // A carrier that was opened here has ended by itself.
  lost() {
    this.#list.doubt();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#list.close();
    for (const session of [...this.#sessions]) session.end();
    for (const carrier of [...this.#sockets]) carrier.close();
  }

  // A session with the broker that has room for one more stream.
  #session(entry) {
    if (!entry.webtransport) throw new Error('the broker has no door for WebTransport');
    const { url } = entry.webtransport;
    const known = [...this.#sessions].find((session) => session.url === url && !session.isFull);
    return known ?? this.#begun(entry);
  }

  #begun({ webtransport: { url }, certificates }) {
    const hashes = certificates.map(({ hash }) => hash);
    const session = new Session(url, hashes, (ended) => this.#sessions.delete(ended));
    this.#sessions.add(session);
    const limit = setTimeout(() => session.end(`no answer within ${SESSION_LIMIT_MS} ms`), SESSION_LIMIT_MS);
    session.ready.catch(() => {}).finally(() => clearTimeout(limit));
    return session;
  }

  #socket(entry, signal) {
    if (!entry.websocket) return Promise.reject(new Error('the broker has no door for WebSocket'));
    return SocketCarrier.open(entry.websocket.url, signal, (carrier) => this.#sockets.delete(carrier)).then(
      (carrier) => {
        this.#sockets.add(carrier);
        return carrier;
      },
      (error) => {
        this.#list.doubt();
        throw error;
      },
    );
  }

  // If WebSocket reaches the broker that WebTransport does not, it is the way that is closed and not the broker.
  async #fallBack(entry, signal, error) {
    const failures = (this.#failures.get(entry.id) ?? 0) + 1;
    this.#failures.set(entry.id, failures);
    const isHasty = this.#wasUp && failures < (entry.webtransport ? FAILURES_MIN : FAILURES_WITHOUT_DOOR_MIN);
    if (this.#preference !== 'auto' || isHasty || !entry.websocket || this.#isClosed) throw error;
    const carrier = await this.#socket(entry, signal).catch(() => {
      throw error;
    });
    if (this.#mode === 'webtransport') {
      this.#mode = 'websocket';
      for (const session of [...this.#sessions]) session.end('going over to WebSocket');
      this.#scheduleRetry();
      this.#onChange(error.message);
    }
    return carrier;
  }

  #scheduleRetry() {
    clearTimeout(this.#retry);
    if (this.#isClosed) return;
    this.#retry = setTimeout(() => this.#tryAgain(), this.#retryMs);
    this.#retry.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }

  // Back to WebTransport when every broker can be reached by it.
  async #tryAgain() {
    this.#list.doubt();
    await this.#list.refresh().catch(() => {});
    const attempts = await Promise.allSettled(this.#list.entries.map(async (entry) => this.#session(entry).ready));
    if (this.#isClosed) return;
    if (attempts.some(({ status }) => status === 'rejected')) {
      for (const session of [...this.#sessions]) session.end();
      return this.#scheduleRetry();
    }
    this.#mode = 'webtransport';
    this.#retryMs = this.#retryFirstMs;
    this.#failures.clear();
    this.#onChange();
    for (const carrier of [...this.#sockets]) carrier.end('going back to WebTransport');
  }
}
