import { machineLine, table } from '../tables.ts'
import type { AnswersReport } from './run.ts'

/** The report as text. */
export function formatAnswersReport({
  commit,
  machine,
  tallies,
  firstMs,
  othersMs,
  memoryBytes,
}: AnswersReport): string {
  const rows = [['', 'questions', 'right', 'wrong', 'honest']]
  for (const { half, way, right, wrong, honest } of tallies) {
    const name = `${half === 'seen' ? 'looked at while building' : 'not looked at'}, ${WAYS[way]}`
    rows.push([name, right + wrong + honest, right, wrong, honest].map(String))
  }
  const sorted = othersMs.toSorted((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)
  return [
    machineLine(commit, machine),
    '',
    'an assistant without a model, asked as callers ask, of five small knowledge bases; honest: it says that it does not know',
    ...table(rows),
    '',
    `an answer takes ${at(0.5)} ms (p50), ${at(0.99)} ms (p99); the first, which reads the word vectors, ${firstMs.toFixed(0)} ms and ${(memoryBytes / 1e6).toFixed(0)} MB`,
  ].join('\n')
}

const WAYS = { said: 'as written', heard: 'as the offline ear heard them' } as const
