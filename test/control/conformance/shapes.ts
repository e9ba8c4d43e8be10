import fc from 'fast-check'

/** The part of JSON Schema that our routes use. */
export interface Shape {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Shape[]
  items?: Shape
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  properties?: Record<string, Shape>
  required?: string[]
  default?: unknown
  additionalProperties?: boolean | Shape
  propertyNames?: Shape
  maxProperties?: number
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
}

/** A place in a body: its path, and how an error names it. */
export interface Place {
  at: (string | number)[]
  param: string
  shape: Shape
  nullable: boolean
  /** Types of the other branches at this place. */
  others: string[]
}

/** The branches of a shape without `null`, and whether null is one. */
export function branches(shape: Shape): { parts: Shape[]; nullable: boolean } {
  const all = shape.anyOf ?? [shape]
  const parts = all.filter(part => part.type !== 'null')
  return { parts, nullable: parts.length < all.length }
}

const typesOf = (parts: Shape[]): string[] => parts.flatMap(part => part.type ?? [])

export const isMap = (shape: Shape): boolean => typeof shape.additionalProperties === 'object'

/** Every place of a body of this shape, outer ones first; the first item stands for all items of a list. */
export function placesOf(shape: Shape, at: (string | number)[] = [], param = ''): Place[] {
  const { parts, nullable } = branches(shape)
  const here: Place[] =
    at.length === 0
      ? []
      : parts.map(part => ({ at, param, shape: part, nullable, others: typesOf(parts.filter(one => one !== part)) }))
  const inner = parts.flatMap(part => {
    if (part.type === 'array' && part.items !== undefined) return placesOf(part.items, [...at, 0], `${param}[0]`)
    return Object.entries(part.properties ?? {}).flatMap(([name, property]) =>
      placesOf(property, [...at, name], param === '' ? name : `${param}.${name}`),
    )
  })
  return [...here, ...inner]
}

const SAMPLE_TEXTS: Record<string, string> = {
  'date-time': '2026-12-01T10:00:00Z',
  date: '2026-12-01',
  email: 'ann@example.com',
}

const matching = new Map<string, string[]>()

/** Texts that fit the shape, all different; a pattern's are found by a generator, with a seed. */
export function texts(shape: Shape, count: number): string[] {
  if (shape.enum !== undefined) return shape.enum.slice(0, count) as string[]
  if (shape.pattern === undefined) {
    const plain = SAMPLE_TEXTS[shape.format ?? ''] ?? 'a'
    const length = Math.max(shape.minLength ?? 0, 1)
    return Array.from({ length: count }, (_, i) => (i === 0 ? plain.padEnd(length, 'a') : numbered(shape, i)))
  }
  const key = `${shape.pattern} ${shape.maxLength} ${count}`
  const known = matching.get(key)
  if (known !== undefined) return known
  const fitting = fc
    .stringMatching(new RegExp(shape.pattern), { maxLength: Math.min(shape.maxLength ?? 40, 40) })
    .filter(text => text.length >= (shape.minLength ?? 0) && !text.includes('\0'))
  const found = [...new Set(fc.sample(fitting, { seed: 7, numRuns: count * 2 + 5 }))].slice(0, count)
  matching.set(key, found)
  return found
}

const numbered = ({ format }: Shape, i: number): string => {
  if (format === 'email') return `ann${i}@example.com`
  if (format === 'date') return new Date(Date.UTC(2026, 0, 1 + i)).toISOString().slice(0, 10)
  if (format === 'date-time') return new Date(Date.UTC(2026, 11, 1, 0, i)).toISOString()
  return `a${i}`
}

/** The smallest value that fits the shape. */
export function example(shape: Shape): unknown {
  const part = branches(shape).parts[0]
  if (part === undefined) return null
  if (part.const !== undefined) return part.const
  if (part.enum !== undefined) return part.enum[0]
  const type = [part.type].flat()[0]
  switch (type) {
    case 'string':
      return texts(part, 1)[0]
    case 'integer':
    case 'number':
      return Math.max(part.minimum ?? 0, Math.min(part.maximum ?? 1, 1))
    case 'boolean':
      return true
    case 'array':
      return items(part, part.minItems ?? 0)
    default:
      return Object.fromEntries((part.required ?? []).map(name => [name, example(part.properties?.[name] ?? {})]))
  }
}

/** So many items, distinct if the shape requires it; fewer if there are no more. */
export function items(shape: Shape, count: number): unknown[] {
  const item = branches(shape.items ?? {}).parts[0] ?? {}
  if (item.type === 'string' && shape.uniqueItems) return texts(item, count)
  if (item.type === 'integer' && shape.uniqueItems) {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = item
    return Array.from({ length: Math.min(count, maximum - minimum + 1) }, (_, i) => minimum + i)
  }
  return Array.from({ length: count }, () => example(item))
}

/** The smallest body of this shape that has `value` at this place. */
export function bodyWith(shape: Shape, at: readonly (string | number)[], value: unknown): unknown {
  const [first, ...rest] = at
  if (first === undefined) return value
  const part = branches(shape).parts.find(one => (typeof first === 'number' ? one.items : one.properties?.[first]))
  if (part === undefined) throw new Error(`no place ${at.join('.')}`)
  if (typeof first === 'number') {
    const list = [...items(part, Math.max(1, part.minItems ?? 0))]
    list[0] = bodyWith(part.items ?? {}, rest, value)
    return list
  }
  const base = example(part) as Record<string, unknown>
  return { ...base, [first]: bodyWith(part.properties?.[first] ?? {}, rest, value) }
}
