import type { GraphInput, Transition } from '../engine/graph.ts'
import type { FlowKind } from '../engine/node-type.ts'

/**
 * A flow to start with. It works unchanged: facts about the organisation are variables, and if one is empty the flow takes
 * another way. `graph.variables[].sample` is the value at the start of a call.
 */
export interface FlowTemplate {
  id: string
  name: string
  description: string
  kind: FlowKind
  graph: GraphInput
}

export const always = (next: string): Transition => ({ condition: { kind: 'always' }, next })
export const otherwise = (next: string): Transition => ({ condition: { kind: 'else' }, next })
export const filled = (variable: string, next: string): Transition => ({
  condition: { kind: 'filled', variable },
  next,
})
export const outcome = (value: string, next: string): Transition => ({ condition: { kind: 'outcome', value }, next })
export const schedule = (open: boolean, next: string): Transition => ({ condition: { kind: 'schedule', open }, next })
export const keys = (digits: string, next: string): Transition => ({ condition: { kind: 'dtmf', digits }, next })
export const says = (phrases: string[], next: string): Transition => ({ condition: { kind: 'match', phrases }, next })

/** A key, or the words for it. */
export const picks = (digits: string, phrases: string[], next: string): Transition[] => [
  keys(digits, next),
  says(phrases, next),
]

/** Nodes that several templates end with: a callback is booked, and when it cannot be, the caller hears so. */
export const CALLBACK_NODES: GraphInput['nodes'] = [
  {
    key: 'callback',
    type: 'callback',
    script: 'We will call you back on the number that you are calling from.',
    transitions: [outcome('booked', 'booked'), otherwise('not_booked')],
  },
  { key: 'booked', type: 'end', script: 'You will hear from us. Goodbye.' },
  { key: 'not_booked', type: 'end', script: 'I am sorry, that did not work. Please call us again later. Goodbye.' },
]
