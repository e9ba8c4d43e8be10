/** A JSON object of any kind. */
export type Json = Record<string, unknown>

/** The part of JSON Schema that our routes use. */
export interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  title?: string
  description?: string
  default?: unknown
  examples?: unknown[]
  format?: string
  pattern?: string
  additionalProperties?: boolean | Schema
  patternProperties?: Record<string, Schema>
  minItems?: number
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  [keyword: string]: unknown
}

/**
 * The difference between the shapes of an object before and since a version. All functions work on copies, and on partial objects
 * (a PATCH, `previous_attributes`).
 */
export interface Shape {
  /** Converts the newer schema to the older one. */
  schema(newer: Schema): Schema
  /** Converts an object of the older shape to the newer one. */
  up(older: Json): Json
  /** Converts an object of the newer shape to the older one. */
  down(newer: Json): Json
  /** The older name of a parameter, for `error.param`; `newer` is a path such as `phone` or `overflow.action`. */
  param(newer: string): string
}

/** A field that was renamed. */
export function renamed(older: string, newer: string): Shape {
  return {
    schema: schema => ({
      ...schema,
      properties: rename(schema.properties ?? {}, newer, older),
      ...(schema.required && { required: schema.required.map(name => (name === newer ? older : name)) }),
    }),
    up: object => rename(object, older, newer),
    down: object => rename(object, newer, older),
    param: path => path.replace(new RegExp(`^${newer}(?=$|[.[])`), older),
  }
}

/** A field whose values were renamed. `null` stays `null`. */
export function revalued<Older, Newer>(
  field: string,
  change: {
    /** The older values' schema. */
    schema: Schema
    up(older: Older): Newer
    down(newer: Newer): Older
  },
): Shape {
  const replace = (object: Json, value: (now: never) => unknown): Json =>
    object[field] === undefined || object[field] === null
      ? object
      : { ...object, [field]: value(object[field] as never) }
  return {
    schema: schema =>
      schema.properties?.[field] === undefined
        ? schema
        : {
            ...schema,
            properties: { ...schema.properties, [field]: sameNullability(schema.properties[field], change.schema) },
          },
    up: object => replace(object, change.up),
    down: object => replace(object, change.down),
    param: path => path,
  }
}

/** A list whose entries had no `kind`, because all of them were `only`. */
export function listed(field: string, kind: string, only: string): Shape {
  const entries = (object: Json, change: (entry: Json) => Json[]): Json =>
    Array.isArray(object[field]) ? { ...object, [field]: (object[field] as Json[]).flatMap(change) } : object
  return {
    schema: schema => {
      const list = schema.properties?.[field]
      if (list?.items === undefined) return schema
      const { [kind]: _, ...properties } = list.items.properties ?? {}
      const items = {
        ...list.items,
        properties,
        ...(list.items.required && { required: list.items.required.filter(name => name !== kind) }),
      }
      return { ...schema, properties: { ...schema.properties, [field]: { ...list, items } } }
    },
    up: object => entries(object, entry => [{ [kind]: only, ...entry }]),
    down: object =>
      entries(object, ({ [kind]: value, ...entry }) => (value === undefined || value === only ? [entry] : [])),
    param: path => path,
  }
}

const sameNullability = (newer: Schema, older: Schema): Schema =>
  newer.anyOf?.some(branch => branch.type === 'null') ? { anyOf: [older, { type: 'null' }] } : older

/** Keeps the order of the fields. An object without the field is not changed. */
function rename<T>(object: Record<string, T>, from: string, to: string): Record<string, T> {
  if (!(from in object)) return object
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name === from ? to : name, value]))
}
