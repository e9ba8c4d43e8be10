type Value = string | string[] | Query
export interface Query {
  [name: string]: Value
}

/** `created[gte]`: a part of a parameter. */
const PART = /^([^[\]]+)\[([^[\]]*)\]$/

/**
 * Parses a query string. `metadata[order]=7` is `{metadata: {order: '7'}}`. A parameter sent twice becomes a list, which no
 * schema accepts as a single value.
 */
export function readQuery(text: string): Query {
  const query: Query = Object.create(null)
  if (text === '') return query
  for (const [name, value] of new URLSearchParams(text)) {
    const [, whole, part] = PART.exec(name) ?? []
    const inner = whole === undefined ? undefined : (query[whole] ?? Object.create(null))
    if (whole === undefined || part === undefined || !isQuery(inner)) put(query, name, value)
    else {
      query[whole] = inner
      put(inner, part, value)
    }
  }
  return query
}

/** As JSON writes them: nobody means 16 by `0x10`. */
const NUMBER_OR_BOOLEAN = /^(?:-?(?:0|[1-9]\d*)|true|false)$/

/** A query string has no types: the schema says which texts are numbers or booleans. */
export function typeQuery(query: Query, schema: unknown): void {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: string }> }
  for (const [name, { type }] of Object.entries(properties)) {
    const text = query[name]
    if (type === undefined || type === 'string' || typeof text !== 'string' || !NUMBER_OR_BOOLEAN.test(text)) continue
    query[name] = JSON.parse(text)
  }
}

const isQuery = (value: Value | undefined): value is Query =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function put(query: Query, name: string, value: string): void {
  const before = query[name]
  query[name] = before === undefined || isQuery(before) ? value : [before, value].flat()
}
