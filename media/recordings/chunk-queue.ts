import type { RecordingStore } from './recording-partial.ts'

/** One stretch of one channel on its way to the disk. */
export interface Chunk {
  samples: Int16Array
  channel: number
  /** Position of its first sample in the channel's file [bytes]. */
  position: number
  /** How much of it is written [samples]. */
  length: number
}

/**
 * A recorder's queue to the disk: one write at a time, in order, the manifest before the chunks. Its length is that of the
 * pool of chunks: if the disk stalls, the pool is empty and `take` returns null; the recorder counts what it cannot keep.
 */
export class ChunkQueue {
  readonly #store: RecordingStore
  readonly #chunkSamples: number
  readonly #onFailed: (message: string) => void
  readonly #free: Chunk[] = []
  readonly #queue: Chunk[] = []
  #made = 0
  #limit = 0
  #manifest: (() => string) | null = null
  #running: Promise<void> | null = null
  #failure: string | null = null

  /** @param onFailed called once, with the first write that failed; nothing is written after it */
  constructor(store: RecordingStore, chunkSamples: number, onFailed: (message: string) => void) {
    this.#store = store
    this.#chunkSamples = chunkSamples
    this.#onFailed = onFailed
  }

  /** The first error of the disk. */
  get failure(): string | null {
    return this.#failure
  }

  /** Lets the pool have `more` further chunks at most, and makes `now` of them at once. */
  grow(more: number, now: number): void {
    this.#limit += more
    for (let i = 0; i < now; i++) this.#free.push(this.#make())
  }

  /** A chunk of silence to be filled, or null: all of them wait for the disk. */
  take(): Chunk | null {
    if (this.#failure !== null) return null
    const chunk = this.#free.pop() ?? (this.#made < this.#limit ? this.#make() : null)
    chunk?.samples.fill(0)
    return chunk
  }

  /** Has a filled chunk written. */
  put(chunk: Chunk): void {
    this.#queue.push(chunk)
    this.#run()
  }

  /** Has the manifest written, as it is when its turn comes. */
  putManifest(text: () => string): void {
    this.#manifest = text
    this.#run()
  }

  /** Resolves when everything is written or has failed, and the files are closed. */
  async finish(): Promise<void> {
    await this.#running
    try {
      await this.#store.close()
    } catch (error) {
      this.#fail(error)
    }
  }

  #make(): Chunk {
    this.#made++
    return { samples: new Int16Array(this.#chunkSamples), channel: 0, position: 0, length: 0 }
  }

  #run(): void {
    this.#running ??= this.#drain()
  }

  async #drain(): Promise<void> {
    while (this.#manifest !== null || this.#queue.length > 0) {
      const manifest = this.#manifest
      this.#manifest = null
      if (manifest !== null) await this.#try(() => this.#store.writeManifest(manifest()))
      const chunk = this.#queue.shift()
      if (chunk === undefined) continue
      const bytes = new Uint8Array(chunk.samples.buffer, 0, chunk.length * Int16Array.BYTES_PER_ELEMENT)
      await this.#try(() => this.#store.writeChunk(chunk.channel, bytes, chunk.position))
      this.#free.push(chunk)
    }
    // In the same turn as the check above, so that nothing put in between is left lying.
    this.#running = null
  }

  async #try(write: () => Promise<void>): Promise<void> {
    if (this.#failure !== null) return
    try {
      await write()
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return
    this.#failure = error instanceof Error ? error.message : String(error)
    this.#onFailed(this.#failure)
  }
}
