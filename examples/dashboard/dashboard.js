// The page: draws in each frame what the reading worker has counted, and shows figures and records at a pace that can be
// read. It asks the worker a few times for each step of the plot, which is drawn a little late: so no frame waits for it.
// The records themselves are handled in `reader.js`, those of the load button are sent in `load.js`.

import { byId, complain, make, number, showCarrier } from '../page.js'
import { Plot } from './plot.js'

const LOAD = { topic: 'demo-load', rate: 10_000 }
const ASK_EVERY_MS = 40
/** Figures and rows change this often: nobody reads faster. */
const SHOW_EVERY_MS = 250
const ROWS = 14
/** For a topic that is not there yet. */
const LOOK_EVERY_MS = 3000

const query = new URLSearchParams(location.search)
const broker = query.get('broker') || location.origin
const page = byId()
const plot = new Plot(page.plot)
const reader = new Worker('reader.js', { type: 'module' })
let topic = query.get('topic') || LOAD.topic
let paused = false, asked = false, askedAt = 0, rowsAt = 0, shownAt = 0, total = 0, loader, topics, reading, bytes = []
const delay = { sum: 0, count: 0 }

reader.onmessage = ({ data }) => {
  if (data.came) takeIn(data.came)
  if (data.state) showState(data.state)
  if (data.topics) showTopics(data.topics)
  if (data.error) fail(data.error)
  if (data.reading) page.notice.hidden = true
}
reader.onerror = () => fail({ code: 'NO_CLIENT', message: 'This broker has no browser client.' }, () => location.reload())

function fail(error, again = connectAgain) {
  complain(page.notice, error, 'Try again', again)
  page.carrier.hidden = page.carrier.dataset.transport === 'connecting'
  say('')
}

function connectAgain() {
  page.notice.hidden = true
  topics = reading = undefined
  reader.postMessage({ connect: broker })
}

function showState(state) {
  page.carrier.hidden = false
  showCarrier(page.carrier, state)
}

function showTopics(found) {
  topics = found
  const names = [...new Set([...found, topic, LOAD.topic])].sort()
  const shown = [...page.topic.options].map(option => option.value)
  if (names.join() !== shown.join()) page.topic.replaceChildren(...names.map(name => make('option', '', name)))
  page.topic.value = topic
  if (topic !== reading) choose(topic)
}

/** Shows this topic from now on; one that is not there yet is read as soon as it is. */
function choose(name) {
  topic = name
  page.topic.value = name
  document.title = `${name} · Highwater`
  query.set('topic', name)
  history.replaceState(null, '', `?${query}`)
  plot.clear(Date.now())
  bytes = []
  total = 0
  page.rows.replaceChildren()
  reading = topics.includes(name) ? name : undefined
  reader.postMessage(reading ? { read: name } : { stop: true })
}

function takeIn({ topic: from, steps, total: read, delay: came, rows }) {
  asked = false
  if (from !== reading) return
  total = read
  plot.add(steps)
  bytes.push(...steps.map(([step, , size]) => [step, size]))
  delay.sum += came.sum
  delay.count += came.count
  if (rows) showRows(rows)
}

function showRows(records) {
  while (page.rows.childElementCount < Math.min(records.length, ROWS)) page.rows.append(row())
  for (const [at, record] of records.entries()) {
    const time = new Date(record.timestamp)
    const milliseconds = String(time.getMilliseconds()).padStart(3, '0')
    const cells = [record.partition, number(record.offset), `${time.toLocaleTimeString('en-GB')}.${milliseconds}`, record.key, record.value]
    cells.forEach((text, column) => { page.rows.children[at].children[column].firstChild.data = text })
  }
}

const row = () => make('tr', '', ...Array.from({ length: 5 }, () => make('td', '', document.createTextNode(''))))

function showFigures(now) {
  const second = Math.floor((now - 1100) / 100)
  bytes = bytes.filter(([step]) => step >= second)
  const rate = plot.rate(now)
  page.rate.value = number(rate)
  page.total.value = number(total)
  page.bytes.value = (bytes.reduce((sum, [, size]) => sum + size, 0) / 1.1e6).toFixed(2)
  if (delay.count) page.delay.value = Math.max(delay.sum / delay.count, 0).toFixed(1)
  else if (rate === 0) page.delay.value = '–'
  Object.assign(delay, { sum: 0, count: 0 })
  page.frames.value = frames.rate()
  page.dropped.textContent = `per second, ${number(frames.dropped)} dropped`
}

/** Counts what the display showed and what it should have shown. A hidden page is not drawn and does not count. */
const frames = {
  times: [], dropped: 0, last: undefined,
  took(at) {
    const usual = this.usual()
    if (this.last && usual && at - this.last > 1.5 * usual) this.dropped += Math.round((at - this.last) / usual) - 1
    this.times.push(at)
    if (this.times.length > 120) this.times.shift()
    this.last = at
  },
  usual() {
    if (this.times.length < 30) return undefined
    const gaps = this.times.slice(1).map((time, index) => time - this.times[index]).sort((one, other) => one - other)
    return gaps[gaps.length >> 1]
  },
  rate() {
    const from = this.times.at(-1) - 1000
    return this.times.filter(time => time > from).length
  },
  forget() {
    Object.assign(this, { times: [], last: undefined })
  },
}

function frame(at) {
  requestAnimationFrame(frame)
  frames.took(at)
  const now = Date.now()
  if (topics && !asked && now - askedAt >= ASK_EVERY_MS) ask(now)
  if (paused) return
  const seen = plot.draw(now)
  if (now - shownAt < SHOW_EVERY_MS) return
  shownAt = now
  showFigures(now)
  if (topics && page.notice.hidden) say(seen ? '' : emptiness())
}

function ask(now) {
  const rows = !paused && now - rowsAt >= SHOW_EVERY_MS
  if (rows) rowsAt = now
  asked = true
  askedAt = now
  reader.postMessage({ ask: { rows } })
}

/** Why there is nothing to be seen. */
function emptiness() {
  if (loader && topic === LOAD.topic) return 'The first records are on their way'
  if (topic !== reading && topic !== LOAD.topic) return `There is no topic ${topic}. As soon as it is made, it is shown here.`
  return `Nothing arrives on ${topic} at the moment. “Send 10,000/s” shows what it looks like.`
}

function say(text) {
  if (page.empty.textContent !== text) page.empty.textContent = text
}

function togglePause() {
  paused = !paused
  page.pause.ariaPressed = paused
  page.pause.firstChild.data = paused ? 'Go on ' : 'Pause '
}

function toggleLoad() {
  if (loader) return stopLoad()
  loader = new Worker('load.js', { type: 'module' })
  loader.onmessage = ({ data }) => {
    if (data.started) {
      topic = data.started
      showTopics([...new Set([...topics ?? [], data.started])])
    }
    if (data.error) {
      stopLoad()
      complain(page.notice, data.error, 'Send again', () => { page.notice.hidden = true; toggleLoad() })
    }
  }
  loader.postMessage({ start: { broker, ...LOAD } })
  showLoad()
}

function stopLoad() {
  const worker = loader
  worker?.postMessage({ stop: true })
  // It ends by itself once everything is acknowledged; without a cluster that may never be.
  setTimeout(() => worker?.terminate(), 5000)
  loader = undefined
  showLoad()
}

function showLoad() {
  page.load.ariaPressed = Boolean(loader)
  page.load.firstChild.data = loader ? 'Stop sending ' : 'Send 10,000/s '
}

const KEYS = { p: togglePause, l: toggleLoad, t: () => page.topic.focus() }
addEventListener('keydown', event => {
  const typing = event.target.closest('select, input') || event.ctrlKey || event.metaKey || event.altKey
  if (!typing && !event.repeat) KEYS[event.key.toLowerCase()]?.()
})
page.pause.onclick = togglePause
page.load.onclick = toggleLoad
page.topic.onchange = () => choose(page.topic.value)
page.topic.onpointerdown = page.topic.onfocus = () => topics && reader.postMessage({ list: true })
setInterval(() => { if (topics && topic !== reading) reader.postMessage({ list: true }) }, LOOK_EVERY_MS)
document.addEventListener('visibilitychange', () => frames.forget())
reader.postMessage({ connect: broker })
requestAnimationFrame(frame)
