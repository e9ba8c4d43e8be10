import Type, { type TSchema } from 'typebox'

/** Shapes shared by many resources. */

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of several words. Readers of the API must accept others (specification, "Versioning" 7); writers may not send others. */
export const oneOf = <const T extends string[]>(
  words: [...T],
  options: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: words, ...options })

/** ISO-8601 in UTC, as in every answer. */
export const timestamp = (description = '') => Type.String({ format: 'date-time', ...(description && { description }) })

const pairs = <V>(value: TSchema, more = '') =>
  Type.Unsafe<Record<string, V>>({
    type: 'object',
    maxProperties: 50,
    propertyNames: { maxLength: 40 },
    additionalProperties: value,
    description: `Up to 50 pairs of your own; keys up to 40 characters, values up to 500.${more}`,
  })
const pairValue = Type.String({ maxLength: 500 })
export const metadata = pairs<string>(pairValue)
/** In a PATCH. */
export const metadataChange = pairs<string | null>(
  nullable(pairValue),
  ' Merged with the stored ones; null removes one.',
)

/** What people call an object or a part of it: they find it by that in lists. */
export const objectName = (description = '') =>
  Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', ...(description && { description }) })

/** An object of a request or of a model's answer: an unknown field is refused. */
export const input = <T extends Type.TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** An input object in which every field is optional. */
export const partialInput = <T extends Type.TProperties>(properties: T) => {
  const all = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])
  return input(Object.fromEntries(all) as { [K in keyof T]: Type.TOptional<T[K]> })
}

/** An object of the API: its ID, what it is, its mode, and its other fields. */
export const apiObject = <const Kind extends string, T extends Type.TProperties>(object: Kind, properties: T) =>
  Type.Object({ id: Type.String(), object: Type.Literal(object), livemode: Type.Boolean(), ...properties })

/** An object of the customer's, with any fields. */
export const jsonObject = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description })

/** `{id}` of the path. */
export const idParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) })

/** The answer to a DELETE. */
export const deletedObject = (object: string) =>
  Type.Object({
    object: Type.Literal(object),
    id: Type.String(),
    deleted: Type.Literal(true),
    livemode: Type.Boolean(),
  })

/** A filter of a list. A + that was not written %2B is a space, and would find nothing. */
export const filterText = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ pattern: '^\\S', maxLength, description }))

/** BCP 47, as far as we check it. */
export const languageTag = (description: string) =>
  Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$', description })
