import { FRAME_MS } from '../../codecs/audio.ts'
import type { Quality } from '../protocol.ts'
import { ClockDrift } from '../rtp/clock-drift.ts'
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
/** The delay of a receiver's jitter buffer, as a multiple of the jitter (RFC 3550 §6.4.1), where packets are relayed and its buffer is not ours. */
const JITTERS_BUFFERED = 2
const UNITS_PER_MS = 8

/** Network and jitter buffer figures of a leg, and the resulting quality (ITU-T G.107). */
export class LegQuality {
  readonly #drift = new ClockDrift()
  readonly #stats: ReceptionStats
  /** The owner notes each tick there. */
  readonly frames: HeardFrames
  #jitter: JitterBuffer | null = null
  /** Dropped packets of earlier jitter buffers. */
  #dropped = NOTHING
  /** The median of how much longer packets take than the fastest ones [ms]. */
  #excessMs = 0
  /** Number of packets that were relayed until the last `arrived`, and whether some were since the one before it. */
  #relayed = 0
  #isRelayed = false
  #judgeAt = Number.NEGATIVE_INFINITY
  #judgedExpected = 0
  #judgedUnplayed = 0
  #inARow = 0
  #isPoor = false

  constructor(stats: ReceptionStats) {
    this.#stats = stats
    this.frames = new HeardFrames(() => stats.allLost + this.#drops.awaited)
  }

  /** To be called a few times a second. @param least transit of the fastest packet since the last call */
  arrived(least: number, now: number): void {
    this.#drift.note(least, now)
    const excessMs = ((this.#stats.transit - least) | 0) / UNITS_PER_MS
    this.#excessMs = Math.max(0, this.#excessMs + (excessMs > this.#excessMs ? STEP_MS : -STEP_MS))
    this.#isRelayed = this.frames.relayed > this.#relayed
    this.#relayed = this.frames.relayed
  }

  /** Another source. The figures are of all of them. */
  newSource(): void {
    this.#drift.reset()
    this.frames.newSource()
  }

  /** Audio comes out of this buffer from now on. */
  use(jitter: JitterBuffer): void {
    if (jitter === this.#jitter) return
    this.#dropped = this.#drops
    this.#jitter = jitter
  }

  /** Packets that arrived and were dropped. */
  get #drops(): Drops {
    const now = this.#jitter === null ? NOTHING : dropsOf(this.#jitter.counters)
    return {
      late: this.#dropped.late + now.late,
      duplicate: this.#dropped.duplicate + now.duplicate,
      recovered: this.#dropped.recovered + now.recovered,
      awaited: this.#dropped.awaited + now.awaited,
    }
  }

  /** Packets that were not played although due: lost on the way, or too late, and not brought once more by the next (FEC). */
  get #unplayed(): number {
    const { late, duplicate, recovered } = this.#drops
    return Math.max(0, Math.max(0, this.#stats.allLost + duplicate) + late - recovered)
  }

  /** One-way delay to playout [ms]: half of the round trip; before RTCP has reported it, that of fast packets is assumed. */
  #delayMs(roundTripMs: number | null): number {
    const ownMs = this.#jitter?.currentDelayMs ?? 0
    const bufferMs = this.#isRelayed ? JITTERS_BUFFERED * this.#stats.jitterMs : ownMs
    return (roundTripMs ?? 0) / 2 + this.#excessMs + bufferMs + FRAME_MS
  }

  /** To be called a few times a second. @returns whether it has become poor, or has recovered; null: unchanged */
  judge(roundTripMs: number | null, now: number): boolean | null {
    if (now < this.#judgeAt) return null
    const isFirst = this.#judgeAt === Number.NEGATIVE_INFINITY
    this.#judgeAt = now + JUDGED_MS
    const expected = this.#stats.allExpected
    const unplayed = this.#unplayed
    const packets = expected - this.#judgedExpected
    const missing = Math.max(0, unplayed - this.#judgedUnplayed)
    this.#judgedExpected = expected
    this.#judgedUnplayed = unplayed
    if (isFirst || packets < JUDGED_PACKETS) return null
    const mos = mosOf(this.#delayMs(roundTripMs), (100 * missing) / packets, this.frames.burstRatio)
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
    // Duplicates do not make up for lost packets.
    const packetsLost = Math.max(0, stats.allLost + duplicate)
    const { burstRatio, concealedPercent } = this.frames
    const percentOf = (packets: number): number => (stats.allExpected === 0 ? 0 : (100 * packets) / stats.allExpected)
    const delayMs = this.#delayMs(roundTripMs)
    const drift = this.#drift.ppm
    return {
      codec,
      packetsReceived: stats.allReceived,
      packetsSent,
      packetsLost,
      packetsLate: late,
      lossPct: round(percentOf(packetsLost)),
      concealedPct: round(concealedPercent),
      burstRatio: round(burstRatio),
      jitterMs: round(stats.jitterMs),
      roundTripMs: roundTripMs === null ? null : round(roundTripMs),
      delayMs: round(delayMs),
      driftPpm: drift === null ? null : Math.round(drift),
      // Without received audio there is no rating.
      mos: stats.allReceived === 0 ? null : mosOf(delayMs, percentOf(this.#unplayed), burstRatio),
    }
  }
}

/** Packets that arrived and were not played, packets that came in a later one once more, and ticks in which packets were still on their way. */
interface Drops {
  late: number
  duplicate: number
  recovered: number
  awaited: number
}
const NOTHING: Drops = { late: 0, duplicate: 0, recovered: 0, awaited: 0 }
const dropsOf = ({ late, overdue, overflow, duplicate, recovered, inserted }: JitterCounters): Drops => ({
  late: late + overflow,
  duplicate,
  recovered,
  awaited: overdue + inserted,
})

const round = (value: number): number => Math.round(value * 100) / 100

/**
 * The frames that were due from a party: played or concealed, and in which bursts. If audio continues after a silence, the
 * silence counts as loss as far as packets were missing meanwhile: lost, dropped because they came too late, or waited for. The rest is a
 * pause of the speaker.
 */
export class HeardFrames {
  played = 0
  /** Of the played ones. */
  relayed = 0
  concealed = 0
  /** Bursts of concealed frames. */
  bursts = 0
  readonly #missing: () => number
  /** Frames that are missing since the last one that was played. */
  run = 0
  /** Frames that the jitter buffer had concealed at the last `note`. */
  counted = 0
  /** Packets missing before the current silence; NaN: there is none. */
  #before = Number.NaN

  /** @param missing number of packets so far that were not there in time */
  constructor(missing: () => number) {
    this.#missing = missing
  }

  /** A tick. If a frame is played, none is missing and none was concealed, the caller may count it as `played` instead. @param concealed so far */
  note(isHeard: boolean, concealed: number): void {
    const isConcealed = concealed > this.counted
    this.counted = concealed
    if (isHeard && !isConcealed) {
      this.played++
      if (this.run > 0) this.#goesOn()
      return
    }
    // Silence without preceding concealment is a pause.
    if (!isHeard && !isConcealed && this.run === 0) return
    this.run++
    if (!isHeard && !isConcealed && Number.isNaN(this.#before)) this.#before = this.#missing()
  }

  /** A packet was relayed, after this many missing ones, which the receiver conceals; negative: it is one of those, overtaken by others. */
  passed(missing: number): void {
    this.played++
    this.relayed++
    if (missing === 0) return
    if (missing > 0) this.bursts++
    this.concealed = Math.max(0, this.concealed + Math.max(missing, -1))
    this.bursts = Math.min(this.bursts, this.concealed)
  }

  #goesOn(): void {
    const run = Number.isNaN(this.#before) ? this.run : Math.min(this.run, this.#missing() - this.#before)
    this.#forget()
    if (run <= 0) return
    this.bursts++
    this.concealed += run
  }

  /** Another source: a silence before it was no loss. */
  newSource(): void {
    this.#forget()
  }

  #forget(): void {
    this.run = 0
    this.#before = Number.NaN
  }

  /** Share of all frames [%]. */
  get concealedPercent(): number {
    const all = this.played + this.concealed
    return all === 0 ? 0 : (100 * this.concealed) / all
  }

  /** Mean burst length relative to random loss (ITU-T G.107 §7.5); 1 without loss. */
  get burstRatio(): number {
    if (this.bursts === 0) return 1
    return Math.max(1, (this.concealed / this.bursts) * (1 - this.concealedPercent / 100))
  }
}
