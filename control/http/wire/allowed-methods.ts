/** Which methods paths answer to, for a request with another one (RFC 9110 §15.5.6). */
export class AllowedMethods {
  readonly #paths: { segments: string[]; methods: Set<string> }[] = []

  /** `path` is a route's, with a colon before what stands for a parameter. */
  add(method: string | string[], path: string): void {
    const segments = path.split('/')
    const known = this.#paths.find(one => one.segments.join('/') === path)
    const methods = known?.methods ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    if (known === undefined) this.#paths.push({ segments, methods })
  }

  /** The methods of a request's path, sorted; none: nothing is there. */
  of(path: string): string[] {
    const asked = path.split('/')
    const fitting = this.#paths.filter(
      ({ segments }) =>
        segments.length === asked.length &&
        segments.every((segment, i) => (segment.startsWith(':') ? asked[i] !== '' : segment === asked[i])),
    )
    return [...new Set(fitting.flatMap(({ methods }) => [...methods]))].sort()
  }
}
