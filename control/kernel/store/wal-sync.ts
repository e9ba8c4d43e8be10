import { type FileHandle, open } from 'node:fs/promises'

/**
 * Makes SQLite's commits survive a power cut, many with one sync. Under `synchronous = NORMAL` a commit is in the write-ahead
 * log, which is not synced before a checkpoint (https://sqlite.org/pragma.html#pragma_synchronous). Once the log is synced, every
 * commit in it is on disk, whoever made it. Unlike SQLite's own sync, this one does not block the thread.
 */
export class WalSync {
  readonly counters = { syncs: 0 }
  readonly #path: string
  #file: Promise<FileHandle> | null = null
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  /** @param file the database file; the log is beside it from the first commit on */
  constructor(file: string) {
    this.#path = `${file}-wal`
  }

  /** Resolves when everything committed before the call is on disk; rejects if the disk fails. */
  sync(): Promise<void> {
    if (this.#running === null) return this.#begin()
    // The running sync may have begun before the commit; one more covers all waiting commits.
    this.#next ??= this.#running.catch(() => {}).then(() => this.#begin())
    return this.#next
  }

  /** No sync starts after it. */
  async close(): Promise<void> {
    await this.#next?.catch(() => {})
    await this.#running?.catch(() => {})
    await (await this.#file)?.close()
  }

  #begin(): Promise<void> {
    this.#next = null
    const running = this.#datasync().finally(() => {
      if (this.#running === running) this.#running = null
    })
    this.#running = running
    return running
  }

  async #datasync(): Promise<void> {
    this.counters.syncs++
    // Closing a descriptor drops SQLite's locks on the same file, but it holds none on the log: opening it here is safe.
    this.#file ??= open(this.#path, 'r+')
    const file = await this.#file.catch((error: unknown) => {
      this.#file = null
      throw error
    })
    await file.datasync()
  }
}
