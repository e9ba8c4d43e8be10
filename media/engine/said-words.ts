import type { Words } from '../speech/hearing/hearing.ts'
import type { Clip, ClipWatcher } from './player.ts'

/** The product's own words, as far as they were heard, for transcripts. Nothing of a card-payment pause. */
export class SaidWords implements ClipWatcher {
  readonly #now: () => number
  readonly #told: (words: Words) => void
  /** Since when they are heard; null: there are none that may be transcribed. */
  #since: number | null = null
  #isPaused = false

  /** @param now engine clock [ms] */
  constructor(now: () => number, told: (words: Words) => void) {
    this.#now = now
    this.#told = told
  }

  /** A card-payment pause has begun or ended: words that it interrupts are not transcribed. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    if (isPaused) this.#since = null
  }

  began({ text }: Clip): void {
    this.#since = text === undefined || this.#isPaused ? null : this.#now()
  }

  ended({ text = '', length }: Clip, heard: number): void {
    const startMs = this.#since
    this.#since = null
    if (startMs === null) return
    const said = wordsUpTo(text, heard / length)
    if (said !== '') this.#told({ text: said, startMs, endMs: this.#now() })
  }
}

/** The words of a text of which this share was heard, without one that was cut in two. */
function wordsUpTo(text: string, share: number): string {
  if (share >= 1) return text
  const cut = text.slice(0, Math.floor(text.length * share))
  return cut.slice(0, Math.max(0, cut.lastIndexOf(' '))).trim()
}
