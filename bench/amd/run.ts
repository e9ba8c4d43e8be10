import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answeringOf, answeringSpec } from '../../control/calls/answering/schema.ts'
import { Prompts } from '../../media/engine/prompts.ts'
import type { Events } from '../../media/protocol.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import { TestEngine } from '../../test/fakes/engine.ts'
import { Speaker } from '../../test/media/engine/party.ts'
import { table } from '../tables.ts'
import { type AnsweredCall, AnswerMaker, GROUPS, type Group } from './answers.ts'
import type { Half } from './greetings.ts'
import { RecordedAnswers } from './recorded.ts'

/** Within this time of the first sound, a result is in time [ms]. */
const IN_TIME_MS = 3000
/** Within this time of its end, a beep is to be reported [ms]. */
const BEEP_TOLD_MS = 500

interface AmdResult {
  half: Half | 'recordings'
  settings: keyof typeof SETTINGS
  group: Group
  calls: number
  /** Reported correctly, and within three seconds of the first sound. */
  inTime: number
  right: number
  /** Reported as the opposite: a machine as a person, or a person as a machine. */
  wrong: number
  /** For correct results: from the first sound to the event [ms]. */
  medianMs: number
  /** For machines that were recognised: those whose beep was reported. */
  beeps: number
  told: number
}

/** The defaults of `POST /calls`, and what docs/answering-machines.md recommends for calls to companies. */
const SETTINGS = {
  shipped: {},
  companies: { greeting_ms: 6000, max_words: 30, total_ms: 9000 },
} as const

const LEG = 'part_1'
/** The address that the tests' engine gives the far end of this leg. */
const HOST = `192.0.2.${LEG.length}`

/** Runs labelled calls of the halves through the engine, or those of a folder with recordings. */
export async function benchAmd(source: readonly Half[] | string, say: (line: string) => void): Promise<AmdResult[]> {
  const results: AmdResult[] = []
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-amd-'))
  const prompts = new Prompts({ sampleRateHz: 8000 })
  const makers = typeof source === 'string' ? [new RecordedAnswers(source)] : source.map(half => new AnswerMaker(half))
  for (const maker of makers) {
    const { half } = maker
    for (const settings of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]) {
      const calls: { call: AnsweredCall; heard: Heard }[] = []
      for await (const call of maker.calls()) {
        const heard = await hear(call, SETTINGS[settings], dataDir, prompts)
        calls.push({ call, heard })
        const line = faultOf(call, heard)
        if (line !== null) say(`${half}, ${settings}: ${line}`)
      }
      const groups = GROUPS.filter(group => calls.some(({ call }) => call.group === group))
      for (const group of groups) results.push({ half, settings, ...summed(group, calls) })
    }
    await maker.close()
  }
  await prompts.close()
  rmSync(dataDir, { recursive: true })
  return results
}

interface Heard {
  answer: Events['leg.answered_by'] | undefined
  end: Events['leg.message_ended'] | undefined
}

async function hear(call: AnsweredCall, timings: object, dataDir: string, prompts: Prompts): Promise<Heard> {
  const engine = new TestEngine(dataDir, { prompts })
  const answering = JSON.stringify(answeringOf({ mode: 'detect_message_end', ...timings }))
  const capture = { recordingId: null, transcript: null, answering: answeringSpec({ answering }, LEG)! }
  const farEnd = await engine.join(LEG, { capture })
  let isLost = false
  const speaker = new Speaker((packet, now) => {
    if (!isLost) farEnd.receiver?.rtp(packet, HOST, 4000, now)
  })
  const frame = new Int16Array(LEG_SAMPLES)
  const codes = new Uint8Array(LEG_SAMPLES)
  for (let at = 0; (at + 1) * LEG_SAMPLES <= call.line.length; at++) {
    call.law.encode(call.line.subarray(at * LEG_SAMPLES, (at + 1) * LEG_SAMPLES), codes)
    call.law.decode(codes, frame)
    isLost = call.isLost(at)
    engine.run(1, () => speaker.speak(frame, engine.now))
    if (engine.of('leg.message_ended').length > 0) break
    if (engine.of('leg.answered_by').some(({ answeredBy }) => answeredBy !== 'machine')) break
  }
  const heard = { answer: engine.of('leg.answered_by')[0], end: engine.of('leg.message_ended')[0] }
  await engine.close()
  return heard
}

const msOf = (call: AnsweredCall, { answer }: Heard): number => (answer?.ms ?? Number.POSITIVE_INFINITY) - call.beganMs
const isRight = (call: AnsweredCall, { answer }: Heard): boolean => answer?.answeredBy === call.by
const hasBeep = (call: AnsweredCall, { end }: Heard): boolean =>
  end?.ended === 'beep' && end.ms >= call.beepEndMs && end.ms <= call.beepEndMs + BEEP_TOLD_MS

function faultOf(call: AnsweredCall, heard: Heard): string | null {
  const { answer, end } = heard
  const ofBeep = call.by === 'machine' && answer?.answeredBy === 'machine' && !hasBeep(call, heard)
  if (isRight(call, heard) && msOf(call, heard) <= IN_TIME_MS && !ofBeep) return null
  const told = answer === undefined ? 'nothing' : `${answer.answeredBy} (${answer.cause}) after ${msOf(call, heard)} ms`
  const beep = ofBeep
    ? `; end: ${end?.ended ?? 'none'} ${(end?.ms ?? Number.NaN) - call.beepEndMs} ms from the beep`
    : ''
  return `${call.name}, ${call.group} "${call.text}": ${told}${beep}`
}

function summed(group: Group, all: { call: AnsweredCall; heard: Heard }[]): Omit<AmdResult, 'half' | 'settings'> {
  const calls = all.filter(({ call }) => call.group === group)
  const right = calls.filter(({ call, heard }) => isRight(call, heard))
  const times = right.map(({ call, heard }) => msOf(call, heard)).sort((a, b) => a - b)
  const by = group === 'machine' ? 'machine' : 'human'
  const other = by === 'human' ? 'machine' : 'human'
  return {
    group,
    calls: calls.length,
    right: right.length,
    inTime: times.filter(ms => ms <= IN_TIME_MS).length,
    wrong: calls.filter(({ heard }) => heard.answer?.answeredBy === other).length,
    medianMs: times[times.length >> 1] ?? Number.NaN,
    told: by === 'machine' ? right.length : 0,
    beeps: by === 'machine' ? right.filter(({ call, heard }) => hasBeep(call, heard)).length : 0,
  }
}

const share = (part: number, of: number): string => (of === 0 ? '' : `${((100 * part) / of).toFixed(1)} %`)

export function formatAmd(results: readonly AmdResult[]): string[] {
  const rows = results.map(({ half, settings, group, calls, inTime, right, wrong, medianMs, beeps, told }) => [
    `${half}, ${settings}: ${group}`,
    String(calls),
    share(inTime, calls),
    share(right, calls),
    share(wrong, calls),
    medianMs.toFixed(0),
    share(beeps, told),
  ])
  return [
    'answering-machine detection, calls through the engine',
    ...table([['', 'calls', 'right in 3 s', 'right', 'as the other', 'median ms', 'beep told'], ...rows]),
    'right in 3 s: of the first sound of whoever has answered; beep told: within 0.5 s of its end, of machines that were told.',
  ]
}
