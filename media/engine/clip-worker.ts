import { readFile, stat } from 'node:fs/promises'
import { parentPort } from 'node:worker_threads'
import { resampleAll } from '../../codecs/resample.ts'
import { readWav, type Wav } from '../../codecs/wav.ts'
import { workAmongOthers } from '../kernel/thread-priority.ts'
import type { JobReply, JobRequest } from '../kernel/worker-jobs.ts'

/** Loads a WAV file for a room. */
export interface ClipJob {
  path: string
  sampleRateHz: number
}

export type ClipAnswer = { samples: Int16Array<ArrayBuffer> } | { error: string }

/** A larger file is refused before it is read [bytes]. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

async function loadClip({ path, sampleRateHz }: ClipJob): Promise<ClipAnswer> {
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) return { error: `${path}: larger than ${MAX_FILE_BYTES} bytes` }
    const wav = readWav(await readFile(path))
    if ('error' in wav) return { error: `${path}: ${wav.error}` }
    return { samples: ownCopy(await resampleAll(toMono(wav), wav.sampleRateHz, sampleRateHz)) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** The mean of the channels: their sum could clip. */
function toMono({ channels, samples }: Wav): Int16Array {
  if (channels === 1) return samples[0]!
  return Int16Array.from(samples[0]!, (_, i) => {
    let sum = 0
    for (const channel of samples) sum += channel[i]!
    return Math.round(sum / channels)
  })
}

/** A buffer with only these samples, which can be transferred to another thread without a copy. */
const ownCopy = (samples: Int16Array): Int16Array<ArrayBuffer> => new Int16Array(samples)

workAmongOthers()
parentPort?.on('message', async ({ id, job }: JobRequest<ClipJob>) => {
  const answer = await loadClip(job)
  const moved = 'samples' in answer ? [answer.samples.buffer] : []
  parentPort?.postMessage({ id, answer } satisfies JobReply<ClipAnswer>, moved)
})
