import { parentPort } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import type { JobReply, JobRequest } from '../worker-jobs.ts'
import { MoonshineModel } from './moonshine-model.ts'

/** Makes out one utterance, mono at 8 kHz. */
export interface MoonshineJob {
  samples: Int16Array<ArrayBuffer>
}

export type MoonshineAnswer = { text: string } | { error: string }

const MODEL_HZ = 16_000

const loading = MoonshineModel.load()
// Said with the first job that needs it.
loading.catch(() => {})

async function transcribe({ samples }: MoonshineJob): Promise<MoonshineAnswer> {
  try {
    const model = await loading
    const wide = await resampleAll(samples, NARROWBAND_HZ, MODEL_HZ)
    return { text: await model.transcribe(Float32Array.from(wide, sample => sample / 32_768)) }
  } catch (error) {
    return { error: `moonshine: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** One after the other: the runtime computes on this thread alone. */
let last: Promise<void> = Promise.resolve()

parentPort?.on('message', ({ id, job }: JobRequest<MoonshineJob>) => {
  last = last.then(async () => {
    const answer = await transcribe(job)
    parentPort?.postMessage({ id, answer } satisfies JobReply<MoonshineAnswer>)
  })
})
