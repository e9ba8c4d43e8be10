import type { Frame } from '../../codecs/audio.ts'
import { DtmfDetector, type Past } from '../../codecs/detectors/dtmf-detector.ts'
import type { DtmfKey } from '../../codecs/tones.ts'
import type { DtmfMode, Events } from '../protocol.ts'

/** Reports of one key in several ways, such as by its tone, an event and INFO, arrive within this time [ms]. */
const TWICE_MS = 500
/** The echo of a key that we sent returns within this time [ms]. */
const ECHO_MS = 500

/**
 * Whether tones are keys. `until_told`: another way was negotiated, which some gateways then do not use. The first key that arrives that way
 * shows that the far end uses it, and tones are no longer monitored.
 */
type ToneKeyUse = 'never' | 'always' | 'until_told'

type Way = Events['leg.dtmf']['source']

/** The keys of one party, each once, in however many ways it is reported, and which of them arrive as tones. Pure: `now` is monotonic [ms]. */
export class ToneKeys {
  readonly #detector = new DtmfDetector()
  #use: ToneKeyUse = 'never'
  /** Tones are monitored. */
  isListening = false
  /** The last key, in which ways it was reported, and when first [ms]. */
  #last: { readonly key: string | null; readonly ways: Set<Way>; readonly at: number } = {
    key: null,
    ways: new Set(),
    at: 0,
  }
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
    return this.#isNew(key, 'inband', now, now) ? key : null
  }

  /** See `DtmfDetector.bridge`. */
  bridge(before: Frame, after: Frame, samples: number): void {
    this.#detector.bridge(before, after, samples)
  }

  /** A key is reported by an event or by signalling. @param sinceMs it may have been pressed so long ago @returns false if it was reported in another way before */
  tell(key: string, way: Way, now: number, sinceMs = 0): boolean {
    if (this.#use === 'until_told') this.isListening = false
    return this.#isNew(key, way, now - sinceMs, now)
  }

  /**
   * Some far ends report each key in several ways, one after another. Two reports in the same way are two keys, however soon, and so is a key behind
   * another one.
   */
  #isNew(key: string, way: Way, pressedAt: number, now: number): boolean {
    const { key: before, ways, at } = this.#last
    const isSame = key === before && !ways.has(way) && pressedAt - at < TWICE_MS
    if (isSame) ways.add(way)
    else this.#last = { key, ways: new Set([way]), at: now }
    return !isSame
  }

  /** We send a key: its echo is not a key of the party. */
  sent(now: number): void {
    if (this.#use === 'until_told') this.#echoUntil = now + ECHO_MS
  }
}
