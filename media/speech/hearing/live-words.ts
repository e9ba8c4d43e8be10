import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import type { Manner, Understood } from '../speech-engines.ts'

type Answer = Understood | { error: string }

/** Asks an engine that guesses. */
type Ask = (samples: Int16Array<ArrayBuffer>, manner: Manner) => Promise<Answer>

/**
 * While somebody speaks on, what he says is looked at after so much more of it: words that one look has misheard are heard by the next
 * [samples].
 */
const PEEK_EVERY = NARROWBAND_HZ / 2
/** A look that is answered late is followed by the next so many times later: where the recogniser is busy, there are fewer. */
const PEEK_REST = 3
/** Between two sentences there may be no more than this: by then the last word is whole, and it is time for a look [ms]. */
const BREATH_MS = 60
/**
 * Each look costs as much as what it looks at is long: who has spoken on for longer without a pause is looked at from his last breath on,
 * and when he took none, once there is a pause [samples].
 */
const MAX_PEEKED = 6 * NARROWBAND_HZ
/** What was said between pauses that is long enough to be understood by itself: it is not looked at again [samples]. */
const MIN_PIECE = 2.5 * NARROWBAND_HZ

/** How a pause is looked at, as long as the words are in doubt. */
const AT_PAUSES: readonly Manner[] = ['glance', 'peek2', 'peek3', 'peek4']
const NOTHING = { error: 'not looked at' }

interface Pause {
  /** Where it is in the utterance [samples]. */
  at: number
  answer: Promise<Answer>
  /** Null: not known yet, or it never will be. */
  text: string | null
}

/**
 * The words of an utterance while it is said, for those who write as it is said. It is looked at now and then, and at each pause; what lies
 * before a pause is not looked at again once it is long enough, so that a long speech costs no more than it is long.
 */
export class LiveWords {
  readonly #ask: Ask
  /** The words up to `#cut`. */
  #settled = ''
  #cut = 0
  #pause: Pause | null = null
  #isPeeking = false
  /** A peek was answered, and nothing has grown since then. */
  #isAnswered = false
  #peekedAt = 0
  #nextPeek = PEEK_EVERY
  /** The breath that is being taken has had its look. */
  #isBreathSeen = false
  /** The newest breath whose look was answered. */
  #breath: { at: number; text: string } | null = null
  /** The newest words that were told are of this much [samples]. */
  #told = 0

  constructor(ask: Ask) {
    this.#ask = ask
  }

  get hasWords(): boolean {
    return this.#settled !== '' || (this.#pause?.text ?? '') !== ''
  }

  /** More was said; `samples` is all of it so far, borrowed, with `silenceMs` since its last voice. `tell` gets what it may be. */
  grew(samples: Int16Array, silenceMs: number, tell: (text: string) => void): void {
    const { length } = samples
    const isBreath = silenceMs >= BREATH_MS
    if (!isBreath) this.#isBreathSeen = false
    this.#settle(length)
    if (this.#isAnswered) {
      this.#isAnswered = false
      this.#nextPeek = length + Math.max(PEEK_EVERY, PEEK_REST * (length - this.#peekedAt))
    }
    const isPaused = this.#pause?.at === length
    if (length - this.#cut > MAX_PEEKED) this.#settleAt(this.#breath)
    if (isPaused || this.#isPeeking || length - this.#cut > MAX_PEEKED) return
    if (length < this.#nextPeek && (!isBreath || this.#isBreathSeen)) return
    this.#isBreathSeen = isBreath
    void this.#peek(samples, isBreath, tell)
  }

  async #peek(samples: Int16Array, isBreath: boolean, tell: (text: string) => void): Promise<void> {
    const cut = this.#cut
    this.#isPeeking = true
    this.#peekedAt = samples.length
    const answer = await this.#ask(samples.slice(cut), isBreath ? 'peek' : 'skim')
    this.#isPeeking = false
    this.#isAnswered = true
    if ('error' in answer || cut !== this.#cut) return
    if (isBreath) this.#breath = { at: this.#peekedAt, text: answer.text.trim() }
    this.#tell(this.#peekedAt, isBreath ? answer.text.trim() : withoutLast(answer.text), tell)
  }

  /** It has paused, perhaps for good; `samples`: all that was said so far, handed over. */
  paused(samples: Int16Array<ArrayBuffer>, tell: (text: string) => void): void {
    const part = samples.slice(this.#cut)
    const pause: Pause = { at: samples.length, answer: Promise.resolve(NOTHING), text: null }
    this.#pause = pause
    pause.answer = this.#lookAt(pause, part, tell)
  }

  /** One look after the other, each told of that is surer than those before; no more than nobody else waits for. */
  async #lookAt(pause: Pause, part: Int16Array<ArrayBuffer>, tell: (text: string) => void): Promise<Answer> {
    let best: Answer = NOTHING
    for (const manner of AT_PAUSES) {
      const made = await this.#ask(part.slice(), manner)
      if ('error' in made) return 'error' in best ? made : best
      if ('error' in best || (made.confidence ?? 0) > (best.confidence ?? 0)) {
        best = made
        if (pause !== this.#pause) break
        pause.text = made.text.trim()
        this.#tell(pause.at, pause.text, tell)
      }
      if (made.isSure !== false || pause !== this.#pause) break
    }
    return best
  }

  /** Who goes on after a pause says something else. */
  #settle(length: number): void {
    const { at, text } = this.#pause ?? { at: 0, text: null }
    if (text !== null && length > at) this.#settleAt({ at, text })
  }

  /** What was said until then is not looked at again, if it is long enough. */
  #settleAt(piece: { at: number; text: string } | null): void {
    if (piece === null || piece.at - this.#cut < MIN_PIECE) return
    this.#settled = joined(this.#settled, piece.text)
    this.#cut = piece.at
    this.#pause = null
    this.#breath = null
  }

  #tell(at: number, text: string, tell: (text: string) => void): void {
    if (at < this.#told || text === '') return
    this.#told = at
    tell(joined(this.#settled, text))
  }

  /** All of it, which is handed over. */
  async end(samples: Int16Array<ArrayBuffer>): Promise<Answer> {
    this.#settle(samples.length)
    const [settled, cut] = [this.#settled, this.#cut]
    // What still waits for its turn is asked for once more, as what is not to wait.
    const isKnown = this.#pause?.at === samples.length && this.#pause.text !== null
    const known = isKnown ? await this.#pause!.answer : null
    const answer = known === null || 'error' in known ? await this.#ask(samples.slice(cut), 'whole') : known
    return 'error' in answer ? answer : { ...answer, text: joined(settled, answer.text) }
  }
}

const joined = (a: string, b: string): string => `${a} ${b}`.trim()

/** The last word may be half of one. */
const withoutLast = (text: string): string => text.trim().replace(/\S+$/, '').trim()
