// What carries the frames of one connection: a bidirectional stream of a WebTransport session, or a WebSocket. Both
// behave alike: `start` names who hears of bytes and of the end, `send` takes bytes and keeps their order, `close` ends it
// without a word to the one who closes.

class Carrier {
  #onBytes = () => {};
  #onEnd = () => {};
  isOver = false;

  start(onBytes, onEnd) {
    this.#onBytes = onBytes;
    this.#onEnd = onEnd;
    if (this.isOver) onEnd(this.reason);
  }

  received(bytes) {
    if (!this.isOver) this.#onBytes(bytes);
  }

  // The end, with the reason if there is a particular one.
  end(reason) {
    if (this.isOver) return;
    this.isOver = true;
    this.reason = reason;
    this.release();
    this.#onEnd(reason);
  }

  close() {
    this.#onEnd = () => {};
    this.end();
  }
}

class StreamCarrier extends Carrier {
  #session;
  #reader;
  #writer;
  #queue = [];
  #isWriting = false;

  constructor(session, stream) {
    super();
    this.#session = session;
    this.#reader = stream.readable.getReader();
    this.#writer = stream.writable.getWriter();
  }

  start(onBytes, onEnd) {
    super.start(onBytes, onEnd);
    this.#read();
  }

  // A stream takes what it has room for; the rest waits here. That is little: the engine has few requests on their way.
  send(bytes) {
    if (this.#queue.length === 0 && this.#writer.desiredSize > 0) return this.#write(bytes);
    this.#queue.push(bytes);
    this.#writeWhenReady();
  }

  release() {
    this.#queue.length = 0;
    this.#reader.cancel().catch(() => {});
    // Behind what was sent: the last request of a closing client may be on its way.
    this.#writer.close().catch(() => {});
    this.#session.carrierEnded(this);
  }

  async #read() {
    try {
      for (;;) {
        const { value, done } = await this.#reader.read();
        if (done) return this.end();
        this.received(value);
      }
    } catch (error) {
      this.end(reasonOf(error));
    }
  }

  async #writeWhenReady() {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      while (this.#queue.length > 0) {
        await this.#writer.ready;
        if (this.#queue.length > 0) this.#write(this.#queue.shift());
      }
    } catch (error) {
      this.end(reasonOf(error));
    }
    this.#isWriting = false;
  }

  #write(bytes) {
    this.#writer.write(bytes).catch((error) => this.end(reasonOf(error)));
  }
}

// Unused sessions are closed after this long.
const IDLE_MS = 10_000;
// Brokers take 16 streams on a session; more would wait without a word.
const STREAMS_MAX = 16;
// Codes by which brokers end sessions that are not used, or all of them when they stop: no trouble of this connection.
const ORDERLY = [0, 1, 2];

// A WebTransport session with one broker; every stream of it is a connection.
export class Session {
  #transport;
  #carriers = new Set();
  #opening = 0;
  #onEnd;
  #idle;
  isOver = false;

  // `onEnd` hears of the end once, whoever wanted it.
  constructor(url, hashes, onEnd) {
    this.url = url;
    const certificates = hashes.map((value) => ({ algorithm: 'sha-256', value }));
    const options = certificates.length > 0 ? { serverCertificateHashes: certificates } : {};
    this.#onEnd = onEnd;
    this.#transport = new WebTransport(url, options);
    this.#transport.closed.then(
      ({ closeCode, reason }) => this.end(ORDERLY.includes(closeCode) ? undefined : `closed by the broker: ${reason} (${closeCode})`),
      (error) => this.end(reasonOf(error)),
    );
    this.ready = this.#transport.ready.catch((error) => {
      throw new Error(`WebTransport: ${reasonOf(error)}`);
    });
    this.ready.then(() => this.#restIfUnused(), () => {});
  }

  get isFull() {
    return this.#carriers.size + this.#opening >= STREAMS_MAX;
  }

  async open() {
    this.#opening += 1;
    try {
      await this.ready;
      const carrier = new StreamCarrier(this, await this.#transport.createBidirectionalStream());
      if (this.isOver) carrier.close();
      else this.#carriers.add(carrier);
      return carrier;
    } finally {
      this.#opening -= 1;
      this.#restIfUnused();
    }
  }

  carrierEnded(carrier) {
    this.#carriers.delete(carrier);
    this.#restIfUnused();
  }

  #restIfUnused() {
    clearTimeout(this.#idle);
    if (this.isOver || this.#carriers.size > 0 || this.#opening > 0) return;
    this.#idle = setTimeout(() => this.end(), IDLE_MS);
  }

  end(reason) {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#idle);
    for (const carrier of [...this.#carriers]) carrier.end(reason);
    try {
      this.#transport.close();
    } catch {
      // It may have failed already.
    }
    this.#onEnd(this);
  }
}

export class SocketCarrier extends Carrier {
  #socket;
  #onRelease;

  // A carrier whose socket is open.
  static open(url, signal, onRelease) {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url);
      const failed = (reason) => reject(new Error(`WebSocket: ${reason}`));
      socket.binaryType = 'arraybuffer';
      socket.onopen = () => resolve(new SocketCarrier(socket, onRelease));
      socket.onclose = (event) => failed(closeReason(event) ?? 'the connection failed');
      signal?.addEventListener('abort', () => {
        failed('given up');
        if (socket.readyState === WebSocket.CONNECTING) socket.close();
      }, { once: true });
    });
  }

  constructor(socket, onRelease) {
    super();
    this.#socket = socket;
    this.#onRelease = onRelease;
    socket.onmessage = ({ data }) => this.#message(data);
    socket.onclose = (event) => this.end(closeReason(event));
  }

  send(bytes) {
    // One that is closing tells so; until then there is nothing to be had from it.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  release() {
    this.#socket.onmessage = null;
    this.#socket.onclose = null;
    this.#socket.close(1000);
    this.#onRelease(this);
  }

  #message(data) {
    if (data instanceof ArrayBuffer) this.received(new Uint8Array(data));
    else this.end('the broker sent text');
  }
}

// Nothing if the other side has ended in order, or is just gone: then there is nothing to add.
function closeReason({ code, reason }) {
  if ([1000, 1001, 1005, 1006].includes(code)) return undefined;
  return `closed by the broker: ${reason || 'no reason given'} (${code})`;
}

function reasonOf(error) {
  return error?.message || String(error);
}
