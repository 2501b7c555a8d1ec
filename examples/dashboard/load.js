// The worker that sends: so many records a second, about 100 bytes each, as gauges along a river would send them. It keeps
// to the clock and not to a fixed pause, so a late timer is made up for; more than a second of arrears is dropped.

import { connect } from '/client/index.js'

const TICK_MS = 10
/** Records that were sent and not yet acknowledged. */
const IN_FLIGHT_MAX = 20_000
const PARTITIONS = 3
const KEEP_MS = 60 * 60 * 1000

let client, timer, inFlight = 0

onmessage = ({ data }) => (data.start ? start(data.start) : stop()).catch(report)

async function start({ broker, topic, rate }) {
  client = await connect(broker)
  const wanted = { name: topic, partitions: PARTITIONS, configs: { 'retention.ms': String(KEEP_MS) } }
  await client.admin().createTopic(wanted).catch(error => {
    if (error.code !== 'TOPIC_ALREADY_EXISTS') throw error
  })
  const producer = client.producer({ lingerMs: 10 })
  postMessage({ started: topic })
  let began = performance.now(), sent = 0
  timer = setInterval(() => {
    const due = Math.floor((performance.now() - began) * rate / 1000)
    if (due - sent > rate) {
      began = performance.now()
      sent = 0
      return
    }
    for (; sent < due && inFlight < IN_FLIGHT_MAX; sent += 1) send(producer, topic)
  }, TICK_MS)
}

async function stop() {
  clearInterval(timer)
  await client?.close()
  postMessage({ stopped: true })
  close()
}

function send(producer, topic) {
  inFlight += 1
  producer.send({ topic, ...reading() }).then(() => { inFlight -= 1 }, error => {
    inFlight -= 1
    report(error)
  })
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
  postMessage({ error: { code: code ?? name, message, retriable } })
}
