type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The semantics of PATCH: nested objects are merged with the stored ones; lists, texts and null replace them; absent changes nothing. */
export function merge<T extends object>(stored: T, change: object): T {
  const merged = { ...stored } as Json
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) continue
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? merge(before, value) : value
  }
  return merged as T
}

/** The settings that a row holds as JSON. A version that knew fewer may have written it: the others have their defaults. */
export const storedSettings = <T extends object>(defaults: T, json: string): T => merge(defaults, JSON.parse(json))
