import { Holes } from '../../codecs/plc.ts'
import { PacketRing, RING_PACKETS, RING_PAYLOAD_BYTES } from './packet-ring.ts'
import { GROUP_PACKETS, PlayoutDelay } from './playout-delay.ts'
import { nearest } from './rtp.ts'

/** If the first packet is earlier than its tick by less than this, it is played a tick later: the network is not known yet [ms]. */
const FIRST_SPARE_MS = 4
/** For this long a starved stream counts as lost packets, after that as a pause. */
const STARVED_FRAMES = 3
/** If in-order packets are late for this long, it is not a network stall: the sender's clock has moved. */
const LATE_RUN_MS = 200
/** If they do not come faster than they were sent, as behind a stall, this is known sooner; by how much they may [ms]. */
const STEADY_RUN_MS = 40
const STEADY_MS = 10
/** If a packet in order is later than this, it is not the network: the sender's clock stood still in a pause, or was set back [ms]. */
const PAUSED_MS = 2000
/** Without a pull for this long the clock counts as stopped, not as late. */
const STOPPED_MS = 500
/**
 * If only one in this many packets is overtaken by its successor, the delay does not grow: another frame of delay for everything would cost
 * more.
 */
const STRAY_EVERY = 500
const SMOOTHING = 1 / 16

type PushResult = 'ok' | 'late' | 'duplicate' | 'overflow'

/**
 * The result of `pull`. 'audio': the frame is filled. 'lost': audio was due and is missing: conceal it. 'silence': the sender
 * paused (DTX) or sends an event: zeros or comfort noise. 'empty': nothing has arrived yet, or for a long time: zeros.
 */
export type PullResult = 'audio' | 'lost' | 'silence' | 'empty'

export interface JitterOptions {
  /** bytes of one tick and RTP timestamp units of one tick; they are the same in G.711 and G.722. Default 160 */
  frameBytes: number
  /** time between two pulls [ms]. Default 20 */
  frameMs: number
  /** the codec's zero level, 0xff in PCMU and 0xd5 in PCMA; fills pauses inside a frame. Default 0xff */
  silenceByte: number
  /** fills what is lost inside a frame, for whoever conceals it; absent: as silence */
  holeByte: number | null
  /** bound of the adaptive delay, frames. Default 10 */
  maxDelayFrames: number
}

/** What a jitter buffer has counted: fields of it, because each packet is counted. */
export class JitterCounters {
  /** packets given to `push` */
  received = 0
  /** packets dropped because they came too late */
  late = 0
  /** of these, packets after which nothing had been played: their turn was a silence */
  overdue = 0
  duplicate = 0
  /** packets dropped because they were too long, or too far from the others */
  overflow = 0
  /** packets missing at their turn */
  lost = 0
  /** frames answered 'lost', and frames with `holes` */
  concealed = 0
  /** packets missing at their turn that a later one brought once more; their frames are none of `concealed` */
  recovered = 0
  /** frames by which the delay grew */
  inserted = 0
  /** frames by which the delay was reduced, and packets dropped at a resync or after a stall of ours */
  discarded = 0
  /** accepted jumps of sequence number or timestamp */
  resyncs = 0
}

/**
 * The jitter buffer between a party's network and the 20 ms clock. Packets of any length are pushed as they arrive and played by
 * their timestamps: in the next tick after the arrival, or later if the network needs it. It allocates nothing
 * after construction. The encoding is one byte per timestamp unit. Decoding happens outside, and so does the inaudible change of playout
 * speed (`Playout`): here frames are taken one by one.
 */
export class JitterBuffer extends JitterCounters {
  readonly #frame: number
  readonly #frameMs: number
  #silenceByte: number
  readonly #holeByte: number | null
  readonly #excessMs: number
  readonly #delay: PlayoutDelay
  readonly #ring = new PacketRing(this)
  /** The parts of the last frame of audio that are lost, if it has any. */
  readonly holes = new Holes()
  hasHoles = false

  #started = false
  /** No packet of this stream has been played yet. */
  #fresh = true
  /** The timestamp that the next pull starts with. */
  #head = 0
  /** End of the last audio that was played. */
  #playedTo = 0
  #lastLength = 0
  /** The newest packet was not audio: nothing is due after it. */
  #quiet = false
  #starvedFrames = 0
  /** End of the newest audio that has come. */
  #newestEnd = 0
  #isJoint = false
  /** Timestamp from which on it may be something else; infinite: none. */
  #breakAt = Number.POSITIVE_INFINITY
  /** The next audio is the late packet that was waited for. */
  #isBack = false
  #nextPullMs = Number.NaN
  /** Arrival and timestamp of the first of a run of late packets. */
  #lateSinceMs = Number.NaN
  #lateFrom = 0
  #afterJump = -1
  /** Of `counters.received`, when the last packet came behind its successor. */
  #overtakenAt = Number.NEGATIVE_INFINITY

  constructor(options: Partial<JitterOptions> = {}) {
    super()
    this.#frame = options.frameBytes ?? 160
    this.#frameMs = options.frameMs ?? 20
    this.#silenceByte = options.silenceByte ?? 0xff
    this.#holeByte = options.holeByte ?? null
    const maxDelayMs = (options.maxDelayFrames ?? 10) * this.#frameMs
    this.#excessMs = 2 * maxDelayMs
    this.#delay = new PlayoutDelay(this.#frameMs, maxDelayMs)
    this.reset()
  }

  /** Itself, for whoever reads nothing else of it. */
  get counters(): JitterCounters {
    return this
  }

  /** From arrival to playout, smoothed over some 16 packets that were in time; 0 before the first one [ms]. */
  get currentDelayMs(): number {
    const { smoothedMs } = this.#delay
    return Number.isNaN(smoothedMs) ? 0 : smoothedMs
  }

  /** Time from the arrival of nearly every packet to the pull that needs it [ms]; null: not known yet. */
  get spareMs(): number | null {
    return this.#delay.spareMs
  }

  /** Keeps so many more frames, for the packet after a lost one, which repeats it. */
  reserve(frames: number): void {
    this.#delay.reserve(frames * this.#frameMs)
  }

  /** How much of it must remain when the delay is reduced: more on an unsteady network [ms]. */
  get enoughMs(): number {
    return this.#delay.enoughMs
  }

  /** Surplus frames of delay, to be taken by `more`. Negative: `stay` should be called for this many ticks. */
  get excess(): number {
    return this.#delay.excess
  }

  /** Audio for the next frame is available. */
  get isReady(): boolean {
    return this.#started && this.#newestEnd >= this.#head + this.#frame
  }

  /** The last frame does not continue the one before it: frames in between were skipped, or its sender has begun something else. */
  get isJoint(): boolean {
    return this.#isJoint
  }

  /** Nothing was there for the last frame, which was made up or had waited. */
  get isStarved(): boolean {
    return this.#starvedFrames > 0
  }

  /** The stream has begun, nothing of it was there for the last frame, and its sender has not said that it would fall silent. */
  get isMissing(): boolean {
    return this.#started && !this.#quiet && this.#starvedFrames > 0
  }

  /** The next audio continues the last, although something was concealed in between: it came late. */
  get isBack(): boolean {
    return this.#isBack
  }

  /**
   * Copies in the payload of one audio packet.
   *
   * @param sequence 16 bit, as on the wire
   * @param timestamp 32 bit, as on the wire
   * @param arrivalMs on the clock of `pull`
   * @param isBegin its marker bit: a talk spurt begins (RFC 3551 §4.1)
   * @returns 'ok', or why the packet was dropped and counted
   */
  push(
    sequence: number,
    timestamp: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    arrivalMs: number,
    isBegin = false,
  ): PushResult {
    this.received++
    if (length <= 0 || length > RING_PAYLOAD_BYTES || offset + length > bytes.length) return this.#refuse('overflow')
    const refusal = this.#started ? this.#refusal(sequence, this.#unwrapped(sequence)) : null
    if (refusal !== null) return this.#refuse(refusal)
    const at = this.#started ? nearest(timestamp, this.#newestEnd, 32) : timestamp
    const unwrapped = this.#unwrapped(sequence)
    if (!this.#started) this.#anchor(unwrapped, at, length, arrivalMs)
    // While nobody pulls (set-up, hold), only the newest audio counts; otherwise the call would continue with that delay.
    if (!this.#isPulled(arrivalMs)) this.#head = Math.max(this.#head, at + length - this.#frame)
    if (isBegin && this.#isUncounted(unwrapped, at)) this.#resync(unwrapped, at, length, arrivalMs)
    if (!this.#onTime(unwrapped, at, length, arrivalMs)) {
      this.#ring.spend(unwrapped)
      if (at >= this.#playedTo) this.overdue++
      return this.#refuse('late')
    }
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    if (unwrapped > this.#ring.highest) this.#quiet = false
    if (at + length > this.#newestEnd) this.#newestEnd = at + length
    this.#ring.store(unwrapped, at, bytes, offset, length)
    return 'ok'
  }

  /**
   * Notes a packet of the same source without audio (telephone event, comfort noise), so that its sequence number
   * does not count as lost, and what follows is silence.
   */
  skip(sequence: number): PushResult {
    if (!this.#started) return 'ok'
    const refusal = this.#refusal(sequence, this.#unwrapped(sequence))
    if (refusal !== null) return this.#refuse(refusal)
    if (!this.#started) return 'ok'
    const unwrapped = this.#unwrapped(sequence)
    if (unwrapped < this.#ring.next) return 'ok'
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    if (unwrapped > this.#ring.highest) this.#quiet = true
    this.#ring.spend(unwrapped)
    return 'ok'
  }

  /**
   * Takes the next frame; this or `stay` is to be called once per tick.
   *
   * @param out `frameBytes` long; its content is defined when the answer is 'audio'
   * @param nowMs the deadline of the tick
   */
  pull(out: Uint8Array, nowMs: number): PullResult {
    this.#isJoint = false
    this.#turn(nowMs)
    return this.#started ? this.#next(out) : 'empty'
  }

  /** Takes one more frame in the same tick, which shortens the delay. */
  more(out: Uint8Array): PullResult {
    this.discarded++
    this.#delay.cut()
    return this.#next(out)
  }

  /** A tick that takes no frame, which lengthens the delay. */
  stay(nowMs: number): void {
    this.#turn(nowMs)
    this.inserted++
    this.#delay.shift(this.#frameMs)
  }

  /** The buffer holds complete frames without gaps, and the stream continues after them. */
  get isWhole(): boolean {
    if (!this.#started || this.#quiet || this.#starvedFrames > 0) return false
    return this.#ring.isWhole(this.#head, this.#newestEnd, this.#frame)
  }

  /** Calls this with each packet that waits, its numbers as on the wire, and the first byte of its payload. */
  eachWaiting(take: (sequence: number, timestamp: number, length: number, first: number) => void): void {
    if (!this.#started) return
    this.#ring.each((sequence, timestamp, length, first) => take(sequence & 0xffff, timestamp >>> 0, length, first))
  }

  /** The end of the last audio that was played, as on the wire. */
  get playedTimestamp(): number {
    return this.#playedTo >>> 0
  }

  /** The sequence number and timestamp of the packet after everything received, as on the wire. */
  get nextSequence(): number {
    return (this.#ring.highest + 1) & 0xffff
  }

  get nextTimestamp(): number {
    return this.#newestEnd >>> 0
  }

  /** The frame that was just answered 'lost' came from elsewhere: nobody had to guess. `packets`: so many begin with it. */
  recover(packets: 0 | 1): void {
    this.concealed--
    this.recovered += packets
  }

  /** Takes the next complete frame, outside of any tick; false: there is none. */
  takeWhole(out: Uint8Array): boolean {
    if (!this.#ring.takeWhole(this.#head, out)) return false
    this.#head += this.#frame
    return true
  }

  /** It is pulled again after a time in which it was not, as on hold: the next packet begins the stream anew. */
  resume(): void {
    this.reset()
    this.#nextPullMs = Number.NaN
  }

  /** A tick in which packets are relayed elsewhere. */
  pass(nowMs: number): void {
    this.#nextPullMs = nowMs + this.#frameMs
  }

  #next(out: Uint8Array): PullResult {
    const result = this.#fill(out)
    if (result === 'lost') this.concealed++
    return result
  }

  #turn(nowMs: number): void {
    const lateMs = nowMs - this.#nextPullMs
    if (lateMs !== 0 && this.#started) this.#skipped(lateMs)
    this.#nextPullMs = nowMs + this.#frameMs
    if (this.#delay.packets >= GROUP_PACKETS) this.#delay.endGroup()
  }

  /**
   * The clock has skipped frames, or its phase was moved. Received audio for the skipped frames is dropped: a stall of ours must not
   * make the stream late from then on. If it was stopped, nothing before tells how long packets will have to wait.
   */
  #skipped(lateMs: number): void {
    if (Number.isNaN(lateMs)) return
    if (lateMs >= STOPPED_MS) {
      this.#delay.reset()
      return
    }
    const frames = Math.floor(lateMs / this.#frameMs + 1e-6)
    const held = Math.floor((this.#newestEnd - this.#head) / this.#frame) - 1
    const left = Math.max(0, Math.min(frames, held))
    this.#head += left * this.#frame
    this.#isJoint = left > 0
    this.#delay.shift(lateMs - left * this.#frameMs)
  }

  /** Another codec of the same rate from now on: buffered audio is transcoded, so nothing is lost at the change. */
  recode(octets: Uint8Array, silenceByte: number): void {
    this.#ring.recode(octets)
    this.#silenceByte = silenceByte
  }

  /** What follows everything received so far may be something else. */
  breaks(): void {
    this.#breakAt = this.#newestEnd
  }

  /** The sender ends its stream: received audio is played, and nothing more is due. */
  over(): void {
    this.#quiet = true
  }

  /** Forgets the stream: a new SSRC. The counters stay. */
  reset(): void {
    this.#ring.start(0)
    this.#delay.reset()
    this.#breakAt = Number.POSITIVE_INFINITY
    this.#started = false
    this.#afterJump = -1
    this.#lateSinceMs = Number.NaN
  }

  #refuse(reason: 'late' | 'duplicate' | 'overflow'): PushResult {
    this[reason]++
    return reason
  }

  #isPulled(nowMs: number): boolean {
    return nowMs - this.#nextPullMs < STOPPED_MS
  }

  /** Without wrap-around, which `start` begins anew. */
  #unwrapped(sequence: number): number {
    return this.#started ? nearest(sequence, this.#ring.highest, 16) : sequence
  }

  /** A jump is accepted if the next packet continues it (RFC 3550 §A.1). */
  #refusal(sequence: number, unwrapped: number): 'duplicate' | 'overflow' | null {
    if (unwrapped - this.#ring.highest >= RING_PACKETS || this.#ring.next - unwrapped >= RING_PACKETS) {
      const confirmed = sequence === this.#afterJump
      this.#afterJump = (sequence + 1) & 0xffff
      if (!confirmed) return 'overflow'
      this.resyncs++
      this.reset()
      return null
    }
    this.#afterJump = -1
    return this.#ring.has(unwrapped) ? 'duplicate' : null
  }

  /** Plays the packet in the next pull, or in one after it. If packets are not whole frames, the following ones also have to be in time. */
  #anchor(sequence: number, at: number, length: number, arrivalMs: number): void {
    this.#started = true
    this.#fresh = true
    this.#ring.start(sequence)
    const amidMs = ((this.#frame - commonDivisor(this.#frame, length)) / this.#frame) * this.#frameMs
    const toPullMs = Number.isNaN(this.#nextPullMs) ? FIRST_SPARE_MS : this.#nextPullMs - arrivalMs
    const frames = Math.ceil((FIRST_SPARE_MS + amidMs - toPullMs) / this.#frameMs)
    this.#head = at - Math.min(Math.max(frames, 0), 2) * this.#frame
    this.#playedTo = this.#head
    this.#newestEnd = this.#head
    this.#starvedFrames = 0
    this.#quiet = false
    this.#lateSinceMs = Number.NaN
    this.#isBack = false
    this.#delay.reset()
  }

  /** A talk spurt that follows what came before without a gap, after a pause of ours: its sender's clock stood still in it. */
  #isUncounted(sequence: number, at: number): boolean {
    const isNext = sequence === this.#ring.highest + 1 && at === this.#newestEnd
    return isNext && at < this.#head && this.#starvedFrames >= STARVED_FRAMES
  }

  #resync(sequence: number, at: number, length: number, arrivalMs: number): void {
    this.resyncs++
    this.#anchor(sequence, at, length, arrivalMs)
    this.#observe(this.#spareMs(at, arrivalMs))
  }

  /** Time from the arrival to the pull that needs the first byte [ms]; negative if that pull is over. */
  #spareMs(at: number, arrivalMs: number): number {
    const frames = Math.floor((at - this.#head) / this.#frame)
    const toPullMs = this.#nextPullMs - arrivalMs
    // If nobody pulls, or our own tick is late, the packet is not late.
    return frames * this.#frameMs + (toPullMs > 0 ? Math.min(this.#frameMs, toPullMs) : 0)
  }

  /** @param spareMs of a packet that just arrived; negative if it was too late */
  #observe(spareMs: number): void {
    const delay = this.#delay
    const spare = spareMs - delay.shiftMs
    delay.packets++
    if (spare < delay.least) delay.least = spare
    if (spare > delay.most) delay.most = spare
    if (spareMs < 0) return
    const { smoothedMs } = delay
    delay.smoothedMs = Number.isNaN(smoothedMs) ? spareMs : smoothedMs + (spareMs - smoothedMs) * SMOOTHING
  }

  /** Whether the packet can be played, after adapting the delay. */
  #onTime(sequence: number, at: number, length: number, arrivalMs: number): boolean {
    const spareMs = this.#spareMs(at, arrivalMs)
    if (sequence >= this.#ring.next && spareMs > this.#excessMs) {
      this.#resync(sequence, at, length, arrivalMs)
      return true
    }
    const isStray = sequence < this.#ring.highest && this.#isStray()
    if (!isStray && spareMs <= this.#excessMs && this.#isPulled(arrivalMs)) this.#observe(spareMs)
    if (sequence < this.#ring.next) {
      const isFirst = this.#fresh && at >= this.#head && at < this.#head + this.#frame
      if (isFirst) this.#ring.next = sequence
      return isFirst
    }
    if (at < this.#head && !isStray) this.#goBack(at)
    if (at > this.#playedTo && this.#head >= this.#newestEnd) this.#align(at)
    if (at >= this.#head) {
      this.#lateSinceMs = Number.NaN
      return true
    }
    if (at + length > this.#head) return true
    if (!this.#hasMoved(sequence, at, arrivalMs)) return false
    this.#resync(sequence, at, length, arrivalMs)
    return true
  }

  /** A packet is late. @returns whether that is because the sender's clock stood still, or was set back */
  #hasMoved(sequence: number, at: number, arrivalMs: number): boolean {
    if (Number.isNaN(this.#lateSinceMs)) {
      this.#lateSinceMs = arrivalMs
      this.#lateFrom = at
    }
    const lateForMs = arrivalMs - this.#lateSinceMs
    if (lateForMs >= LATE_RUN_MS) return true
    if (sequence <= this.#ring.highest) return false
    const sentForMs = ((at - this.#lateFrom) / this.#frame) * this.#frameMs
    const isSteady = lateForMs >= STEADY_RUN_MS && lateForMs >= sentForMs - STEADY_MS
    return isSteady || this.#head - at > (PAUSED_MS / this.#frameMs) * this.#frame
  }

  /** Whether an overtaken packet is the first one for a long time. */
  #isStray(): boolean {
    const since = this.received - this.#overtakenAt
    this.#overtakenAt = this.received
    return since >= STRAY_EVERY
  }

  /** A late packet is still played if nothing after it was: the delay grows by what was concealed in its place. */
  #goBack(at: number): void {
    const late = this.#head - at
    const free = Math.floor((this.#head - this.#playedTo) / this.#frame)
    const frames = Math.min(Math.ceil(late / this.#frame), free)
    const granted = this.#delay.grow(frames, (late / this.#frame) * this.#frameMs)
    this.#head -= granted * this.#frame
    this.inserted += granted
    this.#isBack = granted > 0 && this.#head === this.#playedTo
  }

  /** After a pause, frames begin with packets; to begin in the middle of one would lose the rest of it. */
  #align(at: number): void {
    if (at < this.#head || (!this.#quiet && this.#starvedFrames < STARVED_FRAMES)) return
    this.#head += (at - this.#head) % this.#frame
  }

  #fill(out: Uint8Array): PullResult {
    const start = this.#head
    const end = start + this.#frame
    this.#head = end
    if (this.hasHoles) this.holes.count = 0
    this.hasHoles = false
    if (end > this.#breakAt) {
      this.#isJoint = true
      this.#breakAt = Number.POSITIVE_INFINITY
    }
    if (this.#ring.takeWhole(start, out)) {
      this.#played(end, this.#frame)
      return 'audio'
    }
    let position = start
    let audio = 0
    let owed = 0
    let found = true
    while (position < end) {
      found = this.#ring.seek()
      const at = found ? this.#ring.timestamp : end
      if (at <= position && found) {
        const taken = this.#take(out, position, start, end)
        audio += taken
        position += taken
        continue
      }
      const stop = Math.min(at, end)
      if (this.#isOwed(found, position)) {
        owed += stop - position
        this.holes.add(position - start, stop - start)
        this.hasHoles = true
        out.fill(this.#holeByte ?? this.#silenceByte, position - start, stop - start)
      } else out.fill(this.#silenceByte, position - start, stop - start)
      position = stop
    }
    if (!found) this.#starvedFrames++
    if (audio > 0) {
      if (owed > 0) this.concealed++
      return 'audio'
    }
    if (owed > 0) return 'lost'
    return found || this.#quiet ? 'silence' : 'empty'
  }

  /** Copies the found packet's part of this frame. @returns bytes copied, 0 if it is entirely in the past */
  #take(out: Uint8Array, position: number, start: number, end: number): number {
    const length = this.#ring.length
    const taken = this.#ring.take(position - this.#ring.timestamp, out, position - start, end - start)
    if (taken === 0) return 0
    this.#played(position + taken, length)
    return taken
  }

  #played(to: number, packetLength: number): void {
    this.#isBack = false
    this.#playedTo = to
    this.#lastLength = packetLength
    this.#fresh = false
    this.#starvedFrames = 0
  }

  /** Whether a hole in the audio is loss: as much of it as the missing packets would have filled; the rest is a pause. */
  #isOwed(found: boolean, position: number): boolean {
    if (this.#fresh) return false
    if (!found) return !this.#quiet && this.#starvedFrames < STARVED_FRAMES
    return position < this.#playedTo + this.#ring.missing * this.#lastLength
  }
}

function commonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b]
  return a
}
