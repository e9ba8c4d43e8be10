import type { Frame } from '../../codecs/audio.ts'
import { BandSplitter } from '../../codecs/bands.ts'
import { MAX_PACKET_SAMPLES, type PacketCodec } from '../../codecs/packets/packet-codec.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import { EarlyPackets } from '../rtp/early-packets.ts'
import { BRIDGED, MAX_HOLE, type StreamListener } from './law-audio.ts'

/** So long without a disturbance, what is played is what was sent [ms]. */
const CALM_MS = 1000

/**
 * Analyses a codec whose packets are decoded whole as `LawEar` does, in the sender's time: while the network is disturbed, because what is played then
 * is cut, stretched and concealed. It decodes each packet a second time; on a calm network the listener hears what is played.
 */
export class PacketEar {
  /** The listener hears what is played again, once that has come as far as this has heard. */
  isEnding = false
  /** The end of what it has heard, in units of 8 kHz. */
  timestamp: number
  readonly #coder: PacketCodec
  readonly #listener: StreamListener
  readonly #scale: number
  readonly #pcm: Int16Array
  readonly #played: PlayedFrames
  readonly #plc: Plc
  readonly #splitter: BandSplitter | null
  readonly #low: Frame = new Int16Array(LEG_SAMPLES)
  #filled = 0
  /** Of the last packet; -1: there was none. */
  #sequence = -1
  #early: EarlyPackets | null = null
  #disturbedAt: number

  /** @param timestamp what comes from there on is heard @param before the frames before that, oldest first */
  constructor(
    coder: PacketCodec,
    listener: StreamListener,
    timestamp: number,
    before: readonly Int16Array[],
    now: number,
  ) {
    const scale = coder.sampleRateHz / 8000
    this.#coder = coder
    this.#listener = listener
    this.#scale = scale
    this.timestamp = timestamp | 0
    this.#disturbedAt = now
    this.#pcm = new Int16Array(MAX_PACKET_SAMPLES * scale)
    this.#played = new PlayedFrames(LEG_SAMPLES * scale)
    this.#plc = new Plc(LEG_SAMPLES * scale)
    this.#splitter = scale === 1 ? null : new BandSplitter()
    for (const frame of before) {
      this.#played.at = this.#nextPlace
      this.#played.frames[this.#played.at]!.set(frame)
      this.#splitter?.split(frame, this.#low, null)
    }
  }

  /** The network is disturbed, again or still. */
  disturbed(now: number): void {
    this.#disturbedAt = now
  }

  /** To be called a few times a second. */
  settle(now: number): void {
    if (this.#early !== null) this.#hearEarly(this.#early, now)
    this.isEnding ||= this.#early === null && now - this.#disturbedAt >= CALM_MS && !this.#listener.mayHearTone
  }

  /** @param timestamp in units of 8 kHz, as `length` */
  push(sequence: number, timestamp: number, length: number, payload: Uint8Array, now: number): void {
    if (this.isEnding) return
    this.#early ??= new EarlyPackets()
    this.#early.add(sequence, timestamp, length, payload, now)
    this.#hearEarly(this.#early, now)
  }

  #hearEarly(early: EarlyPackets, now: number): void {
    for (let packet = early.first; packet !== undefined; packet = early.first) {
      const { sequence, timestamp, length, payload } = packet
      const hole = (timestamp - this.timestamp) | 0
      // Before the first packet nobody knows how many are missing.
      const missing = this.#sequence < 0 ? Math.max(0, hole) : (((sequence - this.#sequence) << 16) >> 16) - 1
      if (missing > 0 && hole > 0 && !early.isDue(now)) return
      early.take()
      if (missing < 0 || (hole < 0 && hole > -MAX_HOLE)) continue
      this.#next(Math.max(0, hole), this.#sequence < 0 ? hole : missing * length, payload, now)
      this.#sequence = sequence
      this.timestamp = (timestamp + length) | 0
    }
    this.#early = null
  }

  /** @param hole before it, and how much of that was sent [samples of 8 kHz] */
  #next(hole: number, lost: number, payload: Uint8Array, now: number): void {
    const samples = this.#coder.decode(payload, this.#pcm)
    const isBridged = hole >= BRIDGED && lost >= hole && this.#filled === 0 && samples >= LEG_SAMPLES * this.#scale
    const before = isBridged ? this.#narrow(this.#played.frames[this.#played.at]!) : null
    this.#pass(Math.min(hole, MAX_HOLE), lost, now)
    if (before !== null) this.#listener.hearHole(before, this.#narrow(this.#pcm), hole)
    for (let i = 0; i < samples; i++) this.#fill(this.#pcm[i]!, now)
  }

  #pass(samples: number, lost: number, now: number): void {
    for (let i = 0; i < samples; ) {
      if (i + LEG_SAMPLES <= lost && this.#filled === 0) {
        this.#played.at = this.#nextPlace
        this.#plc.conceal(this.#played)
        this.#tell(now)
        i += LEG_SAMPLES
        continue
      }
      for (let n = 0; n < this.#scale; n++) this.#fill(0, now)
      i++
    }
  }

  get #nextPlace(): number {
    return (this.#played.at + 1) % PLAYED_FRAMES
  }

  #fill(sample: number, now: number): void {
    const frame = this.#played.frames[this.#nextPlace]!
    frame[this.#filled] = sample
    if (++this.#filled < frame.length) return
    this.#filled = 0
    this.#played.at = this.#nextPlace
    this.#plc.good(frame)
    this.#tell(now)
  }

  #tell(now: number): void {
    const frame = this.#played.frames[this.#played.at]!
    if (this.#splitter === null) this.#low.set(frame)
    else this.#splitter.split(frame, this.#low, null)
    this.#listener.hearFrame(this.#low, now)
  }

  /** Near enough to find two sines below 2 kHz: the filter of the splitter would go on from one to the other. */
  #narrow(samples: Int16Array): Frame {
    const scale = this.#scale
    return Int16Array.from(
      { length: LEG_SAMPLES },
      (_, i) => (samples[scale * i]! + samples[scale * i + scale - 1]!) >> 1,
    )
  }
}
