interface Node<T> {
  /** By the text of the next segment. */
  texts: Map<string, Node<T>>
  /** Of any text as the next segment. */
  any: Node<T> | null
  /** By method; `names`: of its parameters, in order. */
  leaves: Map<string, { names: string[]; value: T | undefined }>
}

const newNode = <T>(): Node<T> => ({ texts: new Map(), any: null, leaves: new Map() })

/** Longer parameters name nothing. */
const MAX_PARAM_LENGTH = 200
const AUTHORITY = /^https?:\/\/[^/]*/i

/** A request target in origin form, of one in origin or absolute form (RFC 9112 §3.2). */
export const originForm = (target: string): string => (target.startsWith('/') ? target : target.replace(AUTHORITY, ''))

/** The decoded segments of a request target, in either form; null: it cannot be decoded. */
export function segmentsOf(target: string): string[] | null {
  const end = target.search(/[?#]/)
  const path = end === -1 ? target : target.slice(0, end)
  const segments = originForm(path).split('/').slice(1)
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return null
  }
}

/**
 * What is served, by method and path; in paths a segment that begins with a colon is a parameter. Text is preferred to a parameter.
 * Fastify's own router generates code for each route, which would be the most part of the start.
 */
export class Paths<T> {
  readonly #root: Node<T> = newNode()

  add(methods: string | string[], path: string, value?: T): void {
    const segments = path.split('/').slice(1)
    const names = segments.filter(segment => segment.startsWith(':')).map(name => name.slice(1))
    const node = segments.reduce(childFor, this.#root)
    for (const method of [methods].flat()) {
      if (node.leaves.has(method)) throw new Error(`${method} ${path} is served twice`)
      node.leaves.set(method, { names, value })
    }
  }

  /** What takes a request with this method, and its parameters; undefined: nothing was added, or without a value. */
  find(method: string, segments: readonly string[]): { value: T; params: Record<string, string> } | undefined {
    for (const { leaves, values } of nodesAt(this.#root, segments)) {
      const leaf = leaves.get(method)
      if (leaf?.value === undefined) continue
      return { value: leaf.value, params: Object.fromEntries(leaf.names.map((name, i) => [name, values[i]!])) }
    }
    return undefined
  }

  /** The methods of a request's path, sorted, for requests with another one (RFC 9110 §15.5.6); empty: unknown path. */
  methods(segments: readonly string[]): string[] {
    return [...new Set([...nodesAt(this.#root, segments)].flatMap(({ leaves }) => [...leaves.keys()]))].sort()
  }
}

function childFor<T>(node: Node<T>, segment: string): Node<T> {
  if (segment.startsWith(':')) {
    node.any ??= newNode()
    return node.any
  }
  const child = node.texts.get(segment) ?? newNode<T>()
  node.texts.set(segment, child)
  return child
}

interface Fitting<T> {
  leaves: Node<T>['leaves']
  /** Of the parameters. */
  values: string[]
}

/** The nodes that a path fits, the most literal first. No segment is empty. */
function* nodesAt<T>(
  node: Node<T>,
  segments: readonly string[],
  at = 0,
  values: string[] = [],
): Generator<Fitting<T>, void> {
  const segment = segments[at]
  if (segment === undefined) {
    yield { leaves: node.leaves, values }
    return
  }
  const child = node.texts.get(segment)
  if (child !== undefined) yield* nodesAt(child, segments, at + 1, values)
  if (node.any !== null && segment !== '' && segment.length <= MAX_PARAM_LENGTH) {
    yield* nodesAt(node.any, segments, at + 1, [...values, segment])
  }
}
