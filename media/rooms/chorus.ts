import { int16Array } from '../../codecs/arrays.ts'
import { type Frame, faded } from '../../codecs/audio.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { Mixer } from './mixer.ts'
import type { Source } from './source.ts'

/** Several parallel sources as one: the audio of bidirectional streams' receivers, for one party or a whole room. */
export class Chorus {
  readonly #sources: Source[] = []
  readonly #mixer: Mixer
  readonly #limiter = new Limiter()
  readonly #sum: Frame
  /** Of sources that were removed in the middle, for the next pull. */
  readonly #endings: Frame[] = []
  #isWaiting = false

  constructor(samples: number) {
    this.#mixer = new Mixer(samples)
    this.#sum = int16Array(samples)
  }

  get isEmpty(): boolean {
    return this.#sources.length === 0 && this.#endings.length === 0
  }

  add(source: Source): void {
    this.#sources.push(source)
  }

  /** In its middle it fades out. */
  remove(source: Source): void {
    const at = this.#sources.indexOf(source)
    if (at < 0) return
    this.#sources.splice(at, 1)
    const rest = source.breakOff?.() ?? null
    if (rest !== null) this.#endings.push(faded(rest, 'out'))
  }

  /** The sum of all sources for this tick and of `beside`; null: nothing. Borrowed until the next tick. */
  pull(beside: Frame | null): Frame | null {
    return this.#sumUp(beside, false)
  }

  /** The same in a tick in which the sources wait where they are, unheard but for their fading out. */
  wait(beside: Frame | null): Frame | null {
    return this.#sumUp(beside, true)
  }

  #sumUp(beside: Frame | null, waits: boolean): Frame | null {
    const mixer = this.#mixer
    let only = beside
    mixer.clear()
    if (beside !== null) mixer.add(beside)
    const turns = waits !== this.#isWaiting
    this.#isWaiting = waits
    if (turns || !waits) for (const source of this.#sources) only = this.#add(nextOf(source, waits, turns)) ?? only
    while (this.#endings.length > 0) only = this.#add(this.#endings.pop()!)
    if (mixer.voices < 2) return only
    mixer.all(this.#sum, this.#limiter)
    return this.#sum
  }

  #add(frame: Frame | null): Frame | null {
    if (frame !== null) this.#mixer.add(frame)
    return frame
  }
}

/** @param waits it is not heard @param turns that has just begun, or ended: a cut would be a click */
function nextOf(source: Source, waits: boolean, turns: boolean): Frame | null {
  const frame = waits ? (source.breakOff?.() ?? null) : source.pull()
  if (!turns || frame === null) return frame
  if (waits) return faded(frame, 'out')
  return source.isMidway === true ? faded(frame, 'in') : frame
}
