import type { Frame } from '../codecs/audio.ts'
import { LEG_SAMPLES } from './leg.ts'
import { Player } from './player.ts'
import type { Prompts } from './prompts.ts'
import type { PlaySource } from './protocol.ts'
import type { Source } from './source.ts'

/** What is heard by one leg alone: at most one list of sources at a time; a new one takes the place of the old. */
export class LegPlayback implements Source {
  readonly #prompts: Prompts
  #player: Player | null = null
  #finished: (() => void) | null = null
  /** Counts the requests, so that audio that was loaded too late for its turn is not played. */
  #turn = 0
  #loading = false

  constructor(prompts: Prompts) {
    this.#prompts = prompts
  }

  get playing(): boolean {
    return this.#player !== null || this.#loading
  }

  /**
   * Loads and plays; `finished` is called in the tick after the last frame, not when it is stopped or replaced.
   * Resolves with an error when a source cannot be loaded, and nothing is played.
   */
  async play(sources: PlaySource[], loop: boolean, finished: () => void): Promise<{ error: string } | null> {
    this.stop()
    const turn = this.#turn
    this.#loading = true
    const loaded = await this.#prompts.loadAll(sources)
    if (turn !== this.#turn) return null
    this.#loading = false
    if ('error' in loaded) return loaded
    this.#player = new Player(loaded, { loop, frameSamples: LEG_SAMPLES })
    this.#finished = finished
    return null
  }

  stop(): void {
    this.#turn++
    this.#loading = false
    this.#player = null
    this.#finished = null
  }

  pull(): Frame | null {
    if (this.#player === null) return null
    const frame = this.#player.pull()
    if (frame !== null) return frame
    const finished = this.#finished
    this.stop()
    finished?.()
    return null
  }
}
