/** What the engine does at a node. */
export type Behaviour = 'pass' | 'speak' | 'play' | 'listen' | 'converse' | 'set' | 'act' | 'end'

export const FLOW_KINDS = ['voice', 'agent_script', 'ivr'] as const
export type FlowKind = (typeof FLOW_KINDS)[number]

export const TARGET_TYPES = ['queue', 'user', 'assistant', 'flow', 'room', 'number', 'sip'] as const

/** Effects of a node besides the actions and tools that customers name. */
export type NodeActionKind = 'transfer' | 'voicemail' | 'callback' | 'payment'

/** A node type. What its action does in a live call is in `control/assistants/actions/`. */
export interface NodeType {
  /** For the documentation of the API. */
  means: string
  behaviour: Behaviour
  /** The call may end here: no transition is needed. */
  final?: true
  /** Required fields; `a|b`: one of them; `a.b`: nested. */
  needs?: readonly string[]
  /** Fields that it reads in addition to those of its behaviour. */
  reads?: readonly string[]
  /** Allowed types of its `target`; absent: it has none. */
  targets?: readonly (typeof TARGET_TYPES)[number][]
  /** Absent: every kind of flow. */
  kinds?: readonly FlowKind[]
  /** For behaviour `act`. `simulated`: its outcome in a simulation. `ends`: how the call ends if the node leads nowhere. */
  action?: { kind: NodeActionKind; simulated: string; ends?: 'transfer' | 'voicemail' | 'callback' }
}
