import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { decodeBase64 } from '../http/base64.ts'
import type { Context } from '../http/context.ts'
import { invalid, needed, type Problem, problem } from '../http/errors.ts'
import type { Spooled } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { Columns } from './columns.ts'
import { storeSource } from './pieces.ts'
import { delimiterOf, ENCODINGS, encodingOf, headOf, readRecords, UNREADABLE, Unreadable } from './read.ts'
import { type CreateBody, type Import, MAX_JSON_BYTES, toImport } from './schema.ts'
import type { ImportRow, Reading } from './tables.ts'
import type { ImportTarget, ImportTargets } from './target.ts'

export interface ImportDeps {
  store: Store
  now: () => Date
  targets: ImportTargets
  settings: (db: Db, tenant: Tenant) => Promise<{ country: string | null }>
}

/** Maximum number of open imports of an organisation in one mode. */
const MAX_OPEN = 10
const FULL_RETRY_S = 60

interface Upload {
  open: () => Readable
  bytes: number
}

/** Stores the file before the import. Pieces without an import are swept later. */
export async function createImport(
  deps: ImportDeps,
  context: Context,
  body: CreateBody,
  spooled: Spooled | null,
): Promise<Import | Problem> {
  const { store, now, targets, settings } = deps
  const target = targets[body.target] as ImportTarget
  const misplaced = csvProblem(body) ?? (await placeProblem(deps, context, target, body))
  if (misplaced !== null) return misplaced
  const upload =
    spooled === null ? inJson(body.file) : { open: () => createReadStream(spooled.path), bytes: spooled.bytes }
  if ('problem' in upload) return upload
  const reading = await readingOf(upload, body)
  const unfit = await columnsProblem(upload, reading, target)
  if (unfit !== null) return unfit
  const full = await fullProblem(store.db, context)
  if (full !== null) return full
  const id = newId('import')
  await storeSource(store.db, id, upload.open())
  const country = body.country === undefined ? (await settings(store.db, context)).country : body.country
  const at = now().toISOString()
  const row: ImportRow = {
    id,
    ...ownedBy(context),
    ...{ target: body.target, target_id: body.target_id ?? null, status: 'pending', dry_run: body.dry_run ? 1 : 0 },
    ...{ filename: body.file.filename ?? '', size_bytes: upload.bytes, reading: JSON.stringify(reading), country },
    ...{ rows_read: 0, rows_written: 0, rows_duplicate: 0, rows_failed: 0, error_pieces: 0, failure: null },
    ...{ metadata: JSON.stringify(body.metadata ?? {}), told_at: null, started_at: null, finished_at: null },
    ...{ created: at, updated: at },
  }
  return context.transaction(async trx => {
    const full = await fullProblem(trx, context)
    if (full !== null) return full
    await forTenant(trx, context).insert('imports', row)
    const { organisationId, livemode } = context
    const job = { tenant: { organisationId, livemode }, import_id: id }
    await enqueue(trx, 'import.run', job, { now: now(), organisationId, key: id })
    return toImport(row)
  })
}

/** Refuses options of CSV that have no effect for another format. */
function csvProblem({ format, delimiter, header }: CreateBody): Problem | null {
  if (format !== 'ndjson') return null
  const param = delimiter != null ? 'delimiter' : header === false ? 'header' : null
  return param === null ? null : invalid(param, `${param} applies to CSV only.`)
}

async function placeProblem(
  { store }: ImportDeps,
  context: Context,
  target: ImportTarget,
  { target: name, target_id }: CreateBody,
): Promise<Problem | null> {
  const param = 'target_id'
  if (target.problemOf === undefined) {
    return target_id === undefined ? null : invalid(param, `${name} has no target_id.`)
  }
  if (target_id === undefined) return needed(param, `${name} requires target_id.`)
  return target.problemOf(store.db, context, target_id)
}

function inJson({ content_base64: text, content_sha256: said }: CreateBody['file']): Upload | Problem {
  const param = 'file.content_base64'
  if (text === undefined) return needed(param, 'file.content_base64 is missing.')
  const bytes = decodeBase64(text)
  if (bytes === null) return invalid(param, 'Not base64.')
  if (bytes.length > MAX_JSON_BYTES) {
    return problem('import_too_large', `The file has more than ${MAX_JSON_BYTES} bytes: send multipart.`, { param })
  }
  if (said !== undefined && createHash('sha256').update(bytes).digest('hex') !== said) {
    return invalid('file.content_sha256', 'The content does not match content_sha256.')
  }
  return { open: () => Readable.from([bytes], { objectMode: false }), bytes: bytes.length }
}

async function readingOf(upload: Upload, body: CreateBody): Promise<Reading> {
  const head = await headOf(upload.open())
  const encoding = encodingOf(head, body.encoding ?? 'utf-8')
  return {
    format: body.format ?? 'csv',
    encoding,
    delimiter: body.delimiter ?? delimiterOf(head, encoding),
    header: body.header ?? true,
    mapping: body.mapping ?? {},
  }
}

/** Errors that the mapping and the first record already show. */
async function columnsProblem(upload: Upload, reading: Reading, target: ImportTarget): Promise<Problem | null> {
  const columns = new Columns(target, reading.mapping)
  for (const column of Object.keys(reading.mapping)) {
    if (Object.hasOwn(target.columns, column)) continue
    const known = Object.keys(target.columns).join(', ')
    return invalid('mapping', `The target has no column ${column}; it has ${known}.`)
  }
  const sources = Object.values(reading.mapping)
  const twice = sources.find((name, i) => sources.indexOf(name) < i)
  if (twice !== undefined) return invalid('mapping', `Two columns of the target are mapped to ${twice}.`)
  if (reading.format !== 'csv') return null
  const names = await firstRow(upload, reading)
  if (typeof names === 'string') return invalid('file', names)
  if (names.some(name => name.includes(UNREADABLE))) return encodingProblem(reading)
  const stray = sources.find(name => !names.includes(name))
  if (stray !== undefined) return invalid('mapping', `The file has no column ${stray}; it has ${names.join(', ')}.`)
  const [lacking] = columns.lackingIn(names)
  if (lacking === undefined) return null
  return invalid('mapping', `No column of the file is ${lacking}; map one of ${names.join(', ')}.`)
}

const encodingProblem = ({ encoding }: Reading): Problem => {
  const others = ENCODINGS.filter(one => one !== encoding).join(', ')
  return invalid('encoding', `The column names are not valid ${encoding}: set encoding to ${others}.`)
}

/** The column names, or why there are none. */
async function firstRow(upload: Upload, reading: Reading): Promise<string[] | string> {
  try {
    for await (const { cells, width } of readRecords(upload.open(), { ...reading, header: false })) {
      return reading.header ? Object.values(cells) : Array.from({ length: width }, (_, i) => String(i + 1))
    }
  } catch (error) {
    if (error instanceof Unreadable) return `The file cannot be read: ${error.message}.`
    throw error
  }
  return 'The file is empty.'
}

async function fullProblem(db: Db, tenant: Tenant): Promise<Problem | null> {
  const open = forTenant(db, tenant).select('imports').select('id').where('status', 'in', ['pending', 'running'])
  const rows = await open.limit(MAX_OPEN).execute()
  if (rows.length < MAX_OPEN) return null
  return problem('import_limit', `${MAX_OPEN} imports are running already.`, { retryAfterS: FULL_RETRY_S })
}
