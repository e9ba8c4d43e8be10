import type { Static, TObject, TSchema } from 'typebox'

/** Whether the column of a field's name holds it: as it is, a boolean as 0 or 1, an object or a list as JSON. */
type Holds<Column, Field> = [Column] extends [Field]
  ? true
  : [NonNullable<Field>] extends [boolean]
    ? [Column] extends [number | Extract<Field, null>]
      ? true
      : false
    : [NonNullable<Field>] extends [object]
      ? [Column] extends [string | Extract<Field, null>]
        ? true
        : false
      : false

/** The fields that no column holds. */
type Others<T, Row> = {
  [K in keyof T as K extends 'object'
    ? never
    : K extends keyof Row
      ? Holds<Row[K], T[K]> extends true
        ? never
        : K
      : K]: T[K]
}

type More<T, Row> = keyof Others<T, Row> extends never ? [more?: Partial<T>] : [more: Others<T, Row> & Partial<T>]

type Reading = 'as_is' | 'boolean' | 'json' | { constant: unknown }

const readings = new WeakMap<object, readonly (readonly [name: string, reading: Reading])[]>()

/**
 * A row as the API shows it, by the schema of the object: each field is the column of its name, `object` is the schema's word, and `more` has
 * the fields that are made in another way. The compiler asks for those that no column holds.
 */
export function showRow<S extends TObject, Row extends object>(
  schema: S,
  row: Row,
  ...[more = {}]: More<Static<S>, Row>
): Static<S> {
  const known = readings.get(schema) ?? Object.entries(schema.properties).map(([name, of]) => [name, readingOf(of)])
  readings.set(schema, known as never)
  const object: Record<string, unknown> = {}
  const [columns, made] = [row, more] as Record<string, unknown>[] as [typeof object, typeof object]
  for (const [name, reading] of known as readonly (readonly [string, Reading])[]) {
    if (name in made) object[name] = made[name]
    else if (typeof reading === 'object') object[name] = reading.constant
    else if (name in columns) object[name] = read(columns[name], reading)
  }
  return object as Static<S>
}

type ColumnOf<Field> = Field extends boolean ? number : Field extends object ? string : Field

/** The columns of the fields that a request sends, in the form in which `showRow` reads them. */
export function sentColumns<T extends object>(sent: T): { [K in keyof T]?: ColumnOf<Exclude<T[K], undefined>> } {
  const columns = Object.entries(sent).filter(([, value]) => value !== undefined)
  return Object.fromEntries(columns.map(([name, value]) => [name, written(value)])) as never
}

function written(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

function read(value: unknown, reading: Reading): unknown {
  if (reading === 'boolean' && typeof value === 'number') return value === 1
  return reading === 'json' && typeof value === 'string' ? JSON.parse(value) : value
}

function readingOf(schema: TSchema): Reading {
  const { type, const: constant, anyOf } = schema as { type?: string; const?: unknown; anyOf?: { type?: string }[] }
  if (constant !== undefined) return { constant }
  const types = anyOf?.map(part => part.type).filter(part => part !== 'null') ?? [type]
  if (types.every(one => one === 'object' || one === 'array')) return 'json'
  return types.length === 1 && types[0] === 'boolean' ? 'boolean' : 'as_is'
}
