import { bodyWith, example, isMap, items, type Place, placesOf, type Shape, texts } from './shapes.ts'

/** One value at one place of a body, and whether the schema accepts it. */
interface Case {
  body: unknown
  /** The parameter that is wrong; absent: none. */
  param?: string
  what: string
}

const OF_OTHER_TYPES: Record<string, unknown[]> = {
  string: [1, true, {}, ['a']],
  integer: ['1', 1.5, true, {}],
  number: ['1', true, []],
  boolean: ['true', 1, 0, {}],
  array: ['a', {}, 1],
  object: ['a', [], 1],
  null: [],
}

/** Every way in which a body can break the shape, and both sides of every bound. */
export const casesOf = (shape: Shape): Case[] => [
  ...placesOf(shape).flatMap(place => casesAt(shape, place)),
  ...lacking(shape),
]

function casesAt(whole: Shape, place: Place): Case[] {
  const { at, param, shape } = place
  const good = (what: string, value: unknown): Case => ({ body: bodyWith(whole, at, value), what: `${param}: ${what}` })
  const bad = (what: string, value: unknown, inside = ''): Case => ({ ...good(what, value), param: param + inside })
  const types = [shape.type ?? []].flat()
  return [
    good('an example', example(shape)),
    place.nullable ? good('null', null) : types.includes('null') ? [] : bad('null', null),
    otherTypes([types, place.others].flat()).map(value => bad(`of another type, ${JSON.stringify(value)}`, value)),
    numbers(shape, good, bad),
    strings(shape, good, bad),
    lists(shape, good, bad),
    objects(shape, good, bad),
  ].flat()
}

type Make = (what: string, value: unknown, inside?: string) => Case

/** Values of types that are not among these. */
function otherTypes(types: string[]): unknown[] {
  if (types.length === 0) return []
  const [first = ''] = types
  if (types.length === 1) return OF_OTHER_TYPES[first] ?? []
  return types.includes('object') || types.includes('array') ? [] : [{}, []]
}

function numbers({ type, minimum, maximum }: Shape, good: Make, bad: Make): Case[] {
  if (type !== 'integer' && type !== 'number') return []
  const step = type === 'integer' ? 1 : 0.001
  return [
    ...(minimum === undefined ? [] : [good('the minimum', minimum), bad('below the minimum', minimum - step)]),
    ...(maximum === undefined ? [] : [good('the maximum', maximum), bad('above the maximum', maximum + step)]),
  ]
}

function strings(shape: Shape, good: Make, bad: Make): Case[] {
  if (shape.type !== 'string') return []
  const { minLength = 0, maxLength, pattern, format } = shape
  const plain = pattern === undefined && format === undefined
  if (shape.enum !== undefined) {
    return [...shape.enum.map(word => good(`the word ${word}`, word)), bad('no word of the list', 'no such word')]
  }
  return [
    ...(plain && maxLength !== undefined
      ? [good('the longest', (maxLength > 100_000 ? 'a' : '\u{1f600}').repeat(maxLength))]
      : []),
    ...(maxLength !== undefined ? [bad('too long', 'a'.repeat(maxLength + 1))] : []),
    ...(plain && minLength > 0 ? [good('the shortest', 'a'.repeat(minLength)), bad('too short', '')] : []),
    ...(pattern === undefined ? [] : texts(shape, 3).map(text => good('of the pattern', text))),
    ...(pattern === undefined || new RegExp(pattern).test('\n \n') ? [] : [bad('against the pattern', '\n \n')]),
    ...(format === undefined ? [] : [bad(`no ${format}`, '2026-13-45T99:00:00Z@')]),
    bad('a NUL', 'a\0'),
    bad('half a character', 'a\ud800'),
  ]
}

function lists(shape: Shape, good: Make, bad: Make): Case[] {
  if (shape.type !== 'array') return []
  const { minItems = 0, maxItems } = shape
  const full = items(shape, maxItems ?? 1)
  const one = items(shape, 1)
  return [
    ...(minItems > 0 ? [bad('too few', items(shape, minItems - 1))] : [good('none', [])]),
    ...(maxItems !== undefined && full.length === maxItems ? [good('as many as there may be', full)] : []),
    ...(maxItems === undefined ? [] : [bad('too many', Array(maxItems + 1).fill(one[0]))]),
    ...(shape.uniqueItems ? [bad('one twice', [one[0], one[0]])] : []),
  ]
}

function objects(shape: Shape, good: Make, bad: Make): Case[] {
  if (shape.type !== 'object') return []
  if (shape.additionalProperties === false) {
    const whole = example(shape) as object
    return [bad('an unknown parameter', { ...whole, no_such_parameter: 1 }, '.no_such_parameter')]
  }
  if (!isMap(shape)) return []
  const value = example(shape.additionalProperties as Shape)
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))
  const { maxProperties, propertyNames } = shape
  const longest = propertyNames?.maxLength ?? 0
  return [
    good('a pair', pairs(1)),
    bad('a value of another type', { k: {} }, '.k'),
    ...(maxProperties === undefined
      ? []
      : [good('all pairs', pairs(maxProperties)), bad('too many pairs', pairs(maxProperties + 1))]),
    ...(longest === 0
      ? []
      : [
          good('the longest key', { ['k'.repeat(longest)]: value }),
          bad('too long a key', { ['k'.repeat(longest + 1)]: value }, `.${'k'.repeat(longest + 1)}`),
        ]),
    bad('a NUL in a key', { 'k\0': value }, '.k\0'),
  ]
}

/** Each required parameter missing, at the top and inside. */
function lacking(whole: Shape): Case[] {
  const top = { at: [], param: '', shape: whole, nullable: false }
  return [top, ...placesOf(whole)].flatMap(({ at, param, shape }) =>
    (shape.required ?? [])
      .filter(name => shape.properties?.[name]?.default === undefined)
      .map(name => {
        const { [name]: _, ...rest } = example(shape) as Record<string, unknown>
        const path = param === '' ? name : `${param}.${name}`
        return { body: bodyWith(whole, at, rest), param: path, what: `${path}: missing` }
      }),
  )
}

const FINITE_FORMATS = ['date', 'date-time']

/** An anchored pattern without unbounded repetition also limits a text. */
const isBoundedText = ({ pattern = '*', format = '' }: Shape): boolean =>
  FINITE_FORMATS.includes(format) ||
  (pattern.endsWith('$') && !/[*+]|,\}/.test(pattern.replace(/\\.|\[[^\]]*\]/g, '.')))

/** Places without a bound, whose stored size and cost of checking would be unlimited. */
export const unbounded = (shape: Shape): string[] =>
  placesOf(shape)
    .filter(({ shape: here }) => {
      if (here.enum !== undefined || here.const !== undefined) return false
      if (here.type === 'string') return here.maxLength === undefined && !isBoundedText(here)
      if (here.type === 'array') return here.maxItems === undefined
      if (here.type === 'integer' || here.type === 'number')
        return here.minimum === undefined || here.maximum === undefined
      return isMap(here) && (here.maxProperties === undefined || here.propertyNames?.maxLength === undefined)
    })
    .map(place => place.param)
