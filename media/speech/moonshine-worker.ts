import { parentPort } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import type { JobReply, JobRequest } from '../kernel/worker-jobs.ts'
import { lookWhileWanted, surest } from './hearing/looks.ts'
import { MODEL_HZ, MoonshineModel } from './moonshine/moonshine-model.ts'

/** Makes out one utterance, mono at 8 kHz. */
export interface MoonshineJob {
  samples: Int16Array<ArrayBuffer>
  /** By number; null: as many as it takes. */
  look: number | null
  /** What it may be, by an earlier look at what was said until then; empty: nobody knows. */
  draft: string
  /** It is given up when anything else is to be done. */
  givesWay: boolean
  /** Jobs that wait for this one, in its first place, at any time: where somebody waits, one look must do. Shared. */
  others: Int32Array
}

export type MoonshineAnswer =
  | { text: string; confidence: number; isSure?: boolean }
  | { givenUp: true }
  | { error: string }

const loading = MoonshineModel.load()
// Said with the first job that needs it.
loading.catch(() => {})

async function transcribe({ samples, look, draft, givesWay, others }: MoonshineJob): Promise<MoonshineAnswer> {
  try {
    const model = await loading
    const wide = await resampleAll(samples, NARROWBAND_HZ, MODEL_HZ)
    const audio = Float32Array.from(wide, sample => sample / 32_768)
    const isAwaited = (): boolean => Atomics.load(others, 0) > 0
    return look === null
      ? await surest(model, audio, isAwaited, draft)
      : await lookWhileWanted(model, audio, look, { draft, isWanted: () => !(givesWay && isAwaited()) })
  } catch (error) {
    return { error: `moonshine: ${error instanceof Error ? error.message : String(error)}` }
  }
}

parentPort?.on('message', async ({ id, job }: JobRequest<MoonshineJob>) => {
  const answer = await transcribe(job)
  parentPort?.postMessage({ id, answer } satisfies JobReply<MoonshineAnswer>)
})
