import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Prompts } from '../../media/engine/prompts.ts'
import { Moonshine } from '../../media/speech/moonshine/moonshine.ts'
import { caseLine, cutOf, insideOf } from './cases.ts'
import { hear, overTheLine } from './chain.ts'
import { CallMaker, CONDITIONS, type Condition, EMPTY_CONDITIONS, type LabelledCall } from './labelled-calls.ts'
import { compare, wordsOf } from './score.ts'
import type { SentenceSet } from './sentences.ts'

/** Audio kept around a sentence that is cut out by its labels [samples]. */
const BY_HAND_MARGIN = 1600

/** The results of the calls of one condition. */
export interface ConditionResult {
  name: string
  isQuiet: boolean
  calls: number
  /** Number of words that were said, and of wrong ones. */
  words: number
  errors: number
  /** Of these, those between the first and the last word that was heard right. */
  inside: number
  /** Wrong words if the same recogniser gets the sentences cut out of the call by their labels ("by hand"). */
  errorsByHand: number
  /** Words missing at the beginnings and ends of sentences that the recogniser did not miss in those cut by hand. */
  lostAtBegin: number
  lostAtEnd: number
  /**
   * The opposite: words that were recognised, but missed in the sentences cut by hand. If these are as frequent, the recogniser itself varies.
   */
  won: number
  /** Lost words in whose place nothing was heard: they were cut off, not misheard. */
  gone: number
  /** Calls of which nothing was heard. */
  unheard: number
  /** Voice that is in no utterance, at the beginning and at the end, in the worst call [ms]. */
  cutAtBeginMs: number
  cutAtEndMs: number
}

/** The result of a condition in which nobody speaks. */
export interface EmptyResult {
  name: string
  /** How often the start of speech was reported in half a minute. */
  declared: number
  /** Share of our announcement that was played, and the time that took as a share of its length; null: it never ended. */
  heardShare: number
  tookShare: number | null
  words: string
}

export interface HearingReport {
  set: SentenceSet
  conditions: ConditionResult[]
  empty: EmptyResult[]
}

/** Runs labelled calls through the hearing chain, `count` of each wanted condition. */
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
      const { name, words, lostAtBegin, lostAtEnd, won, gone, unheard, cutAtBeginMs, cutAtEndMs } = result
      const cut = `${cutAtBeginMs}+${cutAtEndMs} ms cut`
      say(
        `${set}, ${name}: lost ${lostAtBegin} + ${lostAtEnd} of ${words} words (${gone} gone; won ${won}), ${unheard} unheard, ${cut}`,
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

const nothingYet = ({ name, isQuiet }: Condition, calls: number): ConditionResult => ({
  name,
  isQuiet,
  calls,
  words: 0,
  errors: 0,
  inside: 0,
  errorsByHand: 0,
  lostAtBegin: 0,
  lostAtEnd: 0,
  won: 0,
  gone: 0,
  unheard: 0,
  cutAtBeginMs: 0,
  cutAtEndMs: 0,
})

async function heardOf(
  condition: Condition,
  count: number,
  maker: CallMaker,
  tools: Tools,
  say: (line: string) => void,
): Promise<ConditionResult> {
  const result = nothingYet(condition, count)
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
    result.inside += insideOf(byChain)
    result.errorsByHand += byHand.errors
    result.lostAtBegin += lostAtBegin
    result.lostAtEnd += lostAtEnd
    result.won +=
      Math.max(0, byHand.missingAtBegin - byChain.missingAtBegin) +
      Math.max(0, byHand.missingAtEnd - byChain.missingAtEnd)
    result.gone +=
      Math.max(0, byChain.goneAtBegin - byHand.goneAtBegin) + Math.max(0, byChain.goneAtEnd - byHand.goneAtEnd)
    if (heard.text === '') result.unheard++
    const { beginMs, endMs } = cutOf(call, heard)
    const line = caseLine({ call, heard, byHand: heardByHand }, byChain)
    if (line !== null) say(`  call ${number}: ${line}`)
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
