import { PlayoutDelay } from './playout-delay.ts'
import { Unwrapper } from './rtp.ts'

/** Length of the ring; a newer packet that does not fit is dropped and counted as overflow. */
export const JITTER_PACKETS = 64
/** The longest payload that is kept: 125 ms of G.711. */
export const JITTER_PAYLOAD_BYTES = 1_000

const MASK = JITTER_PACKETS - 1
const ABSENT = 0
const HELD = 1
/** Played, or too late to be. */
const SPENT = 2
/** So long a starved stream is taken for lost packets, after that for a pause. */
const STARVED_FRAMES = 3
/** In-order packets that are late for so long are no stall of the network: the sender's clock has moved. */
const LATE_RUN_MS = 200

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

  readonly #bytes = new Uint8Array(JITTER_PACKETS * JITTER_PAYLOAD_BYTES)
  readonly #sequences = new Float64Array(JITTER_PACKETS)
  readonly #timestamps = new Float64Array(JITTER_PACKETS)
  readonly #lengths = new Uint16Array(JITTER_PACKETS)
  readonly #states = new Uint8Array(JITTER_PACKETS)
  /** The last frame of audio, to repair a hole inside the next one. */
  readonly #history: Uint8Array

  #started = false
  /** Nothing of this stream has been played yet. */
  #fresh = true
  /** The timestamp that the next pull starts with. */
  #head = 0
  /** End of the last audio that was played. */
  #playedTo = 0
  /** First sequence number that is not yet played. */
  #next = 0
  #highest = 0
  #found = 0
  #missing = 0
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
    if (length <= 0 || length > JITTER_PAYLOAD_BYTES || offset + length > bytes.length) return this.#refuse('overflow')
    const refusal = this.#refusal(sequence)
    if (refusal !== null) return this.#refuse(refusal)
    const at = this.#timestampUnwrapper.peek(timestamp)
    const unwrapped = this.#sequenceUnwrapper.peek(sequence)
    if (!this.#started) this.#anchor(unwrapped, at)
    // Without a clock yet only the newest audio counts, or the call would start with the delay of its set-up.
    if (Number.isNaN(this.#nextPullMs)) this.#head = Math.max(this.#head, at - 2 * this.#frame)
    if (!this.#onTime(unwrapped, at, length, arrivalMs)) {
      this.#markSpent(unwrapped)
      return this.#refuse('late')
    }
    if (!this.#makeRoom(unwrapped)) return this.#refuse('overflow')
    this.#sequenceUnwrapper.unwrap(sequence)
    this.#timestampUnwrapper.unwrap(timestamp)
    this.#delay.observe(this.#spareMs(at, arrivalMs))
    const slot = unwrapped & MASK
    this.#occupy(unwrapped, HELD)
    this.#timestamps[slot] = at
    this.#lengths[slot] = length
    const to = slot * JITTER_PAYLOAD_BYTES
    for (let i = 0; i < length; i++) this.#bytes[to + i] = bytes[offset + i]!
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
    if (unwrapped < this.#next) return 'ok'
    if (!this.#makeRoom(unwrapped)) return this.#refuse('overflow')
    this.#sequenceUnwrapper.unwrap(sequence)
    if (unwrapped > this.#highest) this.#quiet = true
    this.#occupy(unwrapped, SPENT)
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
    this.#states.fill(ABSENT)
    this.#sequences.fill(Number.NaN)
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
    if (unwrapped - this.#highest >= JITTER_PACKETS || this.#next - unwrapped >= JITTER_PACKETS) {
      const confirmed = sequence === this.#afterJump
      this.#afterJump = (sequence + 1) & 0xffff
      if (!confirmed) return 'overflow'
      this.counters.resyncs++
      this.counters.discarded += this.#heldPackets()
      this.reset()
      return null
    }
    this.#afterJump = -1
    return this.#sequences[unwrapped & MASK] === unwrapped ? 'duplicate' : null
  }

  #heldPackets(): number {
    let held = 0
    for (let slot = 0; slot < JITTER_PACKETS; slot++) if (this.#states[slot] === HELD) held++
    return held
  }

  /** The packet is played one frame after the next pull. */
  #anchor(sequence: number, at: number): void {
    this.#started = true
    this.#fresh = true
    this.#next = sequence
    this.#highest = sequence - 1
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
    this.counters.discarded += this.#heldPackets()
    this.#states.fill(ABSENT)
    this.#sequences.fill(Number.NaN)
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
    if (sequence < this.#next) {
      if (this.#fresh && at >= this.#head && at < this.#head + this.#frame) {
        this.#next = sequence
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

  /** Makes the ring end at this sequence number by giving up what is past; false when audio is in the way. */
  #makeRoom(sequence: number): boolean {
    while (sequence - this.#next >= JITTER_PACKETS) {
      const slot = this.#next & MASK
      if (this.#sequences[slot] !== this.#next) this.counters.lost++
      else if (this.#states[slot] === HELD) {
        if (this.#timestamps[slot]! + this.#lengths[slot]! > this.#head) return false
        this.counters.discarded++
      }
      this.#next++
    }
    return true
  }

  #occupy(sequence: number, state: number): void {
    const slot = sequence & MASK
    this.#sequences[slot] = sequence
    this.#states[slot] = state
    if (sequence <= this.#highest) return
    this.#highest = sequence
    if (state === HELD) this.#quiet = false
  }

  /** So that a second copy of a late packet is a duplicate, and the packet itself is not counted as lost too. */
  #markSpent(sequence: number): void {
    if (sequence > this.#highest && sequence - this.#next >= JITTER_PACKETS) return
    const kept = this.#sequences[sequence & MASK]!
    if (kept > sequence) return
    this.#occupy(sequence, SPENT)
  }

  /** Finds the first audio that is not yet played; passes what is spent and counts what is absent before it. */
  #seek(): boolean {
    let missing = 0
    for (let sequence = this.#next; sequence <= this.#highest; sequence++) {
      const slot = sequence & MASK
      if (this.#sequences[slot] !== sequence) missing++
      else if (this.#states[slot] === HELD) {
        this.#found = sequence
        this.#missing = missing
        return true
      } else if (missing === 0) this.#next = sequence + 1
    }
    return false
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
      found = this.#seek()
      const at = found ? this.#timestamps[this.#found & MASK]! : end
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
      for (let i = 0; i < this.#frame; i++) this.#history[i] = out[i]!
      return 'audio'
    }
    if (owed > 0) return 'lost'
    return found || this.#quiet ? 'silence' : 'empty'
  }

  /** Copies what the found packet has for this frame. @returns bytes copied, 0 when all of it is past */
  #take(out: Uint8Array, position: number, start: number, end: number): number {
    const slot = this.#found & MASK
    const offset = position - this.#timestamps[slot]!
    const length = this.#lengths[slot]!
    this.counters.lost += this.#missing
    this.#next = this.#found
    const taken = Math.max(0, Math.min(length - offset, end - position))
    const from = slot * JITTER_PAYLOAD_BYTES + offset
    const to = position - start
    for (let i = 0; i < taken; i++) out[to + i] = this.#bytes[from + i]!
    if (offset + taken >= length) {
      this.#states[slot] = SPENT
      this.#next = this.#found + 1
    }
    if (taken === 0) {
      this.counters.discarded++
      return 0
    }
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
    return position < this.#playedTo + this.#missing * this.#lastLength
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
