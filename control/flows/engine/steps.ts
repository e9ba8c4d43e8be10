import type { ActionKind } from './effects.ts'
import type { FlowValue } from './graph.ts'

/** Reports of a run, with sensitive values redacted. */
export type FlowStep =
  | { step: 'node'; entry: PathEntry }
  | { step: 'turn'; entry: TurnEntry }
  | { step: 'action'; entry: ActionEntry }

export interface PathEntry {
  from_node_key: string | null
  node_key: string
  node_type: string
  transition_key: string | null
  /** `start`, or the kind of the condition that fired. */
  via: string
}

export interface TurnEntry {
  node_key: string
  role: 'assistant' | 'customer'
  source: 'script' | 'speech' | 'dtmf' | 'ai' | 'tool'
  text: string
}

export interface ActionEntry {
  node_key: string
  kind: ActionKind
  name: string
  input: Record<string, FlowValue>
  output: FlowValue
  dry_run: boolean
  status: 'succeeded' | 'failed'
}
