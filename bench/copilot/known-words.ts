import { setTimeout as sleep } from 'node:timers/promises'
import type { Product } from '../product.ts'
import type { RestClient } from '../rest-client.ts'
import { type Half, type LabelledCall, labelsOf, textOf } from './calls/labelled-call.ts'
import { copilotInSandbox } from './fed-text.ts'
import { differences, labelsTold, profileOf, type Score, score } from './score.ts'

export interface KnownWords {
  half: Half['name']
  /** From the request with the words of a turn to its answer, by which everything is stored [ms]. */
  tookMs: number[]
  /** The score of each call, with its profile's language. */
  scores: { call: string; language: string; score: Score; differences: string[] }[]
}

/** Pause between turns, so that the rate limit of the key is not exceeded [ms]. */
const PAUSE_MS = 25

/** Runs all calls of a half as text, through the API's test helper: everything except speech recognition. */
export async function benchKnownWords(product: Product, half: Half): Promise<KnownWords> {
  const result: KnownWords = { half: half.name, tookMs: [], scores: [] }
  for (const call of half.calls) {
    const profile = profileOf(half, call)
    const { rest, id } = await copilotInSandbox(product, withoutModel(profile))
    result.tookMs.push(...(await feed(rest, id, call)))
    const messages = await rest.all(`/copilot_sessions/${id}/messages`)
    const wanted = wantedOf(call, new Date())
    const told = labelsTold(messages, profile)
    const { language } = profile as { language: string }
    result.scores.push({
      call: call.name,
      language,
      score: score(wanted, told),
      differences: differences(wanted, told),
    })
  }
  return result
}

export const wantedOf = (call: LabelledCall, today: Date): string[] =>
  call.turns.flatMap(({ lines }) => lines.flatMap(line => labelsOf(line, today)))

/** The profile without a language model, whose results are not measured here. */
export const withoutModel = (profile: object): object => ({ ...profile, model: { deep_path: false } })

async function feed(rest: RestClient, sessionId: string, { turns }: LabelledCall): Promise<number[]> {
  const tookMs: number[] = []
  for (const { party, lines } of turns) {
    const utterances = [{ party, text: lines.map(textOf).join(' ') }]
    const from = performance.now()
    await rest.ok('POST', `/test_helpers/copilot/${sessionId}/utterances`, { utterances })
    tookMs.push(performance.now() - from)
    await sleep(PAUSE_MS)
  }
  return tookMs
}
