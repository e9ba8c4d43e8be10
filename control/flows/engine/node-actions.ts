import type { ActionKind } from './effects.ts'
import type { FlowNode, FlowValue } from './graph.ts'
import { typeOf } from './node-types.ts'

/** How a node of this kind is reported, and requested from the effects. */
export function actionOf(node: FlowNode): { kind: ActionKind; name: string } {
  const action = typeOf(node)?.action
  if (action !== undefined) return { kind: action.kind, name: node.target?.type ?? node.type }
  return { kind: node.action?.kind ?? 'tool', name: node.action?.name ?? '' }
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
