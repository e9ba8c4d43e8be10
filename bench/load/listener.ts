import { isRtcp, parseRtp, RtpPacket } from '../../media/rtp/rtp.ts'
import { Histogram } from './histogram.ts'
import { isJoint } from './joint.ts'
import type { Ledger } from './ledger.ts'
import { type Mark, ULAW_SIGNS } from './mark.ts'
import { FRAME_SAMPLES, MarkReader } from './mark-reader.ts'
import type { LoadResult, Stray } from './messages.ts'

const SAMPLES_PER_MS = 8
const LATE_MS = 20
const GAP_MS = 40
const SECOND_MS = 1000
/** Number of stray and broken frames that are noted in full. */
const MAX_STRAYS = 20

/** What one leg receives. */
interface Ear {
  readonly marks: MarkReader
  started: boolean
  sequence: number
  timestamp: number
  /** When the last packet arrived [ms]. */
  arrivedAt: number
  /** When the one before it arrived [ms]. */
  cameBefore: number
  /** Time since the first packet by the RTP timestamps [ms]. */
  mediaMs: number
  /** Minimum of arrival time less `mediaMs`, in the measurement and in its current second [ms]. */
  leastMs: number
  leastNowMs: number
  /** That minimum in the first and in the latest whole second of the measurement, and when those ended [ms]. */
  firstMs: number
  firstAt: number
  latestMs: number
  latestAt: number
  secondEndsAt: number
}

const newEar = (): Ear => ({
  marks: new MarkReader(),
  started: false,
  sequence: 0,
  timestamp: 0,
  arrivedAt: 0,
  cameBefore: 0,
  mediaMs: 0,
  leastMs: Number.POSITIVE_INFINITY,
  leastNowMs: Number.POSITIVE_INFINITY,
  firstMs: Number.NaN,
  firstAt: 0,
  latestMs: Number.NaN,
  latestAt: 0,
  secondEndsAt: 0,
})

type Counts = Pick<
  LoadResult,
  | 'packetsReceived'
  | 'packetsMissing'
  | 'packetsLate'
  | 'packetsAfterGap'
  | 'framesHeard'
  | 'framesDoubled'
  | 'framesJoint'
  | 'framesBroken'
  | 'framesOwn'
  | 'framesStray'
>

const noCounts = (): Counts => ({
  packetsReceived: 0,
  packetsMissing: 0,
  packetsLate: 0,
  packetsAfterGap: 0,
  framesHeard: 0,
  framesDoubled: 0,
  framesJoint: 0,
  framesBroken: 0,
  framesOwn: 0,
  framesStray: 0,
})

/** Reads the marks in the packets that all legs receive, and judges whether each leg hears what it should. */
export class Listeners {
  readonly latency = new Histogram()
  counts: Counts = noCounts()
  /** The first stray and broken frames. */
  strays: Stray[] = []
  /** When the sockets were polled last, and how long a packet of the measurement has waited for that at most [ms]. */
  polledAt = 0
  readLagMs = 0
  readonly #ledger: Ledger
  readonly #roomSize: number
  readonly #ears: Ear[]
  /** The last frame that each leg heard of each member of its room. */
  readonly #heard: Int32Array
  readonly #packet = new RtpPacket()
  #from = 0
  #to = 0

  constructor(ledger: Ledger, legs: number, roomSize: number) {
    this.#ledger = ledger
    this.#roomSize = roomSize
    this.#ears = Array.from({ length: legs }, newEar)
    this.#heard = new Int32Array(legs * roomSize).fill(-1)
  }

  /** Starts to count anew: what is said from `from` until `to` [ms]. */
  measure(from: number, to: number): void {
    this.counts = noCounts()
    this.strays = []
    this.latency.clear()
    this.readLagMs = 0
    this.#from = from
    this.#to = to
    for (const ear of this.#ears) {
      ear.leastMs = Number.POSITIVE_INFINITY
      ear.leastNowMs = Number.POSITIVE_INFINITY
      ear.firstMs = Number.NaN
      ear.secondEndsAt = from + SECOND_MS
    }
  }

  receive(leg: number, bytes: Uint8Array, now: number): void {
    const packet = this.#packet
    if (this.polledAt - now > this.readLagMs) this.readLagMs = this.polledAt - now
    if (isRtcp(bytes) || !parseRtp(bytes, packet)) return
    const ear = this.#ears[leg]!
    this.#ledger.hear(leg, packet.ssrc, packet.sequence)
    this.#time(ear, packet, now)
    if (packet.payloadType !== 0 || packet.payloadLength !== FRAME_SAMPLES || this.#roomSize === 1) return
    const signs = ear.marks.next()
    const at = packet.payloadOffset
    for (let i = 0; i < FRAME_SAMPLES; i++) signs[FRAME_SAMPLES + i] = ULAW_SIGNS[bytes[at + i]!]!
    const found = ear.marks.find()
    if (found === 'mark') this.#hear(leg, ear, ear.marks.mark)
    else if (found === 'broken' && now >= this.#from && now < this.#to) this.#judge(leg, ear)
  }

  /** Tells whether a frame that begins like a mark, but is none, was joined by a change of playout delay, or is broken. */
  #judge(leg: number, ear: Ear): void {
    const first = leg - (leg % this.#roomSize)
    const end = Math.min(first + this.#roomSize, this.#ears.length)
    const said: Int8Array[] = []
    for (let other = first; other < end; other++) {
      const signs = other === leg ? null : this.#ledger.lastSigns(other)
      if (signs !== null) said.push(signs)
    }
    // While somebody speaks with a voice, or presses a key, that may look like the beginning of a mark by chance.
    if (said.length === 0) return
    if (said.some(signs => isJoint(ear.marks.signs, signs))) {
      this.counts.framesJoint++
      return
    }
    this.counts.framesBroken++
    this.#note(leg, ear, null)
  }

  #time(ear: Ear, packet: RtpPacket, now: number): void {
    const { counts } = this
    counts.packetsReceived++
    if (ear.started) {
      const steps = (packet.sequence - ear.sequence) & 0xffff
      if (steps > 1 && steps < 0x8000) counts.packetsMissing += steps - 1
      if (now - ear.arrivedAt > GAP_MS) counts.packetsAfterGap++
      ear.mediaMs += ((packet.timestamp - ear.timestamp) | 0) / SAMPLES_PER_MS
    }
    ear.started = true
    ear.cameBefore = ear.arrivedAt
    ear.arrivedAt = now
    ear.sequence = packet.sequence
    ear.timestamp = packet.timestamp
    const behindMs = now - ear.mediaMs
    if (behindMs < ear.leastMs) ear.leastMs = behindMs
    if (behindMs < ear.leastNowMs) ear.leastNowMs = behindMs
    if (behindMs - ear.leastMs > LATE_MS) counts.packetsLate++
    if (now >= ear.secondEndsAt) nextSecond(ear)
  }

  #hear(leg: number, ear: Ear, mark: Mark): void {
    const frame = this.#ledger.frameOf(mark.leg, mark.frame)
    const sentAt = this.#ledger.sentAt(mark.leg, frame)
    if (sentAt < this.#from || sentAt >= this.#to) return
    const { counts } = this
    if (mark.leg === leg) {
      counts.framesOwn++
      return
    }
    const roomOf = (other: number): number => Math.floor(other / this.#roomSize)
    if (roomOf(mark.leg) !== roomOf(leg)) {
      counts.framesStray++
      this.#note(leg, ear, { leg: mark.leg, frame: mark.frame, ageMs: Math.round(ear.arrivedAt - sentAt) })
      return
    }
    const at = leg * this.#roomSize + (mark.leg % this.#roomSize)
    if (frame <= this.#heard[at]!) {
      counts.framesDoubled++
      return
    }
    this.#heard[at] = frame
    counts.framesHeard++
    this.latency.add(heardAt(ear) - sentAt)
  }

  #note(leg: number, ear: Ear, mark: Stray['mark']): void {
    if (this.strays.length >= MAX_STRAYS) return
    const { sequence, timestamp, marks } = ear
    const signs = Array.from(marks.signs, sign => (sign > 0 ? '+' : sign < 0 ? '-' : '0')).join('')
    this.strays.push({ leg, sequence, timestamp, mark, offset: marks.offset, signs })
  }

  /** Median over the legs of how much faster the far end's timestamps run than our clock [ppm]. */
  get driftPpm(): number | null {
    const drifts = this.#ears
      .filter(ear => ear.latestAt > ear.firstAt && !Number.isNaN(ear.firstMs))
      .map(ear => ((ear.firstMs - ear.latestMs) / (ear.latestAt - ear.firstAt)) * 1e6)
      .sort((a, b) => a - b)
    return drifts[Math.floor(drifts.length / 2)] ?? null
  }
}

/** When the first sample of the found mark is played, if each packet is played as it arrives [ms]. */
export const heardAt = ({ marks, arrivedAt, cameBefore }: Pick<Ear, 'marks' | 'arrivedAt' | 'cameBefore'>): number =>
  marks.offset >= 0
    ? arrivedAt + marks.offset / SAMPLES_PER_MS
    : cameBefore + (FRAME_SAMPLES + marks.offset) / SAMPLES_PER_MS

function nextSecond(ear: Ear): void {
  ear.latestMs = ear.leastNowMs
  ear.latestAt = ear.secondEndsAt
  if (Number.isNaN(ear.firstMs)) {
    ear.firstMs = ear.leastNowMs
    ear.firstAt = ear.secondEndsAt
  }
  ear.leastNowMs = Number.POSITIVE_INFINITY
  ear.secondEndsAt += SECOND_MS
}
