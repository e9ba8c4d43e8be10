import { parentPort } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import type { JobReply, JobRequest } from '../worker-jobs.ts'
import { LOOKS } from './looks.ts'
import { MODEL_HZ, MoonshineModel, type Transcription } from './moonshine-model.ts'

/** Makes out one utterance, mono at 8 kHz. */
export interface MoonshineJob {
  samples: Int16Array<ArrayBuffer>
}

export type MoonshineAnswer = { text: string } | { error: string }

/** What the model is surer of is nearly always right: it is looked at once. As measured on calls. */
const SURE = -0.1
/** Longer ones are looked at once: each look takes as long as the first [samples]. */
const MAX_LOOKED_AGAIN = 8 * MODEL_HZ

const loading = MoonshineModel.load()
// Said with the first job that needs it.
loading.catch(() => {})

/** Jobs that have not been answered; with more than one, nobody waits for a second look at another's words. */
let open = 0

async function surest(model: MoonshineModel, samples: Float32Array): Promise<string> {
  let best: Transcription = { text: '', confidence: Number.NEGATIVE_INFINITY }
  for (const look of LOOKS) {
    const made = await model.transcribe(look(samples))
    if (made.confidence > best.confidence) best = made
    if (best.confidence > SURE || best.text === '' || open > 1 || samples.length > MAX_LOOKED_AGAIN) break
  }
  return best.text
}

async function transcribe({ samples }: MoonshineJob): Promise<MoonshineAnswer> {
  try {
    const model = await loading
    const wide = await resampleAll(samples, NARROWBAND_HZ, MODEL_HZ)
    return {
      text: await surest(
        model,
        Float32Array.from(wide, sample => sample / 32_768),
      ),
    }
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
