import { Worker, type WorkerOptions } from 'node:worker_threads'
import { workerEntry } from '../../media/protocol.ts'

/** Starts a thread with a module, given by its path below the root without extension (`ENTRIES` of `build/`). */
export function startWorker(module: string, options: WorkerOptions = {}): Worker {
  const { url, execArgv } = workerEntry(module)
  return new Worker(url, { ...options, execArgv })
}

/** Asks a thread, in its own words, to finish what it has begun, and waits for its end: one that fails ends too. Null: there is none. */
export async function closeWorker<Message>(worker: Worker | null, message: Message): Promise<void> {
  if (worker === null) return
  worker.ref()
  const ended = new Promise(resolve => worker.once('exit', resolve))
  worker.postMessage(message)
  await ended
}
