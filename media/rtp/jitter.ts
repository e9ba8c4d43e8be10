import { PacketRing, RING_PACKETS, RING_PAYLOAD_BYTES } from './packet-ring.ts'
import { PlayoutDelay } from './playout-delay.ts'
import { Unwrapper } from './rtp.ts'

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
  /** frames left out to shorten the delay, and packets dropped at a resync */
  discarded: number
  /** jumps of sequence number or timestamp that were followed */
  resyncs: number
}

/**
 * The buffer between a party's network and the 20 ms clock. Packets of any length are put in as they come and played by
 * their timestamps: a packet is played 20 to 40 ms after its arrival, later when the network needs it. Nothing is
 * allocated after construction. The encoding is one byte per timestamp unit; decoding happens outside.
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
  readonly #silenceByte: number
  readonly #excessMs: number
  readonly #delay: PlayoutDelay
  readonly #sequenceUnwrapper = new Unwrapper(16)
  readonly #timestampUnwrapper = new Unwrapper(32)

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
  #insertDue = false
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
    const refusal = this.#refusal(sequence)
    if (refusal !== null) return this.#refuse(refusal)
    const at = this.#timestampUnwrapper.peek(timestamp)
    const unwrapped = this.#sequenceUnwrapper.peek(sequence)
    if (!this.#started) this.#anchor(unwrapped, at)
    // While nobody pulls (set-up, hold) only the newest audio counts, or the call would go on with the delay of that.
    const isPulled = arrivalMs - this.#nextPullMs < STOPPED_MS
    if (!isPulled) this.#head = Math.max(this.#head, at - 2 * this.#frame)
    if (!this.#onTime(unwrapped, at, length, arrivalMs)) {
      this.#ring.spend(unwrapped)
      return this.#refuse('late')
    }
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    this.#sequenceUnwrapper.unwrap(sequence)
    this.#timestampUnwrapper.unwrap(timestamp)
    this.#delay.observe(this.#spareMs(at, arrivalMs))
    if (unwrapped > this.#ring.highest) this.#quiet = false
    this.#ring.store(unwrapped, at, bytes, offset, length)
    return 'ok'
  }

  /**
   * Notes a packet of the same source that carries no audio (telephone event, comfort noise), so that its sequence number
   * is not taken for lost and what follows it is silence.
   */
  skip(sequence: number): PushResult {
    if (!this.#started) return 'ok'
    const refusal = this.#refusal(sequence)
    if (refusal !== null) return this.#refuse(refusal)
    if (!this.#started) return 'ok'
    const unwrapped = this.#sequenceUnwrapper.peek(sequence)
    if (unwrapped < this.#ring.next) return 'ok'
    if (!this.#ring.reach(unwrapped, this.#head)) return this.#refuse('overflow')
    this.#sequenceUnwrapper.unwrap(sequence)
    if (unwrapped > this.#ring.highest) this.#quiet = true
    this.#ring.spend(unwrapped)
    return 'ok'
  }

  /**
   * Takes the next frame; to be called once per tick, whatever it answers.
   *
   * @param out `frameBytes` long; its content is defined when the answer is 'audio'
   * @param nowMs the deadline of the tick
   */
  pull(out: Uint8Array, nowMs: number): PullResult {
    this.#nextPullMs = nowMs + this.#frameMs
    if (!this.#started) return 'empty'
    this.#delay.tick()
    if (this.#insertDue) {
      this.#insertDue = false
      this.counters.inserted++
      this.counters.concealed++
      return 'lost'
    }
    let result = this.#fill(out)
    if (this.#delay.shrinkDue && (result !== 'audio' || this.#delay.overdue || this.#isSilent(out))) {
      this.counters.discarded++
      this.#delay.shrank()
      result = this.#fill(out)
    }
    if (result === 'lost') this.counters.concealed++
    return result
  }

  /** Forgets the stream: a new SSRC, a new codec. The counters stay. */
  reset(): void {
    this.#ring.start(0)
    this.#sequenceUnwrapper.reset()
    this.#timestampUnwrapper.reset()
    this.#history.fill(this.#silenceByte)
    this.#delay.reset()
    this.#started = false
    this.#afterJump = -1
    this.#lateSinceMs = Number.NaN
    this.#insertDue = false
  }

  #refuse(reason: 'late' | 'duplicate' | 'overflow'): PushResult {
    this.counters[reason]++
    return reason
  }

  /** A jump is believed when the packet after it follows it (RFC 3550 §A.1). */
  #refusal(sequence: number): 'duplicate' | 'overflow' | null {
    if (!this.#started) return null
    const unwrapped = this.#sequenceUnwrapper.peek(sequence)
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

  /** The packet is played one frame after the next pull. */
  #anchor(sequence: number, at: number): void {
    this.#started = true
    this.#fresh = true
    this.#ring.start(sequence)
    this.#head = at - this.#frame
    this.#playedTo = this.#head
    this.#starvedFrames = 0
    this.#quiet = false
    this.#insertDue = false
    this.#lateSinceMs = Number.NaN
    this.#delay.reset()
  }

  #resync(sequence: number, at: number): void {
    this.counters.resyncs++
    this.#anchor(sequence, at)
  }

  /** From the arrival to the pull that needs the first byte [ms]; negative when that pull is over. */
  #spareMs(at: number, arrivalMs: number): number {
    const frames = Math.floor((at - this.#head) / this.#frame)
    const toPullMs = Number.isNaN(this.#nextPullMs) ? 0 : this.#nextPullMs - arrivalMs
    return frames * this.#frameMs + Math.min(this.#frameMs, Math.max(0, toPullMs))
  }

  /** Whether the packet can be played, after the delay has been adapted to it. */
  #onTime(sequence: number, at: number, length: number, arrivalMs: number): boolean {
    const spareMs = this.#spareMs(at, arrivalMs)
    if (sequence < this.#ring.next) {
      if (this.#fresh && at >= this.#head && at < this.#head + this.#frame) {
        this.#ring.next = sequence
        return true
      }
      if (at < this.#head) this.#lagging(at, spareMs)
      return false
    }
    if (spareMs > this.#excessMs) {
      this.#resync(sequence, at)
      return true
    }
    if (at >= this.#head) {
      this.#lateSinceMs = Number.NaN
      return true
    }
    this.#lagging(at, spareMs)
    if (at + length > this.#head) return true
    if (Number.isNaN(this.#lateSinceMs)) this.#lateSinceMs = arrivalMs
    if (arrivalMs - this.#lateSinceMs < LATE_RUN_MS) return false
    this.#resync(sequence, at)
    return true
  }

  /** Grows the delay by one frame after a late packet. A frame that has just been concealed counts as the inserted one. */
  #lagging(at: number, spareMs: number): void {
    this.#delay.observe(spareMs)
    if (!this.#delay.grow(((this.#head - at) / this.#frame) * this.#frameMs)) return
    if (this.#head - this.#frame < this.#playedTo) {
      this.#insertDue = true
      return
    }
    this.#head -= this.#frame
    this.counters.inserted++
  }

  #fill(out: Uint8Array): PullResult {
    const start = this.#head
    const end = start + this.#frame
    this.#head = end
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
    this.#playedTo = position + taken
    this.#lastLength = length
    this.#fresh = false
    this.#starvedFrames = 0
    return taken
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

  /** The lowest segment of a G.711 code, whichever law: below 1/128 of full scale. */
  #isSilent(frame: Uint8Array): boolean {
    for (let i = 0; i < this.#frame; i++) if (((frame[i]! ^ this.#silenceByte) & 0x7f) >= 0x10) return false
    return true
  }
}
