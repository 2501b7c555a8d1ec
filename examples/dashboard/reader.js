// The worker that reads: every record is handled here, so that the page is free to draw. The page asks when it wants to,
// and is answered with what has come in since, added up: a page that is slow is never sent more.

import { connect } from '/client/index.js'

/** Width of a step of the plot, in milliseconds. The page knows the same number. */
const STEP_MS = 100
const NEWEST = 14
/** So many are kept until the newest of them are picked out. */
const KEPT = 500
/** How much of a value is shown, in bytes. */
const SHOWN_BYTES = 200

const decoder = new TextDecoder()
let client, consumer, reading, newest = [], steps = new Map(), total = 0, delay = { sum: 0, count: 0 }

onmessage = async ({ data }) => {
  if (data.ask) return answer(data.ask)
  try {
    if (data.connect) await start(data.connect)
    if (data.list) await list()
    if (data.read) await read(data.read)
    if (data.stop) await stop()
  } catch (error) {
    report(error)
  }
}

async function start(broker) {
  await client?.close()
  consumer = undefined
  client = await connect(broker)
  const told = ({ transport, rtt }) => postMessage({ state: { transport, rtt } })
  client.on('state', told)
  told(client.state)
  await list()
}

async function list() {
  const topics = await client.admin().listTopics()
  postMessage({ topics: topics.filter(topic => !topic.internal).map(topic => topic.name).sort() })
}

/** Reads `topic` from now on, instead of what was read before; of what is there already only the newest is shown. */
async function read(topic) {
  await stop()
  const mine = consumer = await client.consumer({ topics: topic, start: 'latest' })
  const ends = await mine.endOffsets()
  for (const { partition, offset } of ends) mine.seek(topic, partition, Math.max(offset - NEWEST, 0))
  const began = new Map(ends.map(({ partition, offset }) => [partition, offset]))
  reading = topic
  postMessage({ reading })
  for await (const records of mine.batches()) {
    if (mine !== consumer) return
    for (const record of records) {
      if (record.offset >= began.get(record.partition)) count(record)
      newest.push(record)
    }
    if (newest.length > KEPT) newest = newest.slice(-NEWEST)
  }
}

async function stop() {
  const before = consumer
  consumer = undefined
  reading = undefined
  await before?.close()
  newest = []
  steps = new Map()
  total = 0
}

function count(record) {
  const now = Date.now()
  const step = Math.floor(now / STEP_MS)
  const known = steps.get(step) ?? { records: 0, bytes: 0 }
  known.records += 1
  known.bytes += (record.value?.length ?? 0) + (record.key?.length ?? 0)
  steps.set(step, known)
  total += 1
  delay.sum += now - record.timestamp
  delay.count += 1
}

/** What came in since the page asked last; the records themselves only when it wants to show them. */
function answer({ rows }) {
  postMessage({ came: { topic: reading, steps: [...steps].map(([step, { records, bytes }]) => [step, records, bytes]), total, delay, rows: rows && shown() } })
  steps = new Map()
  delay = { sum: 0, count: 0 }
}

const shown = () => newest.toReversed().sort((one, other) => other.timestamp - one.timestamp).slice(0, NEWEST).map(record => ({
  partition: record.partition,
  offset: record.offset,
  timestamp: record.timestamp,
  key: text(record.key),
  value: text(record.value),
}))

const text = bytes => bytes ? decoder.decode(bytes.subarray(0, SHOWN_BYTES)) : ''

function report({ code, name, message, retriable }) {
  if (code === 'CLOSED') return
  postMessage({ error: { code: code ?? name, message, retriable } })
}
