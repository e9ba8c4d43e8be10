import { ReplayWindow } from './replay-window.ts'

/** Maximum number of sources; a far end has one, and another after it was rebuilt. The oldest is forgotten first. */
const MAX_SOURCES = 16

/** The replay windows of one key, by SSRC. Only authentic packets create one. */
export class Sources {
  readonly #windows = new Map<number, ReplayWindow>()

  of(ssrc: number): ReplayWindow | undefined {
    return this.#windows.get(ssrc)
  }

  take(ssrc: number, index: number): void {
    let window = this.#windows.get(ssrc)
    if (window === undefined) {
      window = new ReplayWindow()
      if (this.#windows.size === MAX_SOURCES) this.#windows.delete(this.#windows.keys().next().value!)
      this.#windows.set(ssrc, window)
    }
    window.take(index)
  }
}
