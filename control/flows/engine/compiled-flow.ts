import { CONDITION_KINDS } from './conditions.ts'
import { type FlowNode, type Graph, type Transition, transitionKey } from './graph.ts'
import { namesIn } from './template.ts'

/** A transition with its node and key. */
export interface Exit {
  /** The node that declares it. */
  nodeKey: string
  key: string
  transition: Transition
}

/** A graph prepared for running. What a draft lacks is handled during the run, never by an exception. */
export interface CompiledFlow {
  graph: Graph
  /** If nodes share a key, the first. */
  nodes: ReadonlyMap<string, FlowNode>
  start: FlowNode | null
  exits: ReadonlyMap<string, readonly Exit[]>
  /** Exits of kind `global`: they are open wherever the caller is heard. */
  globals: readonly Exit[]
  /** Names of variables whose values are never shown. */
  sensitive: ReadonlySet<string>
  /** It asks for something that is never shown. */
  asksSecret: boolean
}

export function compileFlow(graph: Graph): CompiledFlow {
  const nodes = new Map<string, FlowNode>()
  for (const node of graph.nodes) if (!nodes.has(node.key)) nodes.set(node.key, node)
  const exits = new Map([...nodes.values()].map(node => [node.key, exitsOf(node)]))
  const declared = graph.variables.filter(variable => variable.sensitive === true).map(variable => variable.name)
  const entered = graph.nodes.flatMap(node => (node.input?.sensitive && node.save_as ? [node.save_as] : []))
  const sensitive = copiesOf(new Set([...declared, ...entered]), graph)
  return {
    graph,
    nodes,
    start: graph.nodes.find(node => node.type === 'start') ?? null,
    exits,
    globals: [...exits.values()].flat().filter(exit => exit.transition.condition.kind === 'global'),
    sensitive,
    asksSecret: graph.nodes.some(node => hidesInput({ sensitive }, node)),
  }
}

/** These names, and those that a `set` node copies their values to. */
function copiesOf(names: Set<string>, graph: Graph): Set<string> {
  const copies = graph.nodes.flatMap(node =>
    Object.entries(node.set ?? {}).map(([name, value]) => ({ name, from: namesIn(String(value)) })),
  )
  for (let size = -1; size !== names.size; ) {
    size = names.size
    for (const { name, from } of copies) if (from.some(source => names.has(source))) names.add(name)
  }
  return names
}

/** Whether the answer at this node is sensitive, because of the node or its variable. */
export const hidesInput = ({ sensitive }: Pick<CompiledFlow, 'sensitive'>, node: FlowNode): boolean =>
  node.input?.sensitive === true || (node.save_as !== undefined && sensitive.has(node.save_as))

function exitsOf(node: FlowNode): Exit[] {
  return (node.transitions ?? [])
    .map((transition, index) => ({ nodeKey: node.key, key: transitionKey(node, index), transition }))
    .filter(exit => Object.hasOwn(CONDITION_KINDS, exit.transition.condition.kind))
}
