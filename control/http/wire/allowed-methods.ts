/** The methods of each path, for requests with another method (RFC 9110 §15.5.6). */
export class AllowedMethods {
  readonly #paths = new Map<string, { segments: string[]; methods: Set<string> }>()

  /** `path` is a route's, with a colon before each parameter. */
  add(method: string | string[], path: string): void {
    const { methods } = this.#paths.get(path) ?? this.#keep(path)
    for (const name of [method].flat()) methods.add(name)
  }

  #keep(path: string): { methods: Set<string> } {
    const kept = { segments: path.split('/'), methods: new Set<string>() }
    this.#paths.set(path, kept)
    return kept
  }

  /** The methods of a request's path, sorted; empty: unknown path. */
  of(path: string): string[] {
    const asked = path.split('/')
    const fitting = [...this.#paths.values()].filter(
      ({ segments }) =>
        segments.length === asked.length &&
        segments.every((segment, i) => (segment.startsWith(':') ? asked[i] !== '' : segment === asked[i])),
    )
    return [...new Set(fitting.flatMap(({ methods }) => [...methods]))].sort()
  }
}
