import { isModelFailure } from '../../models/model.ts'
import { soundDistance } from '../sounds.ts'
import type { CompiledFlow, Exit } from './compiled-flow.ts'
import { type Facts, holds } from './conditions.ts'
import type { FlowEffects } from './effects.ts'
import type { FlowNode } from './graph.ts'
import type { FlowState } from './state.ts'

export interface Chosen {
  exit: Exit
  via: string
}

/** What an exit is chosen by: a node that is passed, or the caller's input at a node. */
export interface Choice {
  flow: CompiledFlow
  node: FlowNode
  state: FlowState
  facts: Facts
  /** Whether a model may see the words. */
  mayJudge: boolean
}

const chosen = (exit: Exit | undefined): Chosen | null =>
  exit === undefined ? null : { exit, via: exit.transition.condition.kind }

const exitsAt = ({ flow, node }: Choice): readonly Exit[] => flow.exits.get(node.key) ?? []

/** The first exit of this kind. */
export const exitOf = (choice: Choice, kind: string): Chosen | null =>
  chosen(exitsAt(choice).find(exit => exit.transition.condition.kind === kind))

/** The first exit whose deterministic condition holds: the node's own in order, then global ones. */
export function factualExit(choice: Choice): Chosen | null {
  const { flow, facts } = choice
  const own = exitsAt(choice).filter(exit => exit.transition.condition.kind !== 'global')
  return chosen(
    [...own, ...(facts.input === null ? [] : flow.globals)].find(exit => holds(exit.transition.condition, facts)),
  )
}

/** The exit whose phrase sounds most like the words, since speech recognition may mishear single words. Null: none, or two are equally close. */
export function soundAlikeExit(choice: Choice): Chosen | null {
  const { input } = choice.facts
  if (input?.kind !== 'speech') return null
  let nearest: Exit[] = []
  let least = Number.POSITIVE_INFINITY
  for (const exit of exitsAt(choice)) {
    const { kind, phrases = [] } = exit.transition.condition
    if (kind !== 'match') continue
    const distances = phrases.flatMap(phrase => soundDistance(input.text, phrase) ?? [])
    const distance = Math.min(...distances, Number.POSITIVE_INFINITY)
    if (distance < least) nearest = []
    if (distance <= least && distances.length > 0) nearest.push(exit)
    least = Math.min(least, distance)
  }
  return nearest.length === 1 ? chosen(nearest[0]) : null
}

/** The exit that a model finds in the caller's words; null: none, or the model has not answered. The fallbacks are tried next. */
export async function judgedExit(choice: Choice, effects: FlowEffects): Promise<Chosen | null> {
  const { flow, facts, state, mayJudge } = choice
  if (facts.input?.kind !== 'speech' || !mayJudge) return null
  const intents = exitsAt(choice).filter(exit => exit.transition.condition.kind === 'intent')
  const open = [...intents, ...flow.globals].filter(
    ({ transition: { condition } }) => condition.description || condition.examples,
  )
  if (open.length === 0) return null
  const judged = await effects.model.judge({
    text: facts.input.text,
    intents: open.map(({ transition: { condition } }) => ({
      description: condition.description ?? '',
      examples: condition.examples ?? [],
    })),
    history: state.history,
  })
  return isModelFailure(judged) || judged.intent === null ? null : chosen(open[judged.intent])
}
