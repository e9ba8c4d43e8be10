import type { Frame } from '../../codecs/audio.ts'
import { DtmfDetector } from '../../codecs/detectors/dtmf-detector.ts'
import type { DtmfKey } from '../../codecs/tones.ts'

/** A key that is told of twice, by its tone and otherwise, is told of within this time [ms]. */
const TWICE_MS = 500
/** What we have sent comes back as an echo within this time [ms]. */
const ECHO_MS = 500

/**
 * Whether tones are keys. `until_told`: another way was agreed on, which some gateways then do not use; the first key that comes by it shows
 * that the far end does, and nobody listens for tones any more.
 */
export type ToneKeyUse = 'never' | 'always' | 'until_told'

/** The keys of one party that come as tones in the audio, each once, whatever else tells of it. Pure: `now` is monotonic [ms]. */
export class ToneKeys {
  readonly #detector = new DtmfDetector()
  #use: ToneKeyUse = 'never'
  #isListening = false
  #heard: DtmfKey | null = null
  #heardAt = 0
  #told: string | null = null
  #toldAt = 0
  #echoUntil = Number.NEGATIVE_INFINITY

  /** What was agreed on; what is known of the far end stays known where that is the same. */
  agree(use: ToneKeyUse): void {
    if (use === this.#use) return
    this.#use = use
    this.#isListening = use !== 'never'
  }

  /** Another party sends: nothing is known of it. */
  reset(): void {
    this.#isListening = this.#use !== 'never'
  }

  get isListening(): boolean {
    return this.#isListening
  }

  /** There is another way for keys, which has not been used: what sounds like one may be the echo of somebody else's. */
  get isInstead(): boolean {
    return this.#use === 'until_told'
  }

  /** A key sounds. */
  get isDown(): boolean {
    return this.#detector.key !== null
  }

  /** A frame of its audio. @returns the key that began with it, unless that has been told of */
  hear(frame: Frame, now: number): DtmfKey | null {
    const detector = this.#detector
    detector.write(frame)
    const key = detector.began
    if (key === null || now < this.#echoUntil) return null
    this.#heard = key
    this.#heardAt = now
    return key === this.#told && now - this.#toldAt < TWICE_MS ? null : key
  }

  /** An event, or signalling, tells of a key. @returns false when its tone has been heard before */
  tell(key: string, now: number): boolean {
    if (this.#use === 'never') return true
    if (this.#use === 'until_told') this.#isListening = false
    const isTwice = key === this.#heard && now - this.#heardAt < TWICE_MS
    // One tone stands for one key.
    if (isTwice) this.#heard = null
    this.#told = key
    this.#toldAt = now
    return !isTwice
  }

  /** A key of ours goes out: what of it comes back is none of the party's. */
  sent(now: number): void {
    if (this.#use === 'until_told') this.#echoUntil = now + ECHO_MS
  }
}
