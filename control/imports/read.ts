import type { Readable, Transform } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import iconv from 'iconv-lite'
import type { ImportFailure, Reading } from './tables.ts'

/** Maximum length of a line or record [characters]. */
const MAX_RECORD = 64 * 1024
const HEAD_BYTES = 64 * 1024
const DELIMITERS = [',', ';', '\t', '|']
/** Replacement character for bytes that are invalid in the encoding. */
export const UNREADABLE = '\ufffd'
/** The apostrophe that guards cells against being read as formulas, also in our own exports. */
const GUARDED = /^'(?=[=@\t\r+-])/

export const ENCODINGS = ['utf-8', 'utf-16', 'utf-16le', 'utf-16be', 'windows-1252', 'windows-1255'] as const

/** A record of a file: its cells by column name, trimmed, without empty ones; or its fault. */
export interface FileRecord {
  /** Number of its last line, from 1. */
  line: number
  cells: Record<string, string>
  /** Number of its cells, including empty ones. */
  width: number
  fault: string | null
}

/** Thrown where a file cannot be read any further. */
export class Unreadable extends Error {
  readonly failure: ImportFailure
  constructor(code: string, message: string, line: number | null = null) {
    super(message)
    this.failure = { code, message, line }
  }
}

/** The encoding: by the byte order mark, otherwise as stated. */
export function encodingOf(head: Buffer, said: string): string {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8'
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  return said
}

/** The usual delimiter that occurs most often in the first line. */
export function delimiterOf(head: Buffer, encoding: string): string {
  const line = iconv.decode(head, encoding).split(/\r?\n/, 1)[0] ?? ''
  const unquoted = line.replace(/"[^"]*"/g, '')
  const counts = DELIMITERS.map(delimiter => unquoted.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}

/** The beginning of a file. */
export async function headOf(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= HEAD_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, HEAD_BYTES)
}

/** All records of a file, in order. Throws `Unreadable`. */
export const readRecords = (source: Readable, reading: Reading): AsyncGenerator<FileRecord> =>
  reading.format === 'csv' ? csvRecords(source, reading) : jsonRecords(source, reading)

async function* csvRecords(source: Readable, { encoding, delimiter, header }: Reading): AsyncGenerator<FileRecord> {
  const decoder = iconv.decodeStream(encoding)
  const parser = parse({
    delimiter,
    bom: true,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_RECORD,
  })
  source.on('error', error => parser.destroy(error))
  source.pipe(decoder).pipe(parser)
  let names: string[] | null = null
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (names === null && header) {
        names = headerOf(record)
        continue
      }
      names ??= record.map((_, i) => String(i + 1))
      yield csvRecord(names, record, info.lines)
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const line = typeof error.lines === 'number' ? error.lines : null
    throw new Unreadable('csv_malformed', error.message, line)
  } finally {
    source.destroy()
  }
}

function headerOf(record: string[]): string[] {
  const names = record.map(name => name.trim())
  const places = new Map(names.map((name, i) => [name, i]))
  const twice = names.find((name, i) => name !== '' && places.get(name) !== i)
  if (twice !== undefined) throw new Unreadable('header_malformed', `Two columns are called ${twice}.`, 1)
  return names
}

function csvRecord(names: string[], record: string[], line: number): FileRecord {
  const cells: Record<string, string> = Object.create(null)
  let fault = record.length > names.length ? `has ${record.length} cells, and the file ${names.length} columns` : null
  // Not each column of the file: with thousands of them, short rows would cost as much as long ones.
  for (const [i, cell] of record.entries()) {
    const [name = '', text] = [names[i], cell.trim().replace(GUARDED, '')]
    if (text === '' || name === '') continue
    cells[name] = text
    fault ??= textFault(text)
  }
  return { line, cells, width: record.length, fault }
}

/** What is wrong with a text; null: nothing. PostgreSQL cannot store NUL. */
function textFault(text: string): string | null {
  if (text.includes(UNREADABLE)) return 'holds characters that are not of the encoding'
  return text.includes('\0') ? 'holds a NUL character' : null
}

async function* jsonRecords(source: Readable, { encoding }: Reading): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const text of linesOf(source, encoding)) {
    line += 1
    if (text.length > MAX_RECORD)
      throw new Unreadable('line_too_long', `A line has more than ${MAX_RECORD} characters.`, line)
    if (text.trim() !== '') yield jsonRecord(text, line)
  }
}

async function* linesOf(source: Readable, encoding: string): AsyncGenerator<string> {
  const decoder = iconv.decodeStream(encoding) as Transform
  source.on('error', error => decoder.destroy(error))
  let rest = ''
  try {
    for await (const text of source.pipe(decoder) as AsyncIterable<string>) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > MAX_RECORD) yield rest
    }
    if (rest !== '') yield rest
  } finally {
    source.destroy()
  }
}

function jsonRecord(text: string, line: number): FileRecord {
  const cells: Record<string, string> = Object.create(null)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { line, cells, width: 0, fault: 'is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, cells, width: 0, fault: 'is no object' }
  let fault: string | null = null
  for (const [name, part] of Object.entries(value)) {
    if (part === null || part === '') continue
    if (typeof part === 'object') fault ??= `holds an object or a list (${name})`
    else {
      cells[name] = String(part).trim()
      fault ??= textFault(cells[name])
    }
  }
  return { line, cells, width: Object.keys(cells).length, fault }
}
