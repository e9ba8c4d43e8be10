import type { Half, LabelledCall } from './calls/labelled-call.ts'

/** A copilot message of the API, with the fields used here. */
export interface Message {
  id: string
  type: string
  /** The utterances whose words caused it. */
  utterance_ids: string[]
  replaces: string | null
  withdraws: string | null
  // biome-ignore lint/suspicious/noExplicitAny: each type has a body of its own
  data: any
}

/**
 * The expected messages, those that were shown and still current at the end, and their intersection, by kind of label.
 */
export type Score = Record<string, { wanted: number; told: number; right: number }>

interface Settings {
  stages: { key: string }[]
  compliance: { forbidden_phrases: { phrase: string }[] }
}

const BY_WORDS = ['phrase', 'customer_asks_for_supervisor']

/** The label that a message corresponds to; null: it is not caused by words. */
export function labelOf({ type, data }: Message, profile: object): string | null {
  const { stages, compliance } = profile as Settings
  switch (type) {
    case 'checklist':
      return `item:${data.stage}/${data.key}`
    // Every call begins in the first stage, without any words.
    case 'stage':
      return data.key === stages[0]?.key ? null : `stage:${data.key}`
    case 'objection':
      return `objection:${data.key}`
    case 'field':
      return `field:${data.key}=${data.value}`
    case 'alert':
      return BY_WORDS.includes(data.kind) ? `alert:${data.key}` : null
    case 'compliance':
      if (data.kind === 'required_disclosure') return data.status === 'said' ? `disclosure:${data.key}` : null
      return `forbidden:${compliance.forbidden_phrases.findIndex(({ phrase }) => phrase === data.phrase)}`
    default:
      return null
  }
}

/** The labels of the messages that are still current at the end, and of all stages: those count even after the next one. */
export function labelsTold(messages: readonly Message[], profile: object): string[] {
  const holding = new Map<string, string>()
  const stages = new Set<string>()
  for (const message of messages) {
    const { id, replaces, withdraws } = message
    for (const gone of [replaces, withdraws]) if (gone !== null) holding.delete(gone)
    const label = withdraws === null ? labelOf(message, profile) : null
    if (label?.startsWith('stage:')) stages.add(label)
    else if (label !== null) holding.set(id, label)
  }
  return [...stages, ...holding.values()]
}

export function score(wanted: readonly string[], told: readonly string[]): Score {
  const result: Score = {}
  const left = [...wanted]
  for (const label of wanted) kindIn(result, label).wanted++
  for (const label of told) {
    const kind = kindIn(result, label)
    kind.told++
    const at = left.indexOf(label)
    if (at < 0) continue
    left.splice(at, 1)
    kind.right++
  }
  return result
}

const kindIn = (result: Score, label: string): Score[string] => {
  const kind = label.slice(0, label.indexOf(':'))
  result[kind] ??= { wanted: 0, told: 0, right: 0 }
  return result[kind]
}

export function sumOf(scores: readonly Score[]): Score {
  const sum: Score = {}
  for (const one of scores) {
    for (const [kind, { wanted, told, right }] of Object.entries(one)) {
      sum[kind] ??= { wanted: 0, told: 0, right: 0 }
      sum[kind].wanted += wanted
      sum[kind].told += told
      sum[kind].right += right
    }
  }
  return sum
}

export const totalOf = (one: Score): Score[string] =>
  Object.values(one).reduce(
    (sum, { wanted, told, right }) => ({
      wanted: sum.wanted + wanted,
      told: sum.told + told,
      right: sum.right + right,
    }),
    { wanted: 0, told: 0, right: 0 },
  )

/** Missed and wrong messages, for developers to read. */
export function differences(wanted: readonly string[], told: readonly string[]): string[] {
  const [missed, wrong] = [[...wanted], [] as string[]]
  for (const label of told) {
    const at = missed.indexOf(label)
    if (at < 0) wrong.push(label)
    else missed.splice(at, 1)
  }
  return [...missed.map(label => `- ${label}`), ...wrong.map(label => `+ ${label}`)]
}

export const profileOf = (half: Half, call: LabelledCall): object => half.profiles[call.profile]!
