import { JSONPathEnvironment, type JSONPathQuery } from 'json-p3'

/** Maximum number of values that a path may find. */
const MAX_FOUND = 50

/** RFC 9535 without regular expressions: customers write them, and they could run without bound. */
const environment = new JSONPathEnvironment()
for (const name of ['match', 'search']) environment.functionRegister.delete(name)

/** Operators that visit the whole answer. Several of them multiply the work, so only one is allowed. */
const COSTLY = /\.\.|\?/g

function compiled(path: string): JSONPathQuery | string {
  if (path.includes(',')) return 'may choose one thing at a time'
  if ((path.match(COSTLY)?.length ?? 0) > 1) return 'may have one `..` or one filter'
  try {
    return environment.compile(path)
  } catch (error) {
    return (error as Error).message
  }
}

/** Why a text is no valid path into an answer; null: it is valid. */
export function pathFault(path: string): string | null {
  const query = compiled(path)
  return typeof query === 'string' ? query : null
}

/** The values at a path in JSON: a single one as it is, several as a list; null: none. */
export function foundBy(path: string, value: unknown): unknown {
  const query = compiled(path)
  if (typeof query === 'string') return null
  try {
    const found = query.query(value as never).values()
    return found.length > 1 ? found.slice(0, MAX_FOUND) : (found[0] ?? null)
  } catch {
    return null
  }
}
