import type { CompiledFlow } from './compiled-flow.ts'

export interface Coverage {
  node_pct: number
  transition_pct: number
  visited_node_keys: string[]
  unvisited_node_keys: string[]
  node_count: number
  transition_count: number
}

/** Names a transition for `takenTransitions`: its node and its key, which is unique only beside the node. */
export const exitName = (nodeKey: string, key: string): string => JSON.stringify([nodeKey, key])

/** How much of the graph a simulation has seen; `takenTransitions` holds `exitName`s. */
export function coverageOf(
  flow: CompiledFlow,
  visitedNodes: readonly string[],
  takenTransitions: readonly string[],
): Coverage {
  const [visited, taken] = [new Set(visitedNodes), new Set(takenTransitions)]
  const keys = [...flow.nodes.keys()]
  const names = [...flow.exits.values()].flat().map(exit => exitName(exit.nodeKey, exit.key))
  const seen = keys.filter(key => visited.has(key))
  return {
    node_pct: percent(seen.length, keys.length),
    transition_pct: percent(names.filter(name => taken.has(name)).length, names.length),
    visited_node_keys: seen,
    unvisited_node_keys: keys.filter(key => !visited.has(key)),
    node_count: keys.length,
    transition_count: names.length,
  }
}

/** With one decimal; 100 if there is nothing to see. */
const percent = (part: number, whole: number): number => (whole === 0 ? 100 : Math.round((part / whole) * 1000) / 10)
