import fc from 'fast-check'
import { branches, placesOf, type Shape } from './shapes.ts'

const MAX_TEXT = 24
const MAX_ITEMS = 3

/** Values that mostly fit the shape; IDs are often from `ids`. */
export function fitting(shape: Shape, ids: readonly string[], name = ''): fc.Arbitrary<unknown> {
  const { parts, nullable } = branches(shape)
  const all = parts.map(part => fittingOne(part, ids, name))
  return fc.oneof(...all, ...(nullable ? [fc.constant(null)] : []))
}

function fittingOne(shape: Shape, ids: readonly string[], name: string): fc.Arbitrary<unknown> {
  if (shape.const !== undefined) return fc.constant(shape.const)
  if (shape.enum !== undefined) return fc.constantFrom(...shape.enum)
  switch ([shape.type].flat()[0]) {
    case 'string':
      return /_ids?$|^id$/.test(name) && ids.length > 0 ? fc.constantFrom(...ids) : text(shape)
    case 'integer':
      return fc.integer({ min: shape.minimum ?? -10, max: shape.maximum ?? 10 })
    case 'number':
      return fc.double({ min: shape.minimum ?? -10, max: shape.maximum ?? 10, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'array': {
      const minLength = shape.minItems ?? 0
      const size = { minLength, maxLength: Math.max(minLength, Math.min(shape.maxItems ?? MAX_ITEMS, MAX_ITEMS)) }
      const item = fitting(shape.items ?? {}, ids, name)
      return shape.uniqueItems ? fc.uniqueArray(item, { ...size, minLength: 0 }) : fc.array(item, size)
    }
    default:
      return object(shape, ids)
  }
}

function object(shape: Shape, ids: readonly string[]): fc.Arbitrary<unknown> {
  const values = shape.additionalProperties
  if (typeof values === 'object') {
    const name = shape.propertyNames?.pattern === undefined ? fc.string({ maxLength: 20 }) : text(shape.propertyNames)
    return fc.dictionary(name, fitting(values, ids), { maxKeys: MAX_ITEMS })
  }
  if (values === true) return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 })
  const parts = Object.entries(shape.properties ?? {}).map(([name, part]) => [name, fitting(part, ids, name)] as const)
  return fc.record(Object.fromEntries(parts), { requiredKeys: shape.required ?? [] })
}

function text(shape: Shape): fc.Arbitrary<string> {
  const maxLength = Math.min(shape.maxLength ?? MAX_TEXT, Math.max(MAX_TEXT, shape.minLength ?? 0))
  if (shape.pattern !== undefined) return fc.stringMatching(new RegExp(shape.pattern), { maxLength })
  switch (shape.format) {
    case 'date-time':
      return fc
        .date({ noInvalidDate: true, min: new Date(0), max: new Date('2030-01-01') })
        .map(date => date.toISOString())
    case 'date':
      return fc.date({ noInvalidDate: true, min: new Date(0) }).map(date => date.toISOString().slice(0, 10))
    case 'email':
      return fc.emailAddress()
    default:
      return fc.string({ unit: 'grapheme', minLength: shape.minLength ?? 0, maxLength })
  }
}

/** Input that no schema expects: edge cases of JSON. */
const ODD = [
  null,
  '',
  0,
  -1,
  1e308,
  2 ** 53,
  '\0',
  '%',
  "' or 1=1 --",
  '__proto__',
  '2026-12-31T23:59:60Z',
  '0000-01-01T00:00:00+23:59',
  [],
  {},
  [[]],
]

/** A fitting body with an unfitting value at one place, or with an additional field. */
export function broken(shape: Shape, ids: readonly string[]): fc.Arbitrary<unknown> {
  const places = placesOf(shape).map(place => place.at)
  const odd = fc.oneof(fc.constantFrom<unknown>(...ODD), fc.jsonValue({ maxDepth: 3 }))
  if (places.length === 0) return fc.oneof(odd, fc.dictionary(fc.string(), odd))
  return fc.tuple(fitting(shape, ids), fc.constantFrom(...places), odd).map(([body, at, value]) => put(body, at, value))
}

/** A copy of a body with this value at a place. */
function put(body: unknown, [first, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (first === undefined) return value
  if (Array.isArray(body)) return body.map((item, i) => (i === 0 ? put(item, rest, value) : item))
  const known = typeof body === 'object' && body !== null ? body : {}
  return { ...known, [first]: put((known as Record<string, unknown>)[first], rest, value) }
}
