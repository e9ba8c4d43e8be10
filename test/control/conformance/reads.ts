import { isProblem } from '../../../control/http/errors.ts'
import type { Route } from '../../../control/http/route.ts'
import type { Shape } from './shapes.ts'

/** Records which parameters requests had, and which of them operations read when they succeeded. */
export class Reads {
  readonly #sent = new Set<string>()
  readonly #read = new Set<string>()

  /** The same operation, watched. */
  readonly of = (route: Route): Route => ({
    ...route,
    handler: async (context, request) => {
      const name = `${route.method} ${route.path}`
      const sent = new Set<string>()
      const body = this.#watched(request.body, name, sent, route.body)
      const query = this.#watched(request.query, `${name} ?`, sent, route.query)
      const result = await route.handler(context, { ...request, body, query } as never)
      // A refused request may not have been read beyond the failing check.
      if (!isProblem(result)) for (const place of sent) this.#sent.add(place)
      return result
    },
  })

  /** Parameters that were sent and never read. */
  get ignored(): string[] {
    return [...this.#sent].filter(place => !this.#read.has(place)).sort()
  }

  /** Lists, and maps whose keys the client chooses, are read as a whole. */
  #watched<T>(value: T, place: string, sent: Set<string>, shape?: Shape): T {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    for (const [key, one] of Object.entries(value)) {
      // A field with only one possible value is checked by the schema.
      if (one !== undefined && shape?.properties?.[key]?.const === undefined) sent.add(`${place} ${key}`)
    }
    const within = new Map<string, unknown>()
    return new Proxy(value, {
      get: (target, key, receiver) => {
        const found = Reflect.get(target, key, receiver) as unknown
        if (typeof key !== 'string') return found
        this.#read.add(`${place} ${key}`)
        if (!within.has(key)) within.set(key, this.#watched(found, `${place} ${key}`, sent, shape?.properties?.[key]))
        return within.get(key)
      },
    })
  }
}
