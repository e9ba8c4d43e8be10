import { setTimeout as sleep } from 'node:timers/promises'
import type { MediaEvent } from '../protocol.ts'
import { leftBehind, type Recovered, recoverRecordings } from './recording-writer.ts'

/** Delay before those who still record are asked again [ms]. */
const AGAIN_MS = 1000

interface InterruptedOptions {
  dataDir: string
  emit: (event: MediaEvent) => void
  /** A recording that no thread has any more has ended; called before its event. */
  over: (recordingId: string) => void
}

/** Recordings that the death of a process or thread interrupted: they are finished and announced like any other. */
export class InterruptedRecordings {
  readonly #options: InterruptedOptions
  /** Those that are not announced yet, and while it is not known who writes them, some that are not interrupted. */
  readonly #ids = new Set<string>()

  constructor(options: InterruptedOptions) {
    this.#options = options
  }

  get ids(): Iterable<string> {
    return this.#ids
  }

  /** Of the process before: to be called before the first recording begins. @returns announces them, once there is somebody to hear it */
  ofLastProcess(): () => Promise<void> {
    const { dataDir } = this.#options
    const recordingIds = leftBehind(dataDir)
    for (const id of recordingIds) this.#ids.add(id)
    const recovery = recoverRecordings(dataDir, recordingIds)
    return async () => this.#announce(await recovery, recordingIds)
  }

  /**
   * Of a thread that has just died.
   *
   * @param running those that the other threads write; null: not all of them have said so, and are asked again
   */
  async ofThread(running: () => Promise<readonly string[] | null>): Promise<void> {
    const { dataDir } = this.#options
    const then = leftBehind(dataDir).filter(id => !this.#ids.has(id))
    for (const id of then) this.#ids.add(id)
    let others = await running()
    while (others === null) {
      await sleep(AGAIN_MS)
      others = await running()
    }
    // What has been finished meanwhile was another thread's.
    const still = new Set(leftBehind(dataDir))
    const interrupted = then.filter(id => still.has(id) && !others.includes(id))
    for (const id of then) if (!interrupted.includes(id)) this.#ids.delete(id)
    this.#announce(await recoverRecordings(dataDir, interrupted), interrupted)
  }

  #announce({ ready, failed }: Recovered, recordingIds: readonly string[]): void {
    const { over, emit } = this.#options
    const at = new Date().toISOString()
    for (const id of recordingIds) over(id)
    for (const body of ready) emit({ name: 'recording.ready', at, body })
    for (const body of failed) emit({ name: 'recording.failed', at, body })
    for (const id of recordingIds) this.#ids.delete(id)
  }
}
