import { PacketRing, RING_PACKETS, RING_PAYLOAD_BYTES, recode } from './packet-ring.ts'
import { PlayoutDelay } from './playout-delay.ts'
import { Unwrapper } from './rtp.ts'

/** A first packet with less to spare is played a tick later: its network is not known yet [ms]. */
const FIRST_SPARE_MS = 4
/** So long a starved stream is taken for lost packets, after that for a pause. */
const STARVED_FRAMES = 3
/** In-order packets that are late for so long are no stall of the network: the sender's clock has moved. */
const LATE_RUN_MS = 200
/** Without a pull for so long the clock is taken for stopped, not for late. */
const STOPPED_MS = 500

export type PushResult = 'ok' | 'late' | 'duplicate' | 'overflow'

/**
 * What `pull` gave. 'audio': the frame is filled. 'lost': audio was owed and is not there: conceal it. 'silence': the sender
 * paused (DTX) or sends an event: zeros or comfort noise. 'empty': nothing has come yet, or nothing for long: zeros.
 */
export type PullResult = 'audio' | 'lost' | 'silence' | 'empty'

export interface JitterOptions {
  /** bytes of one tick and RTP timestamp units of one tick; they are the same in G.711 and G.722. Default 160 */
  frameBytes: number
  /** time between two pulls [ms]. Default 20 */
  frameMs: number
  /** the codec's zero level, 0xff in PCMU and 0xd5 in PCMA; fills pauses inside a frame. Default 0xff */
  silenceByte: number
  /** bound of the adaptive delay, frames. Default 10 */
  maxDelayFrames: number
}

export interface JitterCounters {
  /** packets given to `push` */
  received: number
  /** packets dropped because their time was over */
  late: number
  duplicate: number
  /** packets dropped because they were too long, or too far from the others */
  overflow: number
  /** packets that were not there when their turn came */
  lost: number
  /** frames answered 'lost', and frames of which a part had to be repaired */
  concealed: number
  /** frames by which the delay grew */
  inserted: number
  /** frames by which the delay was cut, and packets dropped at a resync or after a stall of ours */
  discarded: number
  /** jumps of sequence number or timestamp that were followed */
  resyncs: number
}

/**
 * The buffer between a party's network and the 20 ms clock. Packets of any length are put in as they come and played by
 * their timestamps: a packet is played in the next tick after its arrival, later when the network needs it. Nothing is
 * allocated after construction. The encoding is one byte per timestamp unit; decoding happens outside, and so does what makes
 * a frame less or more of the audio unheard (`Playout`): here frames are taken one by one.
 */
export class JitterBuffer {
  readonly counters: JitterCounters = {
    received: 0,
    late: 0,
    duplicate: 0,
    overflow: 0,
    lost: 0,
    concealed: 0,
    inserted: 0,
    discarded: 0,
    resyncs: 0,
  }
  readonly #frame: number
  readonly #frameMs: number
  #silenceByte: number
  readonly #excessMs: number
  readonly #delay: PlayoutDelay
  readonly #sequences = new Unwrapper(16)
  readonly #timestamps = new Unwrapper(32)

  readonly #ring = new PacketRing(this.counters)
  /** The last frame of audio, to repair a hole inside the next one. */
  readonly #history: Uint8Array

  #started = false
  /** Nothing of this stream has been played yet. */
  #fresh = true
  /** The timestamp that the next pull starts with. */
  #head = 0
  /** End of the last audio that was played. */
  #playedTo = 0
  #lastLength = 0
  /** The newest packet was no audio: what follows is owed nothing. */
  #quiet = false
  #starvedFrames = 0
  /** End of the newest audio that has come. */
  #newestEnd = 0
  #isJoint = false
  /** The next audio is what was waited for. */
  #isBack = false
  #nextPullMs = Number.NaN
  #lateSinceMs = Number.NaN
  #afterJump = -1

  constructor(options: Partial<JitterOptions> = {}) {
    this.#frame = options.frameBytes ?? 160
    this.#frameMs = options.frameMs ?? 20
    this.#silenceByte = options.silenceByte ?? 0xff
    const maxDelayMs = (options.maxDelayFrames ?? 10) * this.#frameMs
    this.#excessMs = 2 * maxDelayMs
    this.#delay = new PlayoutDelay(this.#frameMs, maxDelayMs)
    this.#history = new Uint8Array(this.#frame)
    this.reset()
  }

  /** From arrival to playout, smoothed [ms]. */
  get currentDelayMs(): number {
    return this.#delay.smoothedMs
  }

  /** From the arrival of nearly every packet to the pull that needs it [ms]; null: not known yet. */
  get spareMs(): number | null {
    return this.#delay.spareMs
  }

  /** Frames that are waited for and need not be: to be taken by `more`. Negative: as many ticks should `stay`. */
  get excess(): number {
    return this.#delay.excess
  }

  /** Audio for the next frame is here. */
  get isReady(): boolean {
    return this.#started && this.#newestEnd >= this.#head + this.#frame
  }

  /** The frame that was taken last does not go on from the one before it: some between them were left out. */
  get isJoint(): boolean {
    return this.#isJoint
  }

  /** The next audio goes on from the last, though something was made up between them: it came late. */
  get isBack(): boolean {
    return this.#isBack
  }

  /**
   * Copies the payload of one audio packet in.
   *
   * @param sequence 16 bit, as on the wire
   * @param timestamp 32 bit, as on the wire
   * @param arrivalMs on the clock of `pull`
   * @returns 'ok', or why the packet was dropped and counted
   */
  push(
    sequence: number,
    timestamp: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    arrivalMs: number,
  ): PushResult {
    this.counters.received++
    if (length <= 0 || length > RING_PAYLOAD_BYTES || offset + length > bytes.length) return this.#refuse('overflow')
    const refusal = this.#started ? this.#refusal(sequence, this.#sequences.peek(sequence)) : null
    if (refusal !== null) return this.#refuse(refusal)
    const at = this.#timestamps.peek(timestamp)
    const unwrapped = this.#sequences.peek(sequence)
    if (!this.#started) this.#anchor(unwrapped, at, length, arrivalMs)
    // While nobody pulls (set-up, hold) only the newest audio counts, or the call would go on with the delay of that.
    if (!this.#isPulled(arrivalMs)) this.#head = Math.max(this.#head, at + length - this.#frame)
    if (!this.#onTime(unwrapped, at, length, arrivalMs)) {
      this.#ring.spend(unwrapped)
      return this.#refuse('late')
    }
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    this.#sequences.keep(unwrapped)
    this.#timestamps.keep(at)
    if (unwrapped > this.#ring.highest) this.#quiet = false
    if (at + length > this.#newestEnd) this.#newestEnd = at + length
    this.#ring.store(unwrapped, at, bytes, offset, length)
    return 'ok'
  }

  /**
   * Notes a packet of the same source that carries no audio (telephone event, comfort noise), so that its sequence number
   * is not taken for lost and what follows it is silence.
   */
  skip(sequence: number): PushResult {
    if (!this.#started) return 'ok'
    const refusal = this.#refusal(sequence, this.#sequences.peek(sequence))
    if (refusal !== null) return this.#refuse(refusal)
    if (!this.#started) return 'ok'
    const unwrapped = this.#sequences.peek(sequence)
    if (unwrapped < this.#ring.next) return 'ok'
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    this.#sequences.keep(unwrapped)
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

  /** Takes one more frame in the same tick: the delay is shorter by it. */
  more(out: Uint8Array): PullResult {
    this.counters.discarded++
    this.#delay.cut()
    return this.#next(out)
  }

  /** A tick that takes no frame: the delay is longer by it. */
  stay(nowMs: number): void {
    this.#turn(nowMs)
    this.counters.inserted++
    this.#delay.shift(this.#frameMs)
  }

  /** What waits is whole frames of which none is missing, and the stream goes on behind them. */
  get isWhole(): boolean {
    if (!this.#started || this.#quiet || this.#starvedFrames > 0) return false
    return this.#ring.isWhole(this.#head, this.#newestEnd, this.#frame)
  }

  /** The number and the timestamp that the packet behind all that has come will have, as on the wire. */
  get nextSequence(): number {
    return (this.#ring.highest + 1) & 0xffff
  }

  get nextTimestamp(): number {
    return this.#newestEnd >>> 0
  }

  /** Takes the next of frames that are whole, outside of any tick; false: there is none. */
  takeWhole(out: Uint8Array): boolean {
    if (!this.#ring.takeWhole(this.#head, out)) return false
    this.#head += this.#frame
    return true
  }

  /** A tick in which what comes goes elsewhere. */
  pass(nowMs: number): void {
    this.#nextPullMs = nowMs + this.#frameMs
  }

  #next(out: Uint8Array): PullResult {
    const result = this.#fill(out)
    if (result === 'lost') this.counters.concealed++
    return result
  }

  #turn(nowMs: number): void {
    const lateMs = nowMs - this.#nextPullMs
    if (lateMs !== 0 && this.#started) this.#skipped(lateMs)
    this.#nextPullMs = nowMs + this.#frameMs
    this.#delay.tick()
  }

  /**
   * The clock has left out frames, or its phase was moved. What was to be played in frames that never were is left out, as far as it has come:
   * a stall of ours is no reason to be late from then on.
   */
  #skipped(lateMs: number): void {
    if (Number.isNaN(lateMs)) return
    const frames = Math.floor(lateMs / this.#frameMs + 1e-6)
    const held = Math.floor((this.#newestEnd - this.#head) / this.#frame) - 1
    const left = Math.max(0, Math.min(frames, held))
    this.#head += left * this.#frame
    this.#isJoint = left > 0
    this.#delay.shift(lateMs - left * this.#frameMs)
  }

  /** Another codec of the same rate from now on: what is held becomes it, so that nothing is lost at the change. */
  recode(octets: Uint8Array, silenceByte: number): void {
    this.#ring.recode(octets)
    recode(octets, this.#history, 0, this.#history.length)
    this.#silenceByte = silenceByte
  }

  /** The sender says that its stream is over: what has come is played, and nothing more is owed. */
  over(): void {
    this.#quiet = true
  }

  /** Forgets the stream: a new SSRC. The counters stay. */
  reset(): void {
    this.#ring.start(0)
    this.#sequences.reset()
    this.#timestamps.reset()
    this.#history.fill(this.#silenceByte)
    this.#delay.reset()
    this.#started = false
    this.#afterJump = -1
    this.#lateSinceMs = Number.NaN
  }

  #refuse(reason: 'late' | 'duplicate' | 'overflow'): PushResult {
    this.counters[reason]++
    return reason
  }

  #isPulled(nowMs: number): boolean {
    return nowMs - this.#nextPullMs < STOPPED_MS
  }

  /** A jump is believed when the packet after it follows it (RFC 3550 §A.1). */
  #refusal(sequence: number, unwrapped: number): 'duplicate' | 'overflow' | null {
    if (unwrapped - this.#ring.highest >= RING_PACKETS || this.#ring.next - unwrapped >= RING_PACKETS) {
      const confirmed = sequence === this.#afterJump
      this.#afterJump = (sequence + 1) & 0xffff
      if (!confirmed) return 'overflow'
      this.counters.resyncs++
      this.reset()
      return null
    }
    this.#afterJump = -1
    return this.#ring.has(unwrapped) ? 'duplicate' : null
  }

  /** The packet is played in the next pull, or in one after it. Where packets are no whole frames, others have to come in time for that too. */
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

  #resync(sequence: number, at: number, length: number, arrivalMs: number): void {
    this.counters.resyncs++
    this.#anchor(sequence, at, length, arrivalMs)
    this.#delay.observe(this.#spareMs(at, arrivalMs))
  }

  /** From the arrival to the pull that needs the first byte [ms]; negative when that pull is over. */
  #spareMs(at: number, arrivalMs: number): number {
    const frames = Math.floor((at - this.#head) / this.#frame)
    const toPullMs = this.#nextPullMs - arrivalMs
    // Where nobody pulls, and where our own tick is late, the packet is not.
    return frames * this.#frameMs + (toPullMs > 0 ? Math.min(this.#frameMs, toPullMs) : 0)
  }

  /** Whether the packet can be played, after the delay has been adapted to it. */
  #onTime(sequence: number, at: number, length: number, arrivalMs: number): boolean {
    const spareMs = this.#spareMs(at, arrivalMs)
    if (sequence >= this.#ring.next && spareMs > this.#excessMs) {
      this.#resync(sequence, at, length, arrivalMs)
      return true
    }
    if (spareMs <= this.#excessMs && this.#isPulled(arrivalMs)) this.#delay.observe(spareMs)
    if (sequence < this.#ring.next) {
      const isFirst = this.#fresh && at >= this.#head && at < this.#head + this.#frame
      if (isFirst) this.#ring.next = sequence
      return isFirst
    }
    if (at < this.#head) this.#goBack(at)
    if (at > this.#playedTo && this.#head >= this.#newestEnd) this.#align(at)
    if (at >= this.#head) {
      this.#lateSinceMs = Number.NaN
      return true
    }
    if (at + length > this.#head) return true
    if (Number.isNaN(this.#lateSinceMs)) this.#lateSinceMs = arrivalMs
    if (arrivalMs - this.#lateSinceMs < LATE_RUN_MS) return false
    this.#resync(sequence, at, length, arrivalMs)
    return true
  }

  /** A late packet is played yet, where nothing behind it was: what was made up in its place is what the delay grows by. */
  #goBack(at: number): void {
    const late = this.#head - at
    const free = Math.floor((this.#head - this.#playedTo) / this.#frame)
    const frames = Math.min(Math.ceil(late / this.#frame), free)
    const granted = this.#delay.grow(frames, (late / this.#frame) * this.#frameMs)
    this.#head -= granted * this.#frame
    this.counters.inserted += granted
    this.#isBack = granted > 0 && this.#head === this.#playedTo
  }

  /** After a pause frames begin where packets do: to begin amid one would cost the rest of it. */
  #align(at: number): void {
    if (at < this.#head || (!this.#quiet && this.#starvedFrames < STARVED_FRAMES)) return
    this.#head += (at - this.#head) % this.#frame
  }

  #fill(out: Uint8Array): PullResult {
    const start = this.#head
    const end = start + this.#frame
    this.#head = end
    if (this.#ring.takeWhole(start, out)) {
      this.#played(end, this.#frame)
      this.#history.set(out)
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
        this.#repair(out, position - start, stop - start)
      } else out.fill(this.#silenceByte, position - start, stop - start)
      position = stop
    }
    if (!found) this.#starvedFrames++
    if (audio > 0) {
      if (owed > 0) this.counters.concealed++
      this.#history.set(out)
      return 'audio'
    }
    if (owed > 0) return 'lost'
    return found || this.#quiet ? 'silence' : 'empty'
  }

  /** Copies what the found packet has for this frame. @returns bytes copied, 0 when all of it is past */
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

  /** Whether a hole in the audio is loss: as much of it as the missing packets would have filled, the rest is a pause. */
  #isOwed(found: boolean, position: number): boolean {
    if (this.#fresh) return false
    if (!found) return !this.#quiet && this.#starvedFrames < STARVED_FRAMES
    return position < this.#playedTo + this.#ring.missing * this.#lastLength
  }

  /** Fills a hole inside a frame by repeating what came before it. */
  #repair(out: Uint8Array, from: number, to: number): void {
    const length = to - from
    for (let i = from; i < to; i++) {
      const source = i - length
      out[i] = source < 0 ? this.#history[this.#frame + source]! : out[source]!
    }
  }
}

function commonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b]
  return a
}
