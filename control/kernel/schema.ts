import Type, { type TSchema } from 'typebox'

/** Shapes that many resources share. */

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of several words; open to the reader of the API (specification, "Versioning" 7), closed to its writer. */
export const oneOf = <const T extends string[]>(
  words: [...T],
  options: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: words, ...options })

/** ISO-8601 in UTC, as every answer has it. */
export const timestamp = (description = '') => Type.String({ format: 'date-time', ...(description && { description }) })

export const metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 50,
  propertyNames: { maxLength: 40 },
  additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Up to 50 pairs of your own; keys up to 40 characters, values up to 500.',
})

/** An object that an operation takes: a parameter it does not know is refused. */
export const input = <T extends Type.TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** An object of which an operation takes any part. */
export const partialInput = <T extends Type.TProperties>(properties: T) => {
  const all = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])
  return input(Object.fromEntries(all) as { [K in keyof T]: Type.TOptional<T[K]> })
}

/** `{id}` of the path. */
export const idParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 200 }) })

/** What a DELETE answers. */
export const deletedObject = (object: string) =>
  Type.Object({
    object: Type.Literal(object),
    id: Type.String(),
    deleted: Type.Literal(true),
    livemode: Type.Boolean(),
  })

/** BCP 47, as far as we look at it. */
export const languageTag = (description: string) =>
  Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$', description })
