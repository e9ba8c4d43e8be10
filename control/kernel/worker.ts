import { Worker, type WorkerOptions } from 'node:worker_threads'
import { workerEntry } from '../../media/protocol.ts'

/** Starts a thread with a module, given by its path below the root without extension (`ENTRIES` of `build/`). */
export function startWorker(module: string, options: WorkerOptions = {}): Worker {
  const { url, execArgv } = workerEntry(module)
  return new Worker(url, { ...options, execArgv })
}
