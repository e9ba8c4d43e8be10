import type { FlowKind, FlowNode } from './graph.ts'

/** What the engine does at a node. */
export type Behaviour = 'pass' | 'speak' | 'play' | 'listen' | 'converse' | 'set' | 'act' | 'end'

interface NodeType {
  behaviour: Behaviour
  /** The call may end here: no transition is needed. */
  final?: true
  /** The fields without which the node cannot do its work; `a|b`: one of them; `a.b`: nested. */
  needs?: readonly string[]
  /** What its `target` may be; absent: it has none. */
  targets?: readonly NonNullable<FlowNode['target']>['type'][]
  /** Absent: every kind of flow. */
  kinds?: readonly FlowKind[]
}

/** Every node type (api-additions.md, "Flow graph"). */
export const NODE_TYPES: Readonly<Record<string, NodeType>> = {
  start: { behaviour: 'pass' },
  say: { behaviour: 'speak', needs: ['script|asset_id'] },
  question: { behaviour: 'listen', needs: ['script|asset_id'] },
  ai: { behaviour: 'converse', needs: ['ai.goal'], kinds: ['voice', 'agent_script'] },
  menu: { behaviour: 'listen', needs: ['script|asset_id'] },
  collect: { behaviour: 'listen', needs: ['script|asset_id', 'save_as'] },
  branch: { behaviour: 'pass' },
  set: { behaviour: 'set', needs: ['set'] },
  action: { behaviour: 'act', needs: ['action.name'] },
  transfer: {
    behaviour: 'act',
    final: true,
    needs: ['target'],
    targets: ['queue', 'user', 'assistant', 'flow', 'room', 'number', 'sip'],
  },
  voicemail: { behaviour: 'act', final: true, targets: ['queue', 'user'] },
  callback: { behaviour: 'act', final: true, targets: ['queue', 'user', 'assistant'] },
  payment: { behaviour: 'act', needs: ['payment.amount'], targets: ['number', 'sip'] },
  play: { behaviour: 'play', needs: ['asset_id'] },
  end: { behaviour: 'end', final: true },
  step: { behaviour: 'listen', needs: ['script'], kinds: ['agent_script'] },
}

export const typeOf = (node: FlowNode): NodeType | undefined =>
  Object.hasOwn(NODE_TYPES, node.type) ? NODE_TYPES[node.type] : undefined

/** Whether the call waits for the caller here, so that a cycle through the node cannot run by itself. */
export const takesInput = (node: FlowNode): boolean => {
  const behaviour = typeOf(node)?.behaviour
  return behaviour === 'listen' || behaviour === 'converse'
}
