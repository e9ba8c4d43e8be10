import { CONDITION_KINDS } from './engine/conditions.ts'
import type { Condition, FlowNode } from './engine/graph.ts'
import type { Behaviour } from './engine/node-type.ts'
import { typeOf } from './engine/node-types.ts'

const SPOKEN = ['script', 'asset_id']
const HEARD = ['input', 'save_as']

/** Fields that the engine reads at a node of this behaviour, besides its key, type, label and transitions. */
const READ: Readonly<Record<Behaviour, readonly string[]>> = {
  pass: [],
  speak: SPOKEN,
  play: SPOKEN,
  listen: [...SPOKEN, ...HEARD],
  converse: [...SPOKEN, ...HEARD, 'ai'],
  set: ['set'],
  act: [...SPOKEN, 'action', 'save_as'],
  end: SPOKEN,
}
const ALWAYS_READ = ['key', 'type', 'label', 'transitions']

const isThere = ([, value]: [string, unknown]): boolean => value !== undefined && value !== null
const fieldsOf = (holder: object): string[] =>
  Object.entries(holder)
    .filter(isThere)
    .map(([field]) => field)

/** Fields of a node that have no effect. */
export function unusedFields(node: FlowNode): string[] {
  const type = typeOf(node)
  if (type === undefined) return []
  const { behaviour, reads = [], targets } = type
  const read = [...ALWAYS_READ, ...READ[behaviour], ...reads, ...(targets === undefined ? [] : ['target'])]
  return fieldsOf(node).filter(field => !read.includes(field))
}

/** Fields of a condition that have no effect. */
export function unusedOfCondition(condition: Condition): string[] {
  const kind = Object.hasOwn(CONDITION_KINDS, condition.kind) ? CONDITION_KINDS[condition.kind] : undefined
  if (kind === undefined) return []
  const read = ['kind', ...(kind.needs ?? []).flatMap(need => need.split('|'))]
  return fieldsOf(condition).filter(field => !read.includes(field))
}
