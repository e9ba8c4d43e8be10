import { setTimeout as sleep } from 'node:timers/promises'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import type { Product } from '../product.ts'
import type { Voice } from '../voices.ts'
import { type Half, labelsOf, textOf } from './calls/labelled-call.ts'
import { type Desk, openDesk } from './desk.ts'
import { wantedOf } from './known-words.ts'
import { type LineTime, type RecordedCall, recordingOf } from './recordings/recorded-call.ts'
import { differences, labelOf, labelsTold, type Message, profileOf, type Score, score } from './score.ts'

export interface HeardCall {
  call: string
  half: Half['name']
  /** From the end of the words of each labelled line to the arrival of its message; 0: it arrived before they ended [ms]. */
  latencies: { label: string; ms: number }[]
  score: Score
  differences: string[]
  /** Everything that was said, and the final transcript. */
  said: string[]
  heard: string[]
  speechMs: number
}

export interface HeardRound {
  /** Number of simultaneous calls. */
  calls: number
  heard: HeardCall[]
  /** CPU of the speech process for each second of speech [s]. */
  cpuPerSpeech: number
}

export interface Recording {
  half: Half
  recording: RecordedCall
}

/** After the end of the call's audio, the last words are transcribed within this time [ms]. */
const LAST_WORDS_MS = 4000

export const recordingsOf = (half: Half): Recording[] =>
  half.calls.filter(({ sound }) => sound !== undefined).map(call => ({ half, recording: recordingOf(call) }))

/** Plays a recorded call over SIP and RTP, each party on its own phone. */
export async function hearCall(product: Product, of: Recording, startMs = 0): Promise<HeardCall> {
  const { half, recording } = of
  const desk = await openDesk(product, profileOf(half, recording.call))
  await sleep(startMs)
  const sentAt = { agent: [] as number[], customer: [] as number[] }
  for (const party of ['agent', 'customer'] as const) {
    desk.voices[party].say(noting(recording.samples[party], sentAt[party]))
  }
  await sleep((1000 * recording.samples.agent.length) / NARROWBAND_HZ + LAST_WORDS_MS)
  await desk.close()
  return judge(desk.told, of, ({ party, to }) => sentAt[party][Math.floor((to - 1) / LEG_SAMPLES)]!)
}

/** A voice that says the samples once and notes when each frame is sent [ms]; silence follows. */
function noting(samples: Int16Array, sentAt: number[]): Voice {
  return frame => {
    const at = sentAt.length * LEG_SAMPLES
    sentAt.push(performance.now())
    frame.fill(0)
    frame.set(samples.subarray(at, at + LEG_SAMPLES))
  }
}

/** When each utterance began and ended, by the first and the last message about it. */
function spansOf(told: Desk['told']): Map<string, { party: string; beganAt: number; endedAt: number }> {
  const spans = new Map<string, { party: string; beganAt: number; endedAt: number }>()
  for (const { type, data, cameAt } of told) {
    if (type !== 'transcript' || data.utterance_id === undefined) continue
    const beganAt = spans.get(data.utterance_id)?.beganAt ?? cameAt
    spans.set(data.utterance_id, { party: data.party, beganAt, endedAt: cameAt })
  }
  return spans
}

/** Judges the messages of a call. @param endOf when the words of a line ended, by the clock of `cameAt` [ms] */
export function judge(
  told: Desk['told'],
  { half, recording }: Recording,
  endOf: (line: LineTime) => number,
): HeardCall {
  const { call, times } = recording
  const profile = profileOf(half, call)
  const today = new Date()
  const lines = call.turns.flatMap(turn => turn.lines)
  const spans = spansOf(told)
  const left = told.map(message => ({ message, label: labelOf(message, profile) }))
  const latencies: HeardCall['latencies'] = []
  for (const [n, line] of lines.entries()) {
    const time = times[n]!
    const endedAt = endOf(time)
    const beganAt = endedAt - (1000 * (time.to - time.from)) / NARROWBAND_HZ
    // If these words were misheard, later ones may cause the same message, which does not count for these.
    const isOfLine = ({ utterance_ids }: Message): boolean =>
      utterance_ids.some(id => {
        const span = spans.get(id)
        return span?.party === time.party && span.beganAt <= endedAt && span.endedAt >= beganAt
      })
    for (const label of labelsOf(line, today)) {
      const at = left.findIndex(one => one.label === label && one.message.cameAt >= beganAt && isOfLine(one.message))
      if (at < 0) continue
      const [{ message }] = left.splice(at, 1) as [(typeof left)[number]]
      latencies.push({ label, ms: Math.max(0, message.cameAt - endedAt) })
    }
  }
  const wanted = wantedOf(call, today)
  const labels = labelsTold(told, profile)
  const finals = told.filter(({ type, data }) => type === 'transcript' && data.final === true)
  return {
    call: call.name,
    half: half.name,
    latencies,
    score: score(wanted, labels),
    differences: differences(wanted, labels),
    said: call.turns.map(({ party, lines: of }) => `${party}: ${of.map(textOf).join(' ')}`),
    heard: finals.map(({ data }) => `${data.party}: ${data.text}`),
    speechMs: times.reduce((sum, { from, to }) => sum + (1000 * (to - from)) / NARROWBAND_HZ, 0),
  }
}
