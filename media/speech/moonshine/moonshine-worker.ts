import { parentPort } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { resampleAll } from '../../../codecs/resample.ts'
import type { JobReply, JobRequest } from '../../kernel/worker-jobs.ts'
import { surest } from '../hearing/looks.ts'
import { MODEL_HZ, MoonshineModel } from './moonshine-model.ts'

/** Makes out one utterance, mono at 8 kHz. */
export interface MoonshineJob {
  samples: Int16Array<ArrayBuffer>
}

export type MoonshineAnswer = { text: string } | { error: string }

const loading = MoonshineModel.load()
// Said with the first job that needs it.
loading.catch(() => {})

/** Jobs that have not been answered; with more than one, nobody waits for a second look at another's words. */
let open = 0

async function transcribe({ samples }: MoonshineJob): Promise<MoonshineAnswer> {
  try {
    const model = await loading
    const wide = await resampleAll(samples, NARROWBAND_HZ, MODEL_HZ)
    const audio = Float32Array.from(wide, sample => sample / 32_768)
    const { text } = await surest(model, audio, () => open > 1)
    return { text }
  } catch (error) {
    return { error: `moonshine: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** One after the other: the runtime computes on this thread alone. */
let last: Promise<void> = Promise.resolve()

parentPort?.on('message', ({ id, job }: JobRequest<MoonshineJob>) => {
  open++
  last = last.then(async () => {
    const answer = await transcribe(job)
    open--
    parentPort?.postMessage({ id, answer } satisfies JobReply<MoonshineAnswer>)
  })
})
