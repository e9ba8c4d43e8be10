import Type, { type TSchema } from 'typebox'

/** Shapes that the messages to media are made of, checked before anything is done with them. */

/** The longest time that a timer of Node takes, 24.8 days [ms]. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The form of the product's IDs, which become file names and table keys. */
export const id = Type.String({ pattern: /^[\w-]{1,100}$/ })

/** Text of at most `max` characters that fits into one line of a header. */
export const line = (max: number) => Type.String({ maxLength: max, pattern: /^\P{Cc}*$/u })

/** Any text of at most `max` characters. */
export const text = (max: number) => Type.String({ maxLength: max })

/** A whole number from `min` to `max`. */
export const integer = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })

export const boolean = Type.Boolean()

export const oneOf = <const T extends string[]>(...words: T) => Type.Unsafe<T[number]>({ type: 'string', enum: words })

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** A list of at most `max` elements. */
export const list = <T extends TSchema>(schema: T, max: number) => Type.Array(schema, { maxItems: max })

/** Names and values, at most `max` pairs. */
export const record = <T extends TSchema>(schema: T, max: number) =>
  Type.Record(Type.String(), schema, { maxProperties: max })

/** Any JSON object. */
export const jsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' })
