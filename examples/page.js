// What both examples need around the client: words for people (what an error means and what to do about it, how a
// carrier is called) and a few lines to build a page with. The error codes are stable; a broker's own are Kafka's names.

const ADVICE = {
  NETWORK: 'No broker answers there. Is the cluster running? The page tries again by itself.',
  TIMED_OUT: 'The cluster did not answer in time. Look at its state with “highwater cluster status”.',
  UNKNOWN_OUTCOME: 'It may or may not have been written. Look before you send it again.',
  INVALID_TOPIC_NAME: 'A name has 1 to 249 letters, digits, “.”, “_” and “-”. Change it in the address of this page.',
  UNKNOWN_TOPIC_OR_PARTITION: 'The topic is not there any more. Reload the page to create it again.',
  NOT_ENOUGH_REPLICAS: 'Too few brokers are in sync to keep the record safe. Start the missing ones.',
  INVALID_REPLICATION_FACTOR: 'There are fewer brokers than replicas wanted. Start more brokers.',
  RECORD_TOO_LARGE: 'The record is larger than the topic allows. Send less at a time.',
  STORAGE_ERROR: 'A broker’s disk is full or failing. Its log says which.',
  POSITION_LOST: 'Records were deleted before they were read. Reload to go on from what is there.',
  DAMAGED: 'The broker holds damaged records. “highwater log verify” shows where.',
  NO_CLIENT: '“cargo xtask cluster” builds brokers that have it.',
  ORIGIN_REFUSED: 'Add the origin of this page to “allowed-origins” of the brokers.',
  UNSUPPORTED_BY_BROWSER: 'A newer browser is needed: one with WebTransport or WebSocket, and WebAssembly with SIMD.',
  MODULE: 'Did the broker end while the page was loaded? Reload the page.',
  CLOSED: 'The connection was closed. Reload the page.',
}

/** What `error` is (`code`), what it says (`text`) and what to do (`advice`). */
export function explain(error) {
  const code = error?.code ?? error?.name ?? 'ERROR'
  const again = error?.retriable ? 'This may pass by itself; it is tried again.' : 'Reload the page to try again.'
  return { code, text: error?.message ?? String(error), advice: ADVICE[code] ?? again }
}

const NAMES = { webtransport: 'WebTransport', websocket: 'WebSocket', offline: 'Offline, reconnecting' }

/** Shows in `place` how the tab is connected, with the round trip in milliseconds where it is known. */
export function showCarrier(place, { transport, rtt }) {
  const known = Number.isFinite(rtt) && transport !== 'offline'
  place.dataset.transport = transport
  place.replaceChildren(NAMES[transport] ?? 'Connecting', make('span', 'rtt', known ? ` · ${rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms` : ''))
}

const format = new Intl.NumberFormat('en')

/** A number with separators. */
export const number = value => format.format(value)

/** Every element of the page that has an id, by its id. */
export const byId = () => Object.fromEntries([...document.querySelectorAll('[id]')].map(one => [one.id, one]))

/** An element with a class and with what is inside it: text is only ever text, never markup. */
export function make(tag, className, ...inside) {
  const element = document.createElement(tag)
  if (className) element.className = className
  element.append(...inside)
  return element
}

/** A round sign for a name: its first letter, in a colour that is always the same for the same name. */
export function face(name) {
  const sign = make('span', 'face', [...name][0]?.toUpperCase() ?? '?')
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7)
  sign.style.setProperty('--hue', hue)
  sign.ariaHidden = 'true'
  return sign
}

const AGAIN_MS = 5000

/** Shows in `notice` what went wrong, with a button that does something about it; what may pass is done by itself. */
export function complain(notice, error, label, act) {
  const { code, text, advice } = explain(error)
  const button = make('button', '', label)
  const timer = error.retriable ? setTimeout(act, AGAIN_MS) : undefined
  button.onclick = () => {
    clearTimeout(timer)
    act()
  }
  notice.replaceChildren(make('div', '', make('code', '', code), ` ${text}`, make('p', '', advice)), button)
  notice.hidden = false
}
