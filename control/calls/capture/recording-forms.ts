import { access } from 'node:fs/promises'
import { recordingKey } from '../../../media/protocol.ts'
import { startWorker } from '../../kernel/worker.ts'
import type { FormJob } from './form-worker.ts'
import { formPath, recordingPath } from './recording-files.ts'

/** Recordings that may wait to be mixed. Each takes some seconds of a core per hour of WAV, minutes for Opus. */
const MAX_WAITING = 16
/** How long a request waits. A longer job finishes anyway, for the next request [ms]. */
const PATIENCE_MS = 20_000

/** The form in which a recording is downloaded. */
export type FormOf = Pick<FormJob, 'layout' | 'format'>

/** Mixes and compresses recordings on its own thread, one after the other, and keeps the results. */
export class RecordingForms {
  readonly #dataDir: string
  readonly #making = new Map<string, Promise<string | null>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** The file of a form. `busy`: too many wait; `later`: it is being made; null: impossible, the recording is not here. */
  async file(
    id: string,
    { layout, format }: FormOf,
    encrypted = false,
  ): Promise<{ path: string } | 'busy' | 'later' | null> {
    const target = formPath(this.#dataDir, id, `${layout}.${format}`)
    if (!this.#making.has(target)) {
      if (await exists(target)) return { path: target }
      if (this.#making.size >= MAX_WAITING) return 'busy'
      const source = recordingPath(this.#dataDir, id)
      if (!(await exists(source))) return null
      const key = encrypted ? recordingKey(this.#dataDir, id) : null
      this.#make({ source, target, layout, format, key })
    }
    const made = await within(this.#making.get(target) ?? Promise.resolve(null), PATIENCE_MS)
    if (made === 'late') return 'later'
    return made === null ? { path: target } : null
  }

  #make(job: FormJob): void {
    if (this.#making.has(job.target)) return
    const made = this.#last.then(() => make(job)).catch((error: Error) => error.message)
    this.#last = made
    this.#making.set(job.target, made)
    void made.then(() => this.#making.delete(job.target))
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Null: done; else the reason of the failure. */
async function make(job: FormJob): Promise<string | null> {
  const worker = startWorker('control/calls/capture/form-worker')
  try {
    return await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the thread ended without an answer')))
      worker.postMessage(job)
    })
  } finally {
    await worker.terminate()
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(() => resolve('late'), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
