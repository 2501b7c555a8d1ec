// The list of live brokers as each of them serves it at `/brokers`: where their doors are and which certificates they show.

import { HighwaterError } from './errors.js';

const ANSWER_LIMIT_MS = 4_000;
// Lists younger than this are not asked for again, however many connections break at once.
const AGE_MIN_MS = 250;
const TIMER_MAX_MS = 2 ** 31 - 1;
const HOUR_MS = 3_600_000;

export class BrokerList {
  #bases;
  #entries = [];
  #askedAt = -Infinity;
  #asking;
  #isDoubtful = false;
  #renewal;
  #life = new AbortController();

  constructor(bases) {
    this.#bases = bases;
  }

  get entries() {
    return this.#entries;
  }

  // A connection has failed or broken: what the list says may have changed.
  doubt() {
    this.#isDoubtful = true;
  }

  close() {
    this.#life.abort();
    clearTimeout(this.#renewal);
  }

  // The broker that has a door at this address; the list is asked for anew if it may be old or does not know one.
  async find(host, port) {
    if (this.#isDoubtful) await this.refresh().catch(() => {});
    const known = this.#find(host, port);
    if (known) return known;
    await this.refresh();
    const found = this.#find(host, port);
    if (!found) throw new Error('no live broker has a door for browsers at this address');
    return found;
  }

  // Asks one broker after the other until one answers.
  async refresh() {
    if (performance.now() - this.#askedAt < AGE_MIN_MS && this.#entries.length > 0) return;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    await this.#asking;
  }

  async #ask() {
    let first;
    for (const base of this.#candidates()) {
      try {
        this.#entries = parsed(await fetched(base, this.#life.signal), base);
        this.#bases = [base, ...this.#bases.filter((other) => other !== base)];
        this.#askedAt = performance.now();
        this.#isDoubtful = false;
        return this.#renewBeforeEnd();
      } catch (error) {
        first ??= error;
        if (this.#life.signal.aborted) break;
      }
    }
    throw first;
  }

  // The one that answered last, then those that the page named, then all others.
  #candidates() {
    const others = this.#entries.flatMap(({ websocket }) => (websocket ? [httpOf(websocket)] : []));
    return [...new Set([...this.#bases, ...others])];
  }

  #find(host, port) {
    const isAt = (url) => url && url.port === port && url.host === host;
    const exact = this.#entries.find(({ webtransport, websocket }) => isAt(webtransport) || isAt(websocket));
    if (exact) return exact;
    // A broker may call itself by a name here and by an address there.
    const hasPort = ({ webtransport, websocket }) => webtransport?.port === port || websocket?.port === port;
    const same = this.#entries.filter(hasPort);
    return same.length === 1 ? same[0] : undefined;
  }

  // A list is of use until the first certificate in it ends: the next one is announced before.
  #renewBeforeEnd() {
    clearTimeout(this.#renewal);
    const ends = this.#entries.flatMap(({ certificates }) => certificates.slice(0, 1).map(({ endsAt }) => endsAt));
    if (ends.length === 0 || this.#life.signal.aborted) return;
    const left = Math.min(...ends) - Date.now();
    const delay = Math.max(left - Math.min(HOUR_MS, left / 4), 1_000);
    this.#renewal = setTimeout(() => this.#renew(), Math.min(delay, TIMER_MAX_MS));
    this.#renewal.unref?.();
  }

  #renew() {
    this.refresh().catch(() => {
      this.#isDoubtful = true;
      this.#renewBeforeEnd();
    });
  }
}

async function fetched(base, life) {
  const url = new URL('/brokers', base);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), ANSWER_LIMIT_MS);
  const end = () => limit.abort();
  life.addEventListener('abort', end, { once: true });
  try {
    const answer = await fetch(url, { signal: limit.signal, cache: 'no-store', credentials: 'omit' });
    if (answer.ok) return await answer.json();
    const text = (await answer.text()).trim().slice(0, 500);
    if (answer.status === 403) throw new HighwaterError('ORIGIN_REFUSED', `${url}: ${text || 'the origin of this page is refused'}`);
    throw network(url, `answered ${answer.status} ${text}`);
  } catch (error) {
    if (error instanceof HighwaterError) throw error;
    const why = limit.signal.aborted ? `no answer within ${ANSWER_LIMIT_MS} ms` : error.message;
    throw network(url, `${why}; is a broker there, and is this page's origin among its allowed-origins?`, error);
  } finally {
    clearTimeout(timer);
    life.removeEventListener('abort', end);
  }
}

const network = (url, why, cause) => new HighwaterError('NETWORK', `${url}: ${why}`, { retriable: true, cause });

// Entries of the list, checked: it comes from outside.
function parsed(list, base) {
  const brokers = Array.isArray(list?.brokers) ? list.brokers : [];
  const entries = brokers.map(entryOf).filter(Boolean);
  if (entries.length === 0) throw network(base, 'the list of brokers names no door for browsers');
  return entries;
}

function entryOf(broker) {
  const webtransport = doorOf(broker?.webtransport, ['https:']);
  const websocket = doorOf(broker?.websocket, ['ws:', 'wss:']);
  if (!Number.isInteger(broker?.id) || !(webtransport || websocket)) return undefined;
  const certificates = Array.isArray(broker.certificates) ? broker.certificates.map(certificateOf).filter(Boolean) : [];
  return { id: broker.id, webtransport, websocket, certificates };
}

const PORTS = { 'https:': 443, 'wss:': 443, 'ws:': 80 };

function doorOf(text, schemes) {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!schemes.includes(url.protocol)) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { url: text, host, port: Number(url.port) || PORTS[url.protocol] };
}

function certificateOf({ sha256, not_after_ms: endsAt } = {}) {
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) return undefined;
  const hash = Uint8Array.from(sha256.match(/../g), (digits) => parseInt(digits, 16));
  return { hash, endsAt: Number.isFinite(endsAt) ? endsAt : Infinity };
}

function httpOf({ url }) {
  return new URL(url.replace(/^ws/, 'http')).origin;
}
