import fc from 'fast-check'
import { anyCharacter } from '../any-character.ts'

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema, or a part of one
export type Schema = any

export interface Operation {
  method: string
  path: string
  /** The path's parameters, each with the collection of the object that it names. */
  params: { name: string; collection: string }[]
  query: Record<string, Schema>
  body: Schema | null
  /** Valid fields that no generator would guess, for half of the bodies. */
  good: object
}

/** Everything of a request except its method and path. */
export interface Shot {
  ids: string[]
  query: string
  body: string | undefined
  headers: Record<string, string>
}

const ODD_TEXTS = [
  '',
  '\0',
  'null',
  '__proto__',
  'x'.repeat(5000),
  '\ud800',
  '\u202e\u0000',
  "'; DROP TABLE calls; --",
  '%',
  '../../etc/passwd',
  'sip:a@b:99999',
  'sip:\r\nX: y@z',
  'sip:x@127.0.0.1:0',
  'ws://127.0.0.1:1/',
  'http://[::1',
  '+1',
  '9'.repeat(400),
  '1970-01-01T00:00:00Z',
]
const GOOD_TEXTS = ['+15551234567', 'sip:200@127.0.0.1:9', 'wss://192.0.2.1/x', 'https://192.0.2.1/x', 'name', '4711']
const ODD_BODIES = ['', '{', '[]', '"x"', 'null', '{"a":1', '\ufeff{}', '[['.repeat(1000), '{"__proto__":{}}']
const ODD_IDS = ['call_00000000000000000000000000', 'x', '%00', '%ff', '..', '%2e%2e', 'a'.repeat(300)]
const ODD_TYPES = ['text/plain', 'multipart/form-data', 'application/json; charset=utf-16', 'x', ';']
const KEYS = ['k1', 'k2', ' ', 'x'.repeat(300), '\u00ff']
const RANGES = ['bytes=0-', 'bytes=5-1', 'bytes=-0', 'lines=1-2', 'bytes=9999999999-']
const FIELDS = ['__proto__', 'constructor', 'x', '', '\0', 'id']

const ODD: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...ODD_TEXTS),
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308, -0, 2 ** 53 + 2, 1.5, [], {}, [[]], [null]),
  fc.string({ unit: anyCharacter, maxLength: 50 }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Made once, since making one takes longer than drawing from it. */
const WORDS = fc.string({ maxLength: 20 })
const OCTETS = fc.string({ unit: anyCharacter, maxLength: 100 })
const STRANGE_IDS = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).map(encodeURIComponent)
const byPattern = new Map<string, fc.Arbitrary<string>>()

/** Makes requests for operations: valid ones, or with an odd value in a share of all places. */
export class Shots {
  readonly #known: ReadonlyMap<string, string[]>
  readonly #oddShare: number

  /** @param known IDs of existing objects, by collection @param oddShare share of odd values, [0, 1) */
  constructor(known: ReadonlyMap<string, string[]>, oddShare: number) {
    this.#known = known
    this.#oddShare = oddShare
  }

  of({ method, params, query, body, good }: Operation): fc.Arbitrary<Shot> {
    const ids = params.map(({ collection }) => {
      const known = this.#known.get(collection) ?? this.#allKnown()
      return this.#or(fc.constantFrom(...known), fc.oneof(fc.constantFrom(...ODD_IDS), STRANGE_IDS))
    })
    const pairs = fc.record(
      Object.fromEntries(Object.entries(query).map(([name, schema]) => [name, seldom(this.#nearly(schema))])),
    )
    const value = this.#nearly(body ?? {})
    const better = value.map(given => (typeof given === 'object' ? { ...given, ...good } : given))
    const json = body === null ? fc.constant('') : fc.oneof(value, better).map(given => JSON.stringify(given) ?? '')
    const text = this.#or(json, fc.oneof(fc.constantFrom(...ODD_BODIES), OCTETS))
    const headers = fc.record({
      'content-type': this.#or(fc.constant('application/json'), fc.constantFrom(...ODD_TYPES)),
      'idempotency-key': this.#or(fc.constant(undefined), fc.constantFrom(...KEYS)),
      'service-version': this.#or(fc.constant(undefined), fc.constantFrom('2026-11-01', '1999-01-01', '')),
      range: this.#or(fc.constant(undefined), fc.constantFrom(...RANGES)),
    })
    return fc.record({
      ids: fc.tuple(...ids),
      query: pairs.map(queryText),
      body: method === 'GET' ? fc.constant(undefined) : text,
      headers: headers.map(given => withoutHoles(given) as Record<string, string>),
    })
  }

  #allKnown(): string[] {
    return [...this.#known.values()].flat()
  }

  #or<T>(good: fc.Arbitrary<T>, strange: fc.Arbitrary<unknown>): fc.Arbitrary<T> {
    const weight = Math.round(this.#oddShare * 1000)
    return fc.oneof({ arbitrary: good, weight: 1000 - weight }, { arbitrary: strange as fc.Arbitrary<T>, weight })
  }

  #nearly(schema: Schema): fc.Arbitrary<unknown> {
    return this.#or(this.#fitting(schema), ODD)
  }

  #fitting(schema: Schema): fc.Arbitrary<unknown> {
    if (schema === undefined || schema === true) return ODD
    const alternatives: Schema[] | undefined = schema.anyOf ?? schema.oneOf
    if (alternatives !== undefined) return fc.oneof(...alternatives.map(one => this.#nearly(one)))
    if (schema.const !== undefined) return fc.constant(schema.const)
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
    switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
      case 'object':
        return this.#object(schema)
      case 'array':
        return fc.array(this.#nearly(schema.items), { minLength: schema.minItems ?? 0, maxLength: 4 })
      case 'integer':
      case 'number':
        return this.#number(schema)
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        return this.#text(schema)
    }
  }

  #number({ minimum = -10, maximum = 1000 }: Schema): fc.Arbitrary<number> {
    const inside = fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) })
    return this.#or(inside, fc.constantFrom(minimum - 1, maximum + 1, minimum, maximum))
  }

  #text(schema: Schema): fc.Arbitrary<unknown> {
    const fits = schema.pattern === undefined ? WORDS : matching(schema.pattern)
    const known = this.#allKnown()
    const id = known.length === 0 ? fits : fc.constantFrom(...known)
    const likely = schema.pattern === undefined ? fc.oneof(fc.constantFrom(...GOOD_TEXTS), fits, id) : fits
    return this.#or(likely, fc.constantFrom(...ODD_TEXTS))
  }

  #object(schema: Schema): fc.Arbitrary<unknown> {
    const required: string[] = schema.required ?? []
    const fields: Record<string, fc.Arbitrary<unknown>> = {}
    for (const [name, inner] of Object.entries<Schema>(schema.properties ?? {})) {
      fields[name] = required.includes(name) ? this.#nearly(inner) : seldom(this.#nearly(inner))
    }
    const known = fc.record(fields)
    const extra = fc.dictionary(fc.constantFrom(...FIELDS), ODD, { maxKeys: 2 })
    return this.#or(
      known,
      fc.tuple(known, extra).map(([fitting, more]) => ({ ...fitting, ...more })),
    )
  }
}

const seldom = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 2 }, { arbitrary, weight: 1 })

function matching(pattern: string): fc.Arbitrary<string> {
  const made = byPattern.get(pattern) ?? newMatching(pattern)
  byPattern.set(pattern, made)
  return made
}

function newMatching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern, 'u'))
  } catch {
    return fc.constantFrom(...GOOD_TEXTS)
  }
}

const withoutHoles = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

function queryText(values: object): string {
  const pairs = Object.entries(withoutHoles(values)).map(([name, value]) => {
    const text = typeof value === 'string' ? value : String(JSON.stringify(value))
    return `${name}=${encodeURIComponent(text.slice(0, 500).replaceAll(/\p{Cs}/gu, '?'))}`
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
