import Table from 'cli-table3'
import type { ApiAnswer } from './client.ts'
import { plain, type Terminal } from './terminal.ts'

const MAX_COLUMNS = 7
const MAX_CELL = 60
/** Fields of every object, which are not worth a column. */
const DULL = ['object', 'livemode', 'metadata']
const BARE = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
  ...{ 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
}
const STYLE = { chars: BARE, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } }

type Json = Record<string, unknown>

/** The answer of the API to a request of this path, as a table or unchanged. Anything but JSON, such as audio, is passed on. */
export function show(terminal: Terminal, { type, bytes }: ApiAnswer, asJson: boolean, path: string): void {
  if (!type.startsWith('application/json')) return void terminal.out(bytes)
  const answer = JSON.parse(bytes.toString()) as Json
  if (asJson) terminal.out(`${json(answer)}\n`)
  else if (Array.isArray(answer.data)) showMany(terminal, answer.data as Json[], answer, path)
  else terminal.out(tableOf(answer))
}

function showMany(terminal: Terminal, rows: readonly Json[], { has_more, next_cursor }: Json, path: string): void {
  terminal.out(tableOfMany(rows))
  const on = /[?&]ending_before=/.test(path) ? 'ending_before' : 'starting_after'
  if (has_more === true) terminal.err(`There are more: --${on} ${next_cursor}`)
}

/** JSON, with the control characters escaped that `JSON.stringify` leaves (U+007F to U+009F). */
const json = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/[\u007f-\u009f]/g, one => `\\u00${one.charCodeAt(0).toString(16)}`)

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  const text = plain(isPlain(value) ? String(value) : JSON.stringify(value))
  return text.length > MAX_CELL ? `${[...text].slice(0, MAX_CELL - 1).join('')}…` : text
}

/** Flattens an object: `{a: {b: 1}}` becomes `a.b` 1, the name by which it can also be set. Lists stay as they are. */
function flat(one: Json, prefix = ''): [name: string, value: unknown][] {
  return Object.entries(one).flatMap(([name, value]) =>
    isPlain(value) || Array.isArray(value) || Object.keys(value as Json).length === 0
      ? [[prefix + name, value] as [string, unknown]]
      : flat(value as Json, `${prefix}${name}.`),
  )
}

/** A line for each object, with columns for their fields: the ID first, then simple fields, then nested ones. */
function tableOfMany(all: readonly Json[]): string {
  const rows = all.map(one => Object.fromEntries(flat(one)))
  const [first] = rows
  if (first === undefined) return 'None.\n'
  const columns = Object.keys(first)
    .filter(name => !DULL.includes(name.split('.')[0]!) && rows.every(row => name in row && isPlain(row[name])))
    .filter(name => rows.some(row => row[name] !== null && row[name] !== ''))
    .toSorted((a, b) => Number(a.includes('.')) - Number(b.includes('.')))
    .slice(0, MAX_COLUMNS)
  const table = new Table({ ...STYLE, head: columns })
  table.push(...rows.map(row => columns.map(name => cell(row[name]))))
  return printed(table)
}

function tableOf(one: Json): string {
  const table = new Table(STYLE)
  table.push(...flat(one).map(([name, value]) => [name, cell(value)]))
  return printed(table)
}

const printed = (table: InstanceType<typeof Table>): string => `${table.toString().replace(/ +$/gm, '')}\n`
