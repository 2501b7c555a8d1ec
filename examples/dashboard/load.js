// The worker that sends: so many records a second, about 100 bytes each, as gauges along a river would send them. It keeps
// to the clock and not to a fixed pause, so a late timer is made up for; more than a second of arrears is dropped.

import { connect } from '/client/index.js'

const TICK_MS = 10
const PARTITIONS = 3
const KEEP_MS = 60 * 60 * 1000

let client, sending = false

onmessage = ({ data }) => (data.start ? start(data.start) : stop()).catch(report)

async function start({ broker, topic, rate }) {
  client = await connect(broker)
  const wanted = { name: topic, partitions: PARTITIONS, configs: { 'retention.ms': KEEP_MS } }
  await client.admin().createTopic(wanted).catch(error => {
    if (error.code !== 'TOPIC_ALREADY_EXISTS') throw error
  })
  postMessage({ started: topic })
  sending = true
  await send(client.producer({ lingerMs: 20 }), topic, rate)
}

async function stop() {
  sending = false
  await client?.close()
  close()
}

async function send(producer, topic, rate) {
  // The clock starts once the way is open, so that the first second is one like any other.
  await producer.send({ topic, ...reading() })
  let began = performance.now(), sent = 0
  while (sending) {
    const due = Math.floor((performance.now() - began) * rate / 1000)
    if (due - sent > rate) {
      began = performance.now()
      sent = 0
    } else if (due > sent) {
      await enqueue(producer, topic, due - sent)
      sent = due
    }
    await new Promise(go => setTimeout(go, TICK_MS))
  }
}

/** Waits for room where the brokers are slower; the last of so many records tells of failures for all. */
async function enqueue(producer, topic, count) {
  let last
  for (let at = 0; at < count; at += 1) last = await producer.enqueue({ topic, ...reading() })
  last.ack.catch(report)
}

/** A river's gauge and what it reads: the level swings slowly, each gauge a little later than the one above it. */
function reading() {
  const gauge = Math.floor(Math.random() * 40)
  const now = Date.now()
  const level = 2.4 + Math.sin(now / 20_000 - gauge / 6) * 0.7 + Math.random() * 0.02
  const value = `{"gauge":"river-${gauge}","level_m":${level.toFixed(3)},"flow_m3s":${(level * 31).toFixed(1)},"battery":0.93,"at":${now}}`
  return { key: `river-${gauge}`, value }
}

function report({ code, name, message, retriable }) {
  if (code === 'CLOSED') return
  postMessage({ error: { code: code ?? name, message, retriable } })
}
