import { parentPort } from 'node:worker_threads'
import { type AudioRefusal, type StoredWav, storedWav } from './stored-wav.ts'

/** A thread that converts one upload, answers, and ends. */
parentPort?.once('message', async (upload: Uint8Array) => {
  const answer: StoredWav | AudioRefusal = await storedWav(upload)
  parentPort?.postMessage(answer, 'bytes' in answer ? [answer.bytes.buffer] : [])
})
