import type { GraphInput, Transition } from '../engine/graph.ts'
import type { FlowKind } from '../engine/node-type.ts'

/**
 * A flow to start with. It works unchanged: facts about the organisation are variables, and the flow copes with empty ones.
 * `graph.variables[].sample` is the value at the start of a call.
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
const says = (phrases: string[], next: string): Transition => ({ condition: { kind: 'match', phrases }, next })

/** Transitions for a key, and for the words that mean the same. */
export const picks = (digits: string, phrases: string[], next: string): Transition[] => [
  keys(digits, next),
  says(phrases, next),
]

/** Final nodes of several templates: they book a callback, or tell the caller that it was not possible. */
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
