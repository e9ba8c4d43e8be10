import { FRAME_MS } from '../../codecs/audio.ts'
import type { Quality } from '../protocol.ts'
import { ClockDrift } from '../rtp/clock-drift.ts'
import { HeardFrames } from '../rtp/heard-frames.ts'
import type { JitterBuffer, JitterCounters } from '../rtp/jitter.ts'
import { mosOf } from '../rtp/mos.ts'
import type { ReceptionStats } from '../rtp/reception-stats.ts'

/** What is judged at a time while the call goes on [ms], and the packets that it must have. */
const JUDGED_MS = 5000
const JUDGED_PACKETS = 100
/** R = 70: below it many are dissatisfied (ITU-T G.109). Well above it all is well again. */
const POOR_MOS = 3.6
const WELL_MOS = 3.8
/** So often in a row, that one bad moment is none. */
const IN_A_ROW = 2
/** The middle of what is seen a few times a second is found in such steps: what comes far too late does not move it [ms]. */
const STEP_MS = 2
const UNITS_PER_MS = 8

/** The figures of a leg that the network and the jitter buffer are known by, and what that sounds like (ITU-T G.107). */
export class LegQuality {
  readonly #drift = new ClockDrift()
  readonly #stats: ReceptionStats
  readonly #heard: HeardFrames
  #jitter: JitterBuffer | null = null
  /** Of the counters of this buffer: what was counted for the source before. Of buffers before this one: what they have dropped. */
  #before = NOTHING
  #dropped = NOTHING
  /** How much longer than the fastest packets those take that come, in the middle [ms]. */
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

  /** A packet that went on as it came, behind so many that are missing. */
  passed(missing: number): void {
    this.#heard.passed(missing)
  }

  /** To be called a few times a second. @param least transit of the fastest packet since the last time */
  arrived(least: number, now: number): void {
    this.#drift.note(least, now)
    const excessMs = ((this.#stats.transit - least) | 0) / UNITS_PER_MS
    this.#excessMs = Math.max(0, this.#excessMs + (excessMs > this.#excessMs ? STEP_MS : -STEP_MS))
  }

  /** Another source: its packets are counted anew. */
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

  /** What came of this source and was dropped. */
  get #drops(): Drops {
    const now = this.#jitter === null ? NOTHING : dropsOf(this.#jitter.counters)
    return {
      late: this.#dropped.late + now.late - this.#before.late,
      duplicate: this.#dropped.duplicate + now.duplicate - this.#before.duplicate,
    }
  }

  /** Packets that should have been played and were not: lost on their way, or too late. */
  get #unplayed(): number {
    const { late, duplicate } = this.#drops
    return Math.max(0, this.#stats.cumulativeLost + duplicate) + late
  }

  /** From there to here and until it is played [ms]: half of the round trip, which is unknown before RTCP has told of it, is that of fast packets. */
  #delayMs(roundTripMs: number | null): number {
    return (roundTripMs ?? 0) / 2 + this.#excessMs + (this.#jitter?.currentDelayMs ?? 0) + FRAME_MS
  }

  /** To be called a few times a second. @returns whether it has become poor, or well again; null: it is as it was */
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
      // Who has heard nothing has no opinion.
      mos: stats.received === 0 ? null : mosOf(delayMs, unplayedPercent, burstRatio),
    }
  }
}

/** Packets that came and were not played. */
interface Drops {
  late: number
  duplicate: number
}
const NOTHING: Drops = { late: 0, duplicate: 0 }
const dropsOf = ({ late, overflow, duplicate }: JitterCounters): Drops => ({ late: late + overflow, duplicate })

const round = (value: number): number => Math.round(value * 100) / 100
