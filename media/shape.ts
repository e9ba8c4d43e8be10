/** Whether a JSON value has the type that TypeScript believes it has. Never throws. */
export type Shape<T> = (value: unknown) => value is T

const CONTROL_CHARACTERS = /\p{Cc}/u
/** What the product makes its IDs of; they become names of files and keys of tables. */
const ID = /^[\w-]{1,100}$/

export const boolean: Shape<boolean> = value => typeof value === 'boolean'

export const id: Shape<string> = (value): value is string => typeof value === 'string' && ID.test(value)

/** Text of at most `max` characters that fits into one line of a header. */
export const line =
  (max: number): Shape<string> =>
  (value): value is string =>
    typeof value === 'string' && value.length <= max && !CONTROL_CHARACTERS.test(value)

/** Any text of at most `max` characters. */
export const text =
  (max: number): Shape<string> =>
  (value): value is string =>
    typeof value === 'string' && value.length <= max

/** A whole number from `min` to `max`. */
export const integer =
  (min: number, max: number): Shape<number> =>
  (value): value is number =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max

export const oneOf =
  <const T extends string>(...values: readonly T[]): Shape<T> =>
  (value): value is T =>
    values.includes(value as T)

export const nullable =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value): value is T | null =>
    value === null || shape(value)

export const optional =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || shape(value)

/** A list of at most `max` elements. */
export const list =
  <T>(shape: Shape<T>, max: number): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && value.length <= max && value.every(shape)

/** Names and values, at most `max` pairs. */
export const record =
  <T>(shape: Shape<T>, max: number): Shape<Record<string, T>> =>
  (value): value is Record<string, T> =>
    isObject(value) && Object.keys(value).length <= max && Object.values(value).every(shape)

/** An object with these fields; what else it holds is not looked at. */
export const object =
  <T extends object>(fields: { [K in keyof T]-?: Shape<T[K]> }): Shape<T> =>
  (value): value is T =>
    isObject(value) && (Object.keys(fields) as (keyof T & string)[]).every(name => fields[name](value[name]))

/** An object whose field `name` says which of the shapes it has. */
export const variant =
  <K extends string, T extends { [P in K]: string }>(
    name: K,
    shapes: { [V in T[K]]: Shape<Extract<T, { [P in K]: V }>> },
  ): Shape<T> =>
  (value): value is T => {
    const which = isObject(value) ? value[name] : null
    return typeof which === 'string' && Object.hasOwn(shapes, which) && shapes[which as T[K]](value)
  }

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
