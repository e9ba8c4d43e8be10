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

const isQuery = (value: Value | undefined): value is Query =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function put(query: Query, name: string, value: string): void {
  const before = query[name]
  query[name] = before === undefined || isQuery(before) ? value : [before, value].flat()
}
