import { PCMU } from '../../codecs/g711.ts'
import { FRAMES, MAX_LEGS, ULAW_SIGNS, writeMark } from './mark.ts'
import { FRAME_SAMPLES } from './mark-reader.ts'

export type Saying = 'marks' | 'voice' | 'silence'

/** Number of last frames of each leg whose kind is kept: more than any engine delays audio by. */
const SAID_FRAMES = 16
/** Number of last frames of each leg whose time is kept: as many as the number in a mark tells apart. */
const SENT_FRAMES = FRAMES
/** A kind is stored as its index here. */
const KINDS = ['silence', 'marks', 'voice', 'key'] as const

/** The memory of a ledger, for threads that share it. */
export interface LedgerMemory {
  latest: SharedArrayBuffer
  sentAt: SharedArrayBuffer
  kinds: SharedArrayBuffer
  heard: SharedArrayBuffer
}

/**
 * What each leg has said and when, by which the listeners judge, and the last packet that each leg received, which the talkers report in RTCP.
 * Talkers and listeners may be in different threads.
 */
export class Ledger {
  readonly memory: LedgerMemory
  readonly #latest: Int32Array
  readonly #sentAt: Float64Array
  /** Kinds of the last frames of each leg. */
  readonly #kinds: Uint8Array
  /** SSRC and sequence number of the last packet that each leg received. */
  readonly #heard: Uint32Array

  /** @param memory of a ledger in another thread, to share it */
  constructor(
    legs: number,
    memory: LedgerMemory = {
      latest: new SharedArrayBuffer(legs * Int32Array.BYTES_PER_ELEMENT),
      sentAt: new SharedArrayBuffer(legs * SENT_FRAMES * Float64Array.BYTES_PER_ELEMENT),
      kinds: new SharedArrayBuffer(legs * SAID_FRAMES),
      heard: new SharedArrayBuffer(legs * 2 * Uint32Array.BYTES_PER_ELEMENT),
    },
  ) {
    if (legs > MAX_LEGS) throw new Error(`no more than ${MAX_LEGS} legs`)
    this.memory = memory
    this.#latest = new Int32Array(memory.latest)
    this.#sentAt = new Float64Array(memory.sentAt)
    this.#kinds = new Uint8Array(memory.kinds)
    this.#heard = new Uint32Array(memory.heard)
  }

  /** Notes what a leg says. @param now when the frame is sent [ms] */
  say(leg: number, frame: number, kind: Saying | 'key', now: number): void {
    this.#sentAt[leg * SENT_FRAMES + (frame % SENT_FRAMES)] = now
    this.#kinds[leg * SAID_FRAMES + (frame % SAID_FRAMES)] = KINDS.indexOf(kind)
    if (frame > this.#latest[leg]!) this.#latest[leg] = frame
  }

  /** The signs of a leg's last frames, if those are only marks and silence; null: no mark is among them, or a voice or a key is. */
  lastSigns(leg: number): Int8Array | null {
    const latest = this.#latest[leg]!
    const first = Math.max(0, latest - SAID_FRAMES + 1)
    const octets = new Uint8Array(SAID_FRAMES * FRAME_SAMPLES).fill(PCMU.silence)
    let marks = 0
    for (let frame = first; frame <= latest; frame++) {
      const kind = KINDS[this.#kinds[leg * SAID_FRAMES + (frame % SAID_FRAMES)]!]
      if (kind === 'voice' || kind === 'key') return null
      if (kind !== 'marks') continue
      marks++
      writeMark(octets, (frame - first) * FRAME_SAMPLES, leg, frame)
    }
    return marks === 0 ? null : Int8Array.from(octets, octet => ULAW_SIGNS[octet]!)
  }

  /** The number of a leg's latest frame whose mark has this number, which is modulo `FRAMES`. */
  frameOf(leg: number, number: number): number {
    const latest = this.#latest[leg]!
    return latest - ((latest - number) & (FRAMES - 1))
  }

  /** When a frame was sent [ms]; correct for the last 80 s. */
  sentAt(leg: number, frame: number): number {
    return this.#sentAt[leg * SENT_FRAMES + (frame % SENT_FRAMES)]!
  }

  hear(leg: number, ssrc: number, sequence: number): void {
    this.#heard[2 * leg] = ssrc
    this.#heard[2 * leg + 1] = sequence
  }

  lastHeard(leg: number): { ssrc: number; sequence: number } {
    return { ssrc: this.#heard[2 * leg]!, sequence: this.#heard[2 * leg + 1]! }
  }
}
