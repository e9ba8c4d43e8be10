import { type Frame, NARROWBAND_HZ, samplesPerFrame } from '../../codecs/audio.ts'
import { createTone, type DtmfKey, dtmfPlan, type Tone } from '../../codecs/tones.ts'
import { DtmfEventWriter, type DtmfPacket } from './dtmf-events.ts'

/** Default duration of a key, and of the silence after it if sent as a tone (ITU-T Q.24 requires 40 or more) [ms]. */
export const KEY_MS = 100
const GAP_MS = 60

/** Maximum number of keys waiting to be sent as tones; further ones are refused. */
const MAX_WAITING = 64
export const isKey = (key: string): key is DtmfKey => /^[0-9*#A-D]$/.test(key)

const LEG_FRAME = samplesPerFrame(NARROWBAND_HZ)

/** Working memory for a key that is being sent. All legs share it. */
const FRAME: Frame = new Int16Array(LEG_FRAME)

/** Sends a leg's keys: as telephone events (RFC 4733) if the far end accepts them, otherwise as tones in the audio. */
export class KeySender {
  #events: DtmfEventWriter
  readonly #tones: Tone[] = []

  /** @param frameUnits units of the audio clock per tick */
  constructor(frameUnits: number = LEG_FRAME) {
    this.#events = new DtmfEventWriter({ frameUnits })
  }

  get busy(): boolean {
    return this.#events.busy || this.#tones.length > 0
  }

  /** @returns false if it is not a key, or too many wait */
  enqueue(key: string, as: 'event' | 'tone', durationMs = KEY_MS): boolean {
    if (as === 'event') return this.#events.enqueue(key, durationMs)
    if (this.#tones.length >= MAX_WAITING || !isKey(key)) return false
    this.#tones.push(createTone(dtmfPlan(key, durationMs, GAP_MS), NARROWBAND_HZ))
    return true
  }

  /** The audio has another clock from now on: what waits is sent in that. @returns the end of the key that was being sent, or null */
  useClock(frameUnits: number): DtmfPacket | null {
    const before = this.#events
    const isCut = before.cutShort()
    this.#events = new DtmfEventWriter({ frameUnits })
    for (const { key, toneMs } of before.takeWaiting()) this.#events.enqueue(key, toneMs)
    return isCut ? before.packet : null
  }

  /** No more events are agreed: what waits is sent as tones, after the event that is being sent. */
  useTones(): void {
    for (const { key, toneMs } of this.#events.takeWaiting()) this.enqueue(key, 'tone', toneMs)
  }

  /** The packet of a key for this tick, or with `send` false the gap after it; null: normal audio. */
  event(timestamp: number): DtmfPacket | null {
    return this.#events.tick(timestamp) ? this.#events.packet : null
  }

  /** The frame that replaces the audio in this tick, or null. */
  tone(): Frame | null {
    if (this.#events.isUnderWay) return null
    for (let tone = this.#tones[0]; tone !== undefined; tone = this.#tones[0]) {
      if (tone.pull(FRAME)) return FRAME
      this.#tones.shift()
    }
    return null
  }
}
