// The plot: steps of 100 ms in a ring, drawn as a line that moves with the clock. The high-water mark is the highest rate in
// sight, with the surveyors' sign on it. Drawing costs the same whatever the rate is.

import { number } from '../page.js'

export const STEP_MS = 100
const WINDOW_MS = 60_000
/** The line is drawn this much late, so that its end is never a step that is still filling up. */
const LATE_MS = 400
/** Steps that are averaged on each side of a point. */
const SMOOTH = 2
const RING = 1024
/** What the scale may end with, times a power of ten. */
const TOPS = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
const EDGE = { left: 58, right: 14, top: 30, bottom: 26 }
const FONT = '12px system-ui, "DejaVu Sans", sans-serif'

export class Plot {
  #canvas
  #context
  #counts = new Float64Array(RING)
  #stamps = new Float64Array(RING)
  #since = Infinity
  #top = 10
  #colours
  #fill
  #size = { width: 0, height: 0 }
  #pointer
  /** What is drawn is an empty plot: it need not be drawn again. */
  #isBlank = false

  constructor(canvas) {
    this.#canvas = canvas
    // Without transparency the page is put together with less work in each frame.
    this.#context = canvas.getContext('2d', { alpha: false })
    new ResizeObserver(() => this.#resize()).observe(canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#dress())
    canvas.addEventListener('pointermove', event => { this.#pointer = event.offsetX })
    canvas.addEventListener('pointerleave', () => { this.#pointer = undefined })
    this.#resize()
  }

  /** Takes in `[step, records]` pairs, a step being a time in units of 100 ms. */
  add(steps) {
    for (const [step, records] of steps) this.#counts[this.#slot(step)] += records
  }

  /** Forgets everything: what is counted begins at `now`. */
  clear(now) {
    this.#stamps.fill(0)
    this.#since = Math.ceil(now / STEP_MS)
  }

  /** Records per second over the last whole second before `now`. */
  rate(now) {
    const last = Math.floor(now / STEP_MS) - 1
    let sum = 0
    for (let step = last - 9; step <= last; step += 1) sum += this.#count(step)
    return sum
  }

  /** Draws what is to be seen at `now`; false if there is nothing in sight. */
  draw(now) {
    const { width, height } = this.#size
    const area = { left: EDGE.left, top: EDGE.top, right: width - EDGE.right, bottom: height - EDGE.bottom }
    const end = now - LATE_MS
    const points = this.#points(end, area)
    const peak = Math.max(0, ...points.map(point => point.rate))
    this.#top += (roundUp(Math.max(peak * 1.15, 10), TOPS) - this.#top) * 0.12
    const y = rate => area.bottom - rate / this.#top * (area.bottom - area.top)
    if (peak === 0 && this.#isBlank) return false
    this.#isBlank = peak === 0 && Math.abs(this.#top - 10) < 0.01
    this.#context.fillStyle = this.#colours.sheet
    this.#context.fillRect(0, 0, width, height)
    this.#grid(area, y)
    if (peak > 0) {
      this.#line(points, area, y)
      this.#mark(peak, area, y)
    }
    this.#reading(points, area, y, end)
    return peak > 0
  }

  #slot(step) {
    const slot = step % RING
    if (this.#stamps[slot] !== step) {
      this.#stamps[slot] = step
      this.#counts[slot] = 0
    }
    return slot
  }

  #count(step) {
    const slot = step % RING
    return this.#stamps[slot] === step ? this.#counts[slot] : 0
  }

  #points(end, area) {
    const first = Math.max(Math.floor((end - WINDOW_MS) / STEP_MS), this.#since)
    const last = Math.floor(end / STEP_MS)
    const scale = (area.right - area.left) / WINDOW_MS
    const points = []
    let sum = 0
    for (let step = first - SMOOTH; step < first + SMOOTH; step += 1) sum += this.#count(step)
    for (let step = first; step <= last; step += 1) {
      sum += this.#count(step + SMOOTH)
      const x = area.right - (end - step * STEP_MS) * scale
      points.push({ x, rate: sum / (2 * SMOOTH + 1) * (1000 / STEP_MS) })
      sum -= this.#count(step - SMOOTH)
    }
    return points
  }

  #grid(area, y) {
    const context = this.#context
    context.font = FONT
    context.lineWidth = 1
    context.textAlign = 'right'
    context.textBaseline = 'middle'
    const unit = roundUp(this.#top / 5)
    for (let rate = 0; y(rate) >= area.top - 2; rate += unit) {
      const at = Math.round(y(rate)) + 0.5
      context.strokeStyle = this.#colours.line
      context.beginPath()
      context.moveTo(area.left, at)
      context.lineTo(area.right, at)
      context.stroke()
      context.fillStyle = this.#colours.soft
      context.fillText(number(rate), area.left - 10, at)
    }
    context.textBaseline = 'top'
    for (const seconds of area.right < 500 ? [60, 30, 0] : [60, 45, 30, 15, 0]) {
      const x = area.right - seconds * 1000 / WINDOW_MS * (area.right - area.left)
      context.textAlign = seconds === 60 ? 'left' : seconds === 0 ? 'right' : 'center'
      context.fillText(seconds === 0 ? 'now' : `${seconds} s ago`, x, area.bottom + 8)
    }
  }

  #line(points, area, y) {
    const context = this.#context
    context.save()
    context.beginPath()
    context.rect(area.left, 0, area.right - area.left, area.bottom + 1)
    context.clip()
    context.beginPath()
    for (const { x, rate } of points) context.lineTo(x, y(rate))
    context.strokeStyle = this.#colours.water
    context.lineWidth = 2
    context.lineJoin = 'round'
    context.stroke()
    context.lineTo(points.at(-1).x, area.bottom)
    context.lineTo(points[0].x, area.bottom)
    context.fillStyle = this.#fill
    context.fill()
    context.restore()
  }

  #mark(peak, area, y) {
    const context = this.#context
    const at = Math.round(y(peak)) - 2
    context.fillStyle = this.#colours.mark
    context.fillRect(area.left, at, area.right - area.left, 1.5)
    context.beginPath()
    context.moveTo(area.left + 8, at - 11)
    context.lineTo(area.left + 20, at - 11)
    context.lineTo(area.left + 14, at)
    context.fill()
    context.textAlign = 'left'
    context.textBaseline = 'bottom'
    context.fillText(`high-water mark ${number(Math.round(peak))}/s`, area.left + 26, at - 1)
  }

  #reading(points, area, y, end) {
    const x = this.#pointer
    if (!points.length || x === undefined || x < area.left || x > area.right) return
    const context = this.#context
    const point = points.reduce((best, next) => Math.abs(next.x - x) < Math.abs(best.x - x) ? next : best)
    const time = new Date(end - (area.right - point.x) / (area.right - area.left) * WINDOW_MS)
    context.strokeStyle = this.#colours.soft
    context.beginPath()
    context.moveTo(point.x, area.top)
    context.lineTo(point.x, area.bottom)
    context.stroke()
    context.fillStyle = this.#colours.water
    context.beginPath()
    context.arc(point.x, y(point.rate), 4, 0, 2 * Math.PI)
    context.fill()
    const text = `${number(Math.round(point.rate))}/s at ${time.toLocaleTimeString()}`
    const left = point.x > (area.left + area.right) / 2
    context.textAlign = left ? 'right' : 'left'
    context.textBaseline = 'bottom'
    context.fillStyle = this.#colours.ink
    context.fillText(text, point.x + (left ? -10 : 10), area.bottom - 8)
  }

  #resize() {
    const { clientWidth, clientHeight } = this.#canvas
    const scale = devicePixelRatio
    this.#size = { width: clientWidth, height: clientHeight }
    this.#canvas.width = Math.round(clientWidth * scale)
    this.#canvas.height = Math.round(clientHeight * scale)
    this.#context.setTransform(scale, 0, 0, scale, 0, 0)
    this.#dress()
  }

  #dress() {
    const style = getComputedStyle(this.#canvas)
    this.#isBlank = false
    const names = ['ink', 'soft', 'line', 'water', 'mark', 'sheet']
    this.#colours = Object.fromEntries(names.map(name => [name, style.getPropertyValue(`--${name}`).trim()]))
    this.#fill = this.#context.createLinearGradient(0, EDGE.top, 0, this.#size.height - EDGE.bottom)
    this.#fill.addColorStop(0, `${this.#colours.water}66`)
    this.#fill.addColorStop(1, `${this.#colours.water}0a`)
  }
}

/** The next of these numbers times a power of ten. */
function roundUp(number, steps = [1, 2, 2.5, 5, 10]) {
  const power = 10 ** Math.floor(Math.log10(number))
  return steps.find(step => step * power >= number) * power
}
