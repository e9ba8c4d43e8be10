import { type NodeType, TARGET_TYPES } from './node-type.ts'

/** Every node type. Engine, validation, simulation and the API's documentation read it. */
export const NODE_TYPES: Readonly<Record<string, NodeType>> = {
  start: { means: 'where the call begins', behaviour: 'pass' },
  say: { means: 'says something', behaviour: 'speak', needs: ['script|asset_id'] },
  question: { means: 'asks, and hears the answer', behaviour: 'listen', needs: ['script|asset_id'] },
  ai: {
    means: 'a model talks with the caller until the goal is reached',
    behaviour: 'converse',
    needs: ['ai.goal'],
    kinds: ['voice', 'agent_script'],
  },
  menu: { means: 'offers keys or words', behaviour: 'listen', needs: ['script|asset_id'] },
  collect: {
    means: 'asks for something and keeps it in a variable',
    behaviour: 'listen',
    needs: ['script|asset_id', 'save_as'],
  },
  branch: { means: 'goes on by conditions', behaviour: 'pass' },
  set: { means: 'sets variables', behaviour: 'set', needs: ['set'] },
  action: { means: 'calls a server or a tool', behaviour: 'act', needs: ['action.name'] },
  transfer: {
    means: 'gives the call to its target',
    behaviour: 'act',
    final: true,
    needs: ['target'],
    targets: TARGET_TYPES,
    action: { kind: 'transfer', simulated: 'completed', ends: 'transfer' },
  },
  voicemail: {
    means: 'takes a message',
    behaviour: 'act',
    final: true,
    targets: ['queue', 'user'],
    action: { kind: 'voicemail', simulated: 'recorded', ends: 'voicemail' },
  },
  callback: {
    means: 'books a callback',
    behaviour: 'act',
    final: true,
    targets: ['queue', 'user', 'assistant'],
    action: { kind: 'callback', simulated: 'booked', ends: 'callback' },
  },
  payment: {
    means: 'brings in a payment line, which alone hears the keys',
    behaviour: 'act',
    needs: ['payment.amount'],
    reads: ['payment'],
    targets: ['number', 'sip'],
    action: { kind: 'payment', simulated: 'paid' },
  },
  play: { means: 'plays an audio asset', behaviour: 'play', needs: ['asset_id'] },
  end: { means: 'hangs up, with a last word where it has one', behaviour: 'end', final: true },
  step: {
    means: "a step of an agent's script",
    behaviour: 'listen',
    needs: ['script'],
    kinds: ['agent_script'],
  },
}

/** Text that lists the node types and what each does. */
export const describeNodeTypes = (): string =>
  Object.entries(NODE_TYPES)
    .map(([type, { means, kinds }]) => `${type}${kinds === undefined ? '' : ` (${kinds.join(', ')})`}: ${means}`)
    .join('; ')

export const typeOf = (node: { type: string }): NodeType | undefined =>
  Object.hasOwn(NODE_TYPES, node.type) ? NODE_TYPES[node.type] : undefined

/** Whether the call waits for the caller here, so that a cycle through the node cannot run by itself. */
export const takesInput = (node: { type: string }): boolean => {
  const behaviour = typeOf(node)?.behaviour
  return behaviour === 'listen' || behaviour === 'converse'
}
