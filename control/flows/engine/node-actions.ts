import type { ActionKind } from './effects.ts'
import type { FlowNode, FlowValue } from './graph.ts'
import type { EndReason } from './state.ts'

/** How the call ends where the node leads nowhere on. */
export const ENDS_AS: Readonly<Partial<Record<string, EndReason>>> = {
  transfer: 'transfer',
  voicemail: 'voicemail',
  callback: 'callback',
}

/** What a node of this kind is reported as, and asked of the effects. */
export function actionOf(node: FlowNode): { kind: ActionKind; name: string } {
  switch (node.type) {
    case 'transfer':
    case 'voicemail':
    case 'callback':
    case 'payment':
      return { kind: node.type, name: node.target?.type ?? node.type }
    default:
      return { kind: node.action?.kind ?? 'tool', name: node.action?.name ?? '' }
  }
}

/** The parameters of the node's action, each value passed through `each`. */
export function actionInput(node: FlowNode, each: (value: FlowValue) => FlowValue): Record<string, FlowValue> {
  const { action, target, payment } = node
  const all: Record<string, FlowValue | undefined> = {
    ...action?.input,
    ...(target === undefined ? {} : { target_type: target.type, target_id: target.id }),
    ...payment,
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, each(value)]])),
  )
}
