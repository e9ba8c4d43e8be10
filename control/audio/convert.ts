import { startWorker } from '../kernel/worker.ts'
import type { AudioRefusal, StoredWav } from './stored-wav.ts'

/** Enough for the largest upload, and so little that a malformed one cannot exhaust the process [MB]. */
const MAX_HEAP_MB = 256
const DEADLINE_MS = 60_000
/** Maximum number of uploads that wait, each of up to 20 MB. */
const MAX_WAITING = 8

/** Converts an upload; `busy`: too many wait already. */
export type ConvertAudio = (upload: Uint8Array) => Promise<StoredWav | AudioRefusal | 'busy'>

/** Converts uploads one after the other, each on a new thread, so that requests are answered meanwhile. */
export function audioConverter(): ConvertAudio {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return upload => {
    if (waiting >= MAX_WAITING) return Promise.resolve('busy')
    waiting++
    const converted = last.then(() => convert(upload)).finally(() => waiting--)
    last = converted.catch(() => {})
    return converted
  }
}

async function convert(upload: Uint8Array): Promise<StoredWav | AudioRefusal> {
  const worker = startWorker('control/audio/convert-worker', {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the conversion takes too long')), DEADLINE_MS)
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the conversion ended without an answer')))
      worker.postMessage(upload)
    })
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}
