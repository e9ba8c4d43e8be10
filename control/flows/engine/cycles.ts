import type { CompiledFlow } from './compiled-flow.ts'
import type { FlowNode } from './graph.ts'
import { takesInput } from './node-types.ts'

/** The targets of a node's transitions. If it hears the caller, also those of kind `global`. */
function nextOf(flow: CompiledFlow, node: FlowNode): string[] {
  const own = flow.exits.get(node.key) ?? []
  const open = takesInput(node) ? [...own, ...flow.globals] : own.filter(exit => !flow.globals.includes(exit))
  return open.flatMap(({ transition: { next } }) => (next !== null && flow.nodes.has(next) ? [next] : []))
}

/** Keys of the nodes that can be reached from the start. */
export const reachable = (flow: CompiledFlow): Set<string> =>
  walk(flow.start === null ? [] : [flow.start.key], key => {
    const node = flow.nodes.get(key)
    return node === undefined ? [] : nextOf(flow, node)
  })

/** The nodes that lead back to themselves without waiting for the caller. */
export function cyclesWithoutInput(flow: CompiledFlow): FlowNode[] {
  const running = [...flow.nodes.values()].filter(node => !takesInput(node))
  const ahead = new Map(running.map(node => [node.key, [...new Set(nextOf(flow, node))]]))
  const from = (key: string): string[] => ahead.get(key) ?? []
  return running.filter(node => walk(from(node.key), from).has(node.key))
}

function walk(first: string[], next: (key: string) => string[]): Set<string> {
  const seen = new Set<string>()
  const todo = [...first]
  for (let key = todo.pop(); key !== undefined; key = todo.pop()) {
    if (seen.has(key)) continue
    seen.add(key)
    todo.push(...next(key))
  }
  return seen
}
