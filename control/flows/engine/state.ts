import type { ModelLine } from '../../models/model.ts'
import type { FlowVariables } from './template.ts'

export type EndReason =
  | 'end_node'
  | 'transfer'
  | 'voicemail'
  | 'callback'
  | 'caller_hangup'
  | 'no_response_limit'
  | 'loop_limit'
  | 'error'

/** A run of a flow between two steps: plain JSON, so that it outlives the process. */
export interface FlowState {
  /** `replying`: the model's line is being made or said. */
  phase: 'new' | 'entering' | 'replying' | 'listening' | 'ended'
  nodeKey: string | null
  endReason: EndReason | null
  variables: FlowVariables
  /** How often the current node has asked again. */
  retries: number
  /** Number of lines of the model at the current node. */
  replies: number
  /** Nodes entered: in all, and since the caller was last heard. */
  nodes: number
  nodesSinceInput: number
  inputs: number
  /** The caller's keys since the last question are for somebody else, or follow an answer that did not fit. */
  forgetsAhead?: boolean
  /** What the model may know about the call, newest last. */
  history: ModelLine[]
  visitedNodes: string[]
  /** `exitName`s. */
  takenTransitions: string[]
}

/** The loop limits. A flow that exceeds one ends with `loop_limit`. */
export const LIMITS = { nodesSinceInput: 50, nodes: 1000, inputs: 500, repliesAtNode: 30, history: 40 } as const

/** The state of a call that has not begun, with the initial variables. */
export const newState = (variables: FlowVariables, forgetsAhead = false): FlowState => ({
  phase: 'new',
  nodeKey: null,
  endReason: null,
  variables,
  retries: 0,
  replies: 0,
  nodes: 0,
  nodesSinceInput: 0,
  inputs: 0,
  forgetsAhead,
  history: [],
  visitedNodes: [],
  takenTransitions: [],
})
