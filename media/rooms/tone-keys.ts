import type { Frame } from '../../codecs/audio.ts'
import { DtmfDetector, type Past } from '../../codecs/detectors/dtmf-detector.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import type { DtmfMode } from '../protocol.ts'

/** Two reports of one key, by its tone and in another way, arrive within this time [ms]. */
const TWICE_MS = 500
/** The echo of a key that we sent returns within this time [ms]. */
const ECHO_MS = 500

/**
 * Whether tones are keys. `until_told`: another way was negotiated, which some gateways then do not use. The first key that arrives that way
 * shows that the far end uses it, and tones are no longer monitored.
 */
type ToneKeyUse = 'never' | 'always' | 'until_told'

/** The keys of one party that arrive as tones, each once, however else it is reported. Pure: `now` is monotonic [ms]. */
export class ToneKeys {
  readonly #detector = new DtmfDetector()
  #use: ToneKeyUse = 'never'
  /** Tones are monitored. */
  isListening = false
  #heard: DtmfKey | null = null
  #heardAt = 0
  #told: string | null = null
  #toldAt = 0
  #echoUntil = Number.NEGATIVE_INFINITY

  /**
   * Sets what was negotiated: tones are keys if events were not, and may be if they were, unless the connection's setting decides. If that is
   * unchanged, knowledge of the far end is kept.
   */
  agree(dtmf: DtmfMode, hasEvents: boolean): void {
    const use = dtmf === 'info' || dtmf === 'rfc4733' ? 'never' : hasEvents ? 'until_told' : 'always'
    if (use === this.#use) return
    this.#use = use
    this.isListening = use !== 'never'
  }

  /** Another party is sending: nothing is known about it. */
  reset(): void {
    this.isListening = this.#use !== 'never'
  }

  /** Another way for keys was negotiated but not used so far: a tone may be the echo of somebody else's key. */
  get isInstead(): boolean {
    return this.#use === 'until_told'
  }

  /** What may be a key tone is sounding. */
  get isDown(): boolean {
    return this.#detector.key !== null
  }

  /** No tone may have begun: see `DtmfDetector.isIdle`. */
  get isIdle(): boolean {
    return this.#detector.isIdle
  }

  /** A frame of its audio. @param past see `DtmfDetector.write` @returns the key that was recognised with it, unless it was already reported */
  hear(frame: Frame, past: Past | undefined, now: number): DtmfKey | null {
    const detector = this.#detector
    detector.write(frame, past)
    const key = detector.began
    if (key === null || now < this.#echoUntil) return null
    this.#heard = key
    this.#heardAt = now
    return key === this.#told && now - this.#toldAt < TWICE_MS ? null : key
  }

  /** A key is reported by an event or by signalling. @returns false if its tone was heard before */
  tell(key: string, now: number): boolean {
    if (this.#use === 'never') return true
    if (this.#use === 'until_told') this.isListening = false
    const isTwice = key === this.#heard && now - this.#heardAt < TWICE_MS
    // One tone stands for one key.
    if (isTwice) this.#heard = null
    this.#told = key
    this.#toldAt = now
    return !isTwice
  }

  /** We send a key: its echo is not a key of the party. */
  sent(now: number): void {
    if (this.#use === 'until_told') this.#echoUntil = now + ECHO_MS
  }
}
