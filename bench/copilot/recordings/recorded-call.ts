import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readWav } from '../../../codecs/wav.ts'
import type { LabelledCall } from '../calls/labelled-call.ts'

/** When a line is said [samples at 8 kHz]. */
export interface LineTime {
  party: 'agent' | 'customer'
  from: number
  to: number
}

export interface RecordedCall {
  call: LabelledCall
  samples: { agent: Int16Array; customer: Int16Array }
  /** Times of all its lines, in order. */
  times: readonly LineTime[]
}

export const fileOf = ({ name }: LabelledCall): string =>
  fileURLToPath(new URL(`${name.replaceAll(' ', '-')}.wav`, import.meta.url))

export function recordingOf(call: LabelledCall): RecordedCall {
  const wav = readWav(readFileSync(fileOf(call)))
  if ('error' in wav) throw new Error(`${fileOf(call)}: ${wav.error}`)
  const times = JSON.parse(readFileSync(new URL('times.json', import.meta.url), 'utf8'))[call.name] as LineTime[]
  const [agent, customer] = wav.samples
  return { call, samples: { agent: agent!, customer: customer! }, times }
}
