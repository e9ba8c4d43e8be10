import { FRAME_MS } from '../../codecs/audio.ts'
import type { Quality } from '../protocol.ts'
import { ClockDrift } from '../rtp/clock-drift.ts'
import { HeardFrames } from '../rtp/heard-frames.ts'
import type { JitterBuffer, JitterCounters } from '../rtp/jitter.ts'
import { mosOf } from '../rtp/mos.ts'
import type { ReceptionStats } from '../rtp/reception-stats.ts'

/** Length of an evaluated period [ms], and the minimum number of packets in it. */
const JUDGED_MS = 5000
const JUDGED_PACKETS = 100
/** R = 70: below it many are dissatisfied (ITU-T G.109). Recovery requires a clearly higher value. */
const POOR_MOS = 3.6
const WELL_MOS = 3.8
/** Number of consecutive periods, so that a single bad moment does not count. */
const IN_A_ROW = 2
/** Step of the median of values that are sampled a few times a second: outliers do not move it [ms]. */
const STEP_MS = 2
const UNITS_PER_MS = 8

/** Network and jitter buffer figures of a leg, and the resulting quality (ITU-T G.107). */
export class LegQuality {
  readonly #drift = new ClockDrift()
  readonly #stats: ReceptionStats
  readonly #heard: HeardFrames
  #jitter: JitterBuffer | null = null
  /** Counters of this buffer for earlier sources, and dropped packets of earlier buffers. */
  #before = NOTHING
  #dropped = NOTHING
  /** The median of how much longer packets take than the fastest ones [ms]. */
  #excessMs = 0
  #judgeAt = Number.NEGATIVE_INFINITY
  #judgedExpected = 0
  #judgedUnplayed = 0
  #inARow = 0
  #isPoor = false

  constructor(stats: ReceptionStats) {
    this.#stats = stats
    this.#heard = new HeardFrames(() => stats.cumulativeLost)
  }

  /** A tick. */
  heard(isHeard: boolean, jitter: JitterBuffer): void {
    if (jitter !== this.#jitter) this.#use(jitter)
    this.#heard.note(isHeard, jitter.counters.concealed)
  }

  /** A packet was relayed, after this many missing ones. */
  passed(missing: number): void {
    this.#heard.passed(missing)
  }

  /** To be called a few times a second. @param least transit of the fastest packet since the last call */
  arrived(least: number, now: number): void {
    this.#drift.note(least, now)
    const excessMs = ((this.#stats.transit - least) | 0) / UNITS_PER_MS
    this.#excessMs = Math.max(0, this.#excessMs + (excessMs > this.#excessMs ? STEP_MS : -STEP_MS))
  }

  /** Another source: its packets are counted from zero. */
  newSource(): void {
    this.#drift.reset()
    this.#heard.newSource()
    this.#dropped = NOTHING
    this.#before = this.#jitter === null ? NOTHING : dropsOf(this.#jitter.counters)
    this.#judgedExpected = 0
    this.#judgedUnplayed = 0
  }

  #use(jitter: JitterBuffer): void {
    this.#dropped = this.#drops
    this.#before = NOTHING
    this.#jitter = jitter
  }

  /** Packets of this source that arrived and were dropped. */
  get #drops(): Drops {
    const now = this.#jitter === null ? NOTHING : dropsOf(this.#jitter.counters)
    return {
      late: this.#dropped.late + now.late - this.#before.late,
      duplicate: this.#dropped.duplicate + now.duplicate - this.#before.duplicate,
    }
  }

  /** Packets that were not played although due: lost on the way, or too late. */
  get #unplayed(): number {
    const { late, duplicate } = this.#drops
    return Math.max(0, this.#stats.cumulativeLost + duplicate) + late
  }

  /** One-way delay to playout [ms]: half of the round trip; before RTCP has reported it, that of fast packets is assumed. */
  #delayMs(roundTripMs: number | null): number {
    return (roundTripMs ?? 0) / 2 + this.#excessMs + (this.#jitter?.currentDelayMs ?? 0) + FRAME_MS
  }

  /** To be called a few times a second. @returns whether it has become poor, or has recovered; null: unchanged */
  judge(roundTripMs: number | null, now: number): boolean | null {
    if (now < this.#judgeAt) return null
    const isFirst = this.#judgeAt === Number.NEGATIVE_INFINITY
    this.#judgeAt = now + JUDGED_MS
    const expected = this.#stats.expected
    const unplayed = this.#unplayed
    const packets = expected - this.#judgedExpected
    const missing = Math.max(0, unplayed - this.#judgedUnplayed)
    this.#judgedExpected = expected
    this.#judgedUnplayed = unplayed
    if (isFirst || packets < JUDGED_PACKETS) return null
    const mos = mosOf(this.#delayMs(roundTripMs), (100 * missing) / packets, this.#heard.burstRatio)
    const isOther = this.#isPoor ? mos >= WELL_MOS : mos < POOR_MOS
    this.#inARow = isOther ? this.#inARow + 1 : 0
    if (this.#inARow < IN_A_ROW) return null
    this.#inARow = 0
    this.#isPoor = !this.#isPoor
    return this.#isPoor
  }

  figures(codec: Quality['codec'], packetsSent: number, roundTripMs: number | null): Quality {
    const stats = this.#stats
    const { late, duplicate } = this.#drops
    const { burstRatio, concealedPercent } = this.#heard
    const unplayedPercent = stats.expected === 0 ? 0 : (100 * this.#unplayed) / stats.expected
    const delayMs = this.#delayMs(roundTripMs)
    const drift = this.#drift.ppm
    return {
      codec,
      packetsReceived: stats.received,
      packetsSent,
      packetsLost: Math.max(0, stats.cumulativeLost + duplicate),
      packetsLate: late,
      lossPct: round(stats.lossPercent),
      concealedPct: round(concealedPercent),
      burstRatio: round(burstRatio),
      jitterMs: round(stats.jitterMs),
      roundTripMs: roundTripMs === null ? null : round(roundTripMs),
      delayMs: round(delayMs),
      driftPpm: drift === null ? null : Math.round(drift),
      // Without received audio there is no rating.
      mos: stats.received === 0 ? null : mosOf(delayMs, unplayedPercent, burstRatio),
    }
  }
}

/** Packets that arrived and were not played. */
interface Drops {
  late: number
  duplicate: number
}
const NOTHING: Drops = { late: 0, duplicate: 0 }
const dropsOf = ({ late, overflow, duplicate }: JitterCounters): Drops => ({ late: late + overflow, duplicate })

const round = (value: number): number => Math.round(value * 100) / 100
