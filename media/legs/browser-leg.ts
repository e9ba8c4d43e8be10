import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { LawName } from '../../codecs/g711.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import type { Quality } from '../protocol.ts'
import { LEG_SAMPLES, Leg, type LegHooks } from '../rooms/leg.ts'
import { mosOf } from '../rtp/mos.ts'
import { OneWayWatch } from '../rtp/one-way-watch.ts'
import { SenderClock } from '../rtp/sender-clock.ts'
import { FrameRing } from './frame-ring.ts'
import { LivePlayout } from './live-playout.ts'
import type { PageWay } from './page-way.ts'

/** Memory that the main thread, which owns the WebSocket, shares with the leg's engine thread. */
export interface BrowserPipe {
  /** The formats on the wire. */
  codec: 'PCMU' | 'L16'
  fromPage: SharedArrayBuffer
  toPage: SharedArrayBuffer
  /** State known only to the socket's thread: Int32 at `FACTS`. */
  facts: SharedArrayBuffer
}

/** Places in `BrowserPipe.facts`. */
export const FACTS = {
  /** 1: the page's audio is live and is played with a jitter delay; 0: it is queued, however early it came. */
  live: 0,
  /** Interarrival jitter, RFC 3550 §6.4.1 [µs]. */
  jitterUs: 1,
  /** Round trip of a WebSocket ping; -1: unknown [µs]. */
  roundTripUs: 2,
  count: 3,
} as const

/** A page may listen for a long time before it sends audio; one that never does has no microphone [ms]. */
const MUTE_PAGE_MS = 60_000

const KEY = /^[0-9A-D*#]$/

/** A party on the call WebSocket: frames pass through two rings of shared memory, or over WebRTC while that works. */
export class BrowserLeg extends Leg {
  readonly #codec: BrowserPipe['codec']
  readonly #fromPage: FrameRing
  readonly #toPage: FrameRing
  readonly #facts: Int32Array
  readonly #sendKey: (key: string) => void
  readonly #played = new PlayedFrames(LEG_SAMPLES)
  readonly #playout = new LivePlayout()
  readonly #plc = new Plc()
  readonly #clock = new SenderClock()
  /** That the clock knows [µs]. */
  #roundTripUs = -1
  /** So many frames had come by then [ms]. */
  #come = { frames: 0, by: Number.NEGATIVE_INFINITY }
  readonly #oneWay = new OneWayWatch(MUTE_PAGE_MS)
  readonly #hooks: LegHooks
  #way: PageWay | null = null
  /** The last frame was received that way. */
  #isByWay = false
  /** Of the clock, in which its room is mixed; null: it is in none. */
  #slot: number | null = null
  #sent = 0

  /** @param sendKey sends the page a key that another party pressed */
  constructor(id: string, pipe: BrowserPipe, hooks: LegHooks, sendKey: (key: string) => void) {
    super(id, hooks)
    this.#hooks = hooks
    this.#codec = pipe.codec
    this.#fromPage = new FrameRing(pipe.fromPage)
    this.#toPage = new FrameRing(pipe.toPage)
    this.#facts = new Int32Array(pipe.facts)
    this.#sendKey = sendKey
  }

  /** An alternative path for its audio; null: only the WebSocket. `now` [ms]. */
  useWay(way: PageWay | null, now: number): void {
    this.#way?.close(now)
    this.#way = way
    way?.packets.follow(this.#slot)
  }

  override follow(slot: number | null): void {
    this.#slot = slot
    this.#way?.packets.follow(slot)
  }

  get way(): PageWay | null {
    return this.#way
  }

  get law(): LawName | null {
    return null
  }

  /** The socket's thread refuses invalid audio, so everything that arrives here is valid. */
  get packetsRefused(): number {
    return this.#way?.packets.packetsRefused ?? 0
  }

  get quality(): Quality {
    const packets = this.#way?.packets.quality
    if (packets !== undefined && packets.packetsReceived > 0) return packets
    const received = this.#fromPage.written
    const lost = this.#playout.late + this.#playout.skipped
    const lossPct = lost === 0 ? 0 : (100 * lost) / (received + this.#playout.late)
    const roundTripUs = Atomics.load(this.#facts, FACTS.roundTripUs)
    const delayMs = Math.max(0, roundTripUs) / 2000 + (this.#fromPage.waiting + 1) * FRAME_MS
    return {
      codec: this.#codec,
      packetsReceived: received,
      packetsSent: this.#sent,
      packetsLost: this.#playout.skipped,
      packetsLate: this.#playout.late,
      lossPct: round(lossPct),
      concealedPct: 0,
      burstRatio: 1,
      jitterMs: round(Atomics.load(this.#facts, FACTS.jitterUs) / 1000),
      roundTripMs: roundTripUs < 0 ? null : round(roundTripUs / 1000),
      delayMs: round(delayMs),
      driftPpm: null,
      mos: received === 0 ? null : mosOf(delayMs, lossPct),
    }
  }

  protected receive(now: number): Frame | null {
    const way = this.#way
    // It is pulled in any case, which keeps its clock running.
    const frame = way === null ? null : way.pull(now)
    this.#isByWay = way?.isOpen(now) === true
    if (this.#isByWay) {
      this.#oneWay.fellSilent()
      // Earlier audio of the page over the WebSocket is obsolete.
      this.#fromPage.skip(this.#fromPage.waiting)
      return frame
    }
    this.#watch(now)
    return this.#isLive ? this.#live(now) : this.#queued()
  }

  /** A live page sends frame by frame, so the number of frames is the time. Other clients send audio in advance, which waits. */
  override playedUntil(now: number): number {
    const { written, read } = this.#fromPage
    if (this.#way?.isOpen(now) === true) return this.#way.packets.playedUntil(now)
    if (this.#isLive) return this.#clock.earliestOf(read * LEG_SAMPLES, now)
    if (((read - this.#come.frames) | 0) >= 0) this.#come = { frames: written, by: now }
    return this.#come.by - Math.max(0, this.#roundTripUs) / 1000
  }

  override get isComfort(): boolean {
    return this.#isByWay && this.#way?.packets.isComfort === true
  }

  /** A page that is live sends all the time, also while it is muted. */
  override get isMissing(): boolean {
    if (this.raw !== null) return false
    if (this.#way?.packets.isMissing === true) return true
    return !this.#isByWay && this.#isLive && this.#fromPage.read > 0
  }

  get #isLive(): boolean {
    return Atomics.load(this.#facts, FACTS.live) === 1
  }

  #watch(now: number): void {
    if (this.#fromPage.written > 0) this.#oneWay.fellSilent()
    else if (this.#sent === 0 || this.isUnheard) this.#oneWay.expect(now)
    else if (this.#oneWay.isDue(now)) this.#hooks.oneWay(this)
  }

  #queued(): Frame | null {
    return this.#take(this.#nextPlace)
  }

  #live(now: number): Frame | null {
    const ring = this.#fromPage
    const roundTripUs = Atomics.load(this.#facts, FACTS.roundTripUs)
    if (roundTripUs !== this.#roundTripUs) this.#clock.travels(roundTripUs / 1000)
    this.#roundTripUs = roundTripUs
    if (ring.waiting > 0) this.#clock.observe(ring.written * LEG_SAMPLES, now)
    const excess = this.#playout.excess(ring.waiting)
    ring.skip(excess)
    const next = this.#playout.next(ring.waiting)
    if (next === 'silent') return null
    if (next === 'play') {
      const frame = this.#take(this.#nextPlace)
      if (frame !== null && this.#plc.isConcealing) this.#plc.good(frame)
      else if (frame !== null && excess > 0) this.#plc.join(this.#played)
      return frame
    }
    this.#played.at = this.#nextPlace
    this.#plc.conceal(this.#played)
    return this.#played.frames[this.#played.at]!
  }

  get #nextPlace(): number {
    return (this.#played.at + 1) % PLAYED_FRAMES
  }

  #take(place: number): Frame | null {
    const frame = this.#played.frames[place]!
    if (!this.#fromPage.take(frame)) return null
    this.#played.at = place
    return frame
  }

  send(frame: Frame | null, _encoded: Uint8Array | null, now: number): void {
    if (this.#way?.isOpen(now) === true) {
      this.#way.send(frame, now)
      return
    }
    if (this.#toPage.write(frame)) this.#sent++
  }

  override goodbye(now: number): void {
    this.useWay(null, now)
  }

  /** A page gets keys as messages, at once. */
  sendKey(key: string): boolean {
    if (!KEY.test(key)) return false
    this.#sendKey(key)
    return true
  }
}

const round = (value: number): number => Math.round(value * 100) / 100
