import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { Prompts } from '../../media/engine/prompts.ts'
import { Moonshine } from '../../media/speech/moonshine/moonshine.ts'
import { type Heard, hear, overTheLine } from './chain.ts'
import { CallMaker, CONDITIONS, type Condition, EMPTY_CONDITIONS, type LabelledCall } from './labelled-calls.ts'
import { compare, wordsOf } from './score.ts'
import type { SentenceSet } from './sentences.ts'

/** Around what is cut out by hand [samples]. */
const BY_HAND_MARGIN = 1600
const SAMPLES_PER_MS = NARROWBAND_HZ / 1000

/** What became of the calls of one condition. */
export interface ConditionResult {
  name: string
  isQuiet: boolean
  calls: number
  /** Of all that was said. */
  words: number
  errors: number
  /** The same sentences cut out of the call by their labels, and given to the same recogniser. */
  errorsByHand: number
  /** At the beginnings and at the ends, beyond what the recogniser misses of the sentences that were cut by hand. */
  lostAtBegin: number
  lostAtEnd: number
  /** Of both, those in whose place nothing was heard: cut off, not misheard. */
  gone: number
  /** Calls of which nothing was heard. */
  unheard: number
  /** What of the voice itself is in no utterance, in the worst call: at its beginning, at its end [ms]. */
  cutAtBeginMs: number
  cutAtEndMs: number
}

/** What of the voice of a call is in no utterance; of one that was not heard at all, nothing is told [ms]. */
export function cutOf(call: LabelledCall, { utterances }: Heard): { beginMs: number; endMs: number } {
  const over = utterances.filter(({ from, to }) => from < call.to && to > call.from)
  if (over.length === 0) return { beginMs: 0, endMs: 0 }
  return {
    beginMs: Math.max(0, (over[0]!.from - call.from) / SAMPLES_PER_MS),
    endMs: Math.max(0, (call.to - over.at(-1)!.to) / SAMPLES_PER_MS),
  }
}

/** Nobody speaks. */
export interface EmptyResult {
  name: string
  /** Speech was declared so often, in half a minute. */
  declared: number
  /** What of our announcement was heard, and how long that took, of its own length; null: it never ended. */
  heardShare: number
  tookShare: number | null
  words: string
}

export interface HearingReport {
  set: SentenceSet
  conditions: ConditionResult[]
  empty: EmptyResult[]
}

/** Labelled calls through the hearing chain, `count` of each condition that is wanted. */
export async function benchHearing(
  set: SentenceSet,
  count: number,
  say: (line: string) => void,
  only: (condition: Condition) => boolean = () => true,
): Promise<HearingReport> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-hearing-'))
  const maker = new CallMaker(set)
  const tools = { dataDir, prompts: new Prompts({ sampleRateHz: 8000 }), ear: new Moonshine() }
  const report: HearingReport = { set, conditions: [], empty: [] }
  try {
    await tools.ear.warmUp()
    for (const condition of CONDITIONS.filter(only)) {
      const result = await heardOf(condition, count, maker, tools, say)
      report.conditions.push(result)
      const { name, words, lostAtBegin, lostAtEnd, gone, unheard, cutAtBeginMs, cutAtEndMs } = result
      const cut = `${cutAtBeginMs}+${cutAtEndMs} ms cut`
      say(
        `${set}, ${name}: lost ${lostAtBegin} + ${lostAtEnd} of ${words} words (${gone} gone), ${unheard} unheard, ${cut}`,
      )
    }
    for (const condition of EMPTY_CONDITIONS.filter(only)) {
      report.empty.push(await emptyOf(condition, maker, tools))
      say(`${condition.name}: declared ${report.empty.at(-1)!.declared}`)
    }
  } finally {
    await Promise.all([maker.close(), tools.prompts.close(), tools.ear.close()])
    rmSync(dataDir, { recursive: true })
  }
  return report
}

interface Tools {
  dataDir: string
  prompts: Prompts
  ear: Moonshine
}

async function heardOf(
  condition: Condition,
  count: number,
  maker: CallMaker,
  tools: Tools,
  say: (line: string) => void,
): Promise<ConditionResult> {
  const result: ConditionResult = {
    name: condition.name,
    isQuiet: condition.isQuiet,
    calls: count,
    words: 0,
    errors: 0,
    errorsByHand: 0,
    lostAtBegin: 0,
    lostAtEnd: 0,
    gone: 0,
    unheard: 0,
    cutAtBeginMs: 0,
    cutAtEndMs: 0,
  }
  for (let number = 0; number < count; number++) {
    const call = await maker.make(condition, number)
    const heard = await hear(call, tools)
    const said = wordsOf(call.text)
    const byChain = compare(said, wordsOf(heard.text))
    const heardByHand = await hearByHand(call, heard.sent, tools.ear)
    const byHand = compare(said, wordsOf(heardByHand))
    const lostAtBegin = Math.max(0, byChain.missingAtBegin - byHand.missingAtBegin)
    const lostAtEnd = Math.max(0, byChain.missingAtEnd - byHand.missingAtEnd)
    result.words += said.length
    result.errors += byChain.errors
    result.errorsByHand += byHand.errors
    result.lostAtBegin += lostAtBegin
    result.lostAtEnd += lostAtEnd
    result.gone +=
      Math.max(0, byChain.goneAtBegin - byHand.goneAtBegin) + Math.max(0, byChain.goneAtEnd - byHand.goneAtEnd)
    if (heard.text === '') result.unheard++
    const { beginMs, endMs } = cutOf(call, heard)
    if (lostAtBegin + lostAtEnd + beginMs + endMs > 0) {
      say(`  call ${number}: said "${call.text}", heard "${heard.text}", by hand "${heardByHand}"`)
    }
    result.cutAtBeginMs = Math.max(result.cutAtBeginMs, beginMs)
    result.cutAtEndMs = Math.max(result.cutAtEndMs, endMs)
  }
  return result
}

async function hearByHand(call: LabelledCall, sent: Int16Array, ear: Moonshine): Promise<string> {
  const cut = sent.slice(Math.max(0, call.from - BY_HAND_MARGIN), call.to + BY_HAND_MARGIN)
  const answer = await ear.transcribe(overTheLine(cut), null)
  if ('error' in answer) throw new Error(answer.error)
  return answer.text
}

async function emptyOf(condition: Condition, maker: CallMaker, tools: Tools): Promise<EmptyResult> {
  const call = await maker.make(condition, 0)
  const heard = await hear(call, tools)
  const lengthMs = call.answer!.length / 8
  return {
    name: condition.name,
    declared: heard.declared,
    heardShare: heard.answerHeard ?? 0,
    tookShare: heard.answerMs === null ? null : heard.answerMs / lengthMs,
    words: heard.text,
  }
}
