import { ReplayWindow } from './replay-window.ts'

/** Maximum number of sources; a far end has one, and another after it was rebuilt. The oldest is forgotten first. */
const MAX_SOURCES = 16

/** The replay windows of one key, by SSRC. Only authentic packets create one. */
export class Sources {
  readonly #windows = new Map<number, ReplayWindow>()
  /** The source that was last asked for, which is nearly always the next one too. */
  #ssrc = -1
  #window: ReplayWindow | undefined

  of(ssrc: number): ReplayWindow | undefined {
    if (ssrc !== this.#ssrc) {
      this.#ssrc = ssrc
      this.#window = this.#windows.get(ssrc)
    }
    return this.#window
  }

  /** The highest index of each source. */
  get highest(): Map<number, number> {
    return new Map([...this.#windows].map(([ssrc, { highest }]) => [ssrc, highest]))
  }

  take(ssrc: number, index: number): void {
    let window = this.of(ssrc)
    if (window === undefined) {
      window = new ReplayWindow()
      if (this.#windows.size === MAX_SOURCES) this.#windows.delete(this.#windows.keys().next().value!)
      this.#windows.set(ssrc, window)
      this.#window = window
    }
    window.take(index)
  }
}
