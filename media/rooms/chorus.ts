import { int16Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { Mixer } from './mixer.ts'
import type { Source } from './source.ts'

/** Several parallel sources as one: the audio of bidirectional streams' receivers, for one party or a whole room. */
export class Chorus {
  readonly #sources: Source[] = []
  readonly #mixer: Mixer
  readonly #limiter = new Limiter()
  readonly #sum: Frame

  constructor(samples: number) {
    this.#mixer = new Mixer(samples)
    this.#sum = int16Array(samples)
  }

  get isEmpty(): boolean {
    return this.#sources.length === 0
  }

  add(source: Source): void {
    this.#sources.push(source)
  }

  remove(source: Source): void {
    const at = this.#sources.indexOf(source)
    if (at >= 0) this.#sources.splice(at, 1)
  }

  /** The sum of all sources for this tick and of `beside`; null: nothing. Borrowed until the next pull. */
  pull(beside: Frame | null): Frame | null {
    const mixer = this.#mixer
    let only = beside
    mixer.clear()
    if (beside !== null) mixer.add(beside)
    for (const source of this.#sources) {
      const frame = source.pull()
      if (frame === null) continue
      mixer.add(frame)
      only = frame
    }
    if (mixer.voices < 2) return only
    mixer.all(this.#sum, this.#limiter)
    return this.#sum
  }
}
