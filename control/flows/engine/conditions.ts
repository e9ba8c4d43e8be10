import { compileSpoken } from '../../kernel/pattern.ts'
import type { Condition, FlowValue } from './graph.ts'
import { type FlowVariables, variableValue } from './template.ts'

/** The caller's input. */
export type CallerInput =
  | { kind: 'speech'; text: string }
  | { kind: 'dtmf'; digits: string }
  | { kind: 'no_response' }
  | { kind: 'hangup' }

/** The values that conditions test. */
export interface Facts {
  input: CallerInput | null
  variables: FlowVariables
  /** Outcome of this node's action, transfer or payment; `done`: a model has reached its goal. */
  outcome: string | null
  isOpen: boolean
}

interface ConditionKind {
  /** The fields without which it can never hold; `a|b`: one of them. */
  needs?: readonly string[]
}

/** Every condition kind. */
export const CONDITION_KINDS: Readonly<Record<string, ConditionKind>> = {
  always: {},
  dtmf: { needs: ['digits'] },
  match: { needs: ['phrases|pattern'] },
  expression: { needs: ['left', 'op', 'right'] },
  filled: { needs: ['variable'] },
  no_response: {},
  no_match: {},
  outcome: { needs: ['value'] },
  schedule: { needs: ['open'] },
  intent: { needs: ['description|examples'] },
  global: { needs: ['digits|phrases|pattern|description|examples'] },
  else: {},
}

/** Kinds that take whatever the others left. */
export const FALLBACKS: readonly string[] = ['always', 'no_match', 'else']

/** Whether a deterministic condition holds. The engine decides on `intent`, `no_response` and the fallbacks, which depend on the order of trial. */
export function holds(condition: Condition, facts: Facts): boolean {
  switch (condition.kind) {
    case 'dtmf':
      return facts.input?.kind === 'dtmf' && facts.input.digits === condition.digits
    case 'match':
      return saidMatches(condition, facts.input)
    case 'global':
      return (
        (facts.input?.kind === 'dtmf' && facts.input.digits === condition.digits) || saidMatches(condition, facts.input)
      )
    case 'expression':
      return compare(
        variableValue(facts.variables, condition.left ?? ''),
        condition.op ?? 'eq',
        condition.right ?? null,
      )
    case 'filled': {
      const value = variableValue(facts.variables, condition.variable ?? '')
      return value !== null && value !== ''
    }
    case 'outcome':
      return facts.outcome !== null && facts.outcome === condition.value
    case 'schedule':
      return condition.open === facts.isOpen
    default:
      return false
  }
}

function saidMatches(condition: Condition, input: CallerInput | null): boolean {
  if (input?.kind !== 'speech' && input?.kind !== 'dtmf') return false
  const said = input.kind === 'speech' ? input.text : input.digits
  const plain = ` ${plainWords(said)} `
  const phrase = condition.phrases?.some(words => {
    const wanted = plainWords(words)
    return wanted !== '' && plain.includes(` ${wanted} `)
  })
  return phrase === true || patternOccurs(condition.pattern, said)
}

function patternOccurs(source: string | undefined, text: string): boolean {
  if (source === undefined || source === '') return false
  const pattern = compileSpoken(source)
  return typeof pattern !== 'string' && pattern.test(text)
}

/** Words in lower case with one space between them, without punctuation, in any language. */
export const plainWords = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()

/** Compares numbers, and texts that are numbers, as numbers; everything else as text, ignoring case. */
function compare(left: FlowValue, op: NonNullable<Condition['op']>, right: FlowValue): boolean {
  const [a, b] = [asNumber(left), asNumber(right)]
  const numeric = a !== null && b !== null
  const [x, y] = [String(left ?? '').toLowerCase(), String(right ?? '').toLowerCase()]
  switch (op) {
    case 'eq':
      return numeric ? a === b : x === y
    case 'ne':
      return numeric ? a !== b : x !== y
    case 'gt':
      return numeric && a > b
    case 'gte':
      return numeric && a >= b
    case 'lt':
      return numeric && a < b
    case 'lte':
      return numeric && a <= b
    case 'contains':
      return x.includes(y)
    case 'starts_with':
      return x.startsWith(y)
    case 'ends_with':
      return x.endsWith(y)
  }
}

function asNumber(value: FlowValue): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null
}
