// The one error class of the package. Codes are stable and the same as in Rust: Kafka's names for what a broker
// answered, the client's own for the rest.

export class HighwaterError extends Error {
  constructor(code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HighwaterError';
    this.code = code;
    this.retriable = details.retriable ?? false;
    this.topic = details.topic;
    this.partition = details.partition;
    this.offset = details.offset;
    this.resumeAt = details.resumeAt;
  }
}

export const closed = () => new HighwaterError('CLOSED', 'the client is closed');

// A number that counts records must be exact.
export function exact(offset, topic, partition) {
  if (Number.isSafeInteger(offset)) return offset;
  const message = `offset ${offset} is beyond what a JavaScript number holds`;
  throw new HighwaterError('OFFSET_TOO_LARGE', message, { topic, partition });
}

// Settles as `promise` does, or is rejected with the signal's reason as soon as it is aborted. `onAbort` then takes back
// what can be taken back.
export function abortable(promise, signal, onAbort) {
  if (!signal) return promise;
  if (signal.aborted) {
    promise.catch(() => {});
    onAbort?.();
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const aborted = () => {
      onAbort?.();
      reject(signal.reason);
    };
    signal.addEventListener('abort', aborted, { once: true });
    const settled = (settle) => (value) => {
      signal.removeEventListener('abort', aborted);
      settle(value);
    };
    promise.then(settled(resolve), settled(reject));
  });
}
