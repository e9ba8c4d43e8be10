import type { Readable } from 'node:stream'
import Type from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import { listParameters } from '../http/list.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { CSV_START, csvRecord } from '../kernel/csv.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { cancel } from '../kernel/jobs/queue.ts'
import { paged } from '../kernel/paged.ts'
import { input, oneOf } from '../kernel/schema.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { REPORT_COLUMNS } from './batches.ts'
import { createImport, type ImportDeps } from './create.ts'
import { readPieces, removePieces } from './pieces.ts'
import { createBodyOf, type Import, importSchema, MAX_FILE_BYTES, MAX_JSON_BYTES, toImport } from './schema.ts'
import { IMPORT_STATUSES } from './tables.ts'

const api = operations('Imports', 'contacts')

const listQuery = input({
  ...listParameters,
  status: Type.Optional(oneOf([...IMPORT_STATUSES])),
  target: Type.Optional(Type.String({ maxLength: 50 })),
})

/** Routes of imports: files whose rows become objects. */
export function importRoutes(deps: ImportDeps): Route[] {
  const { store } = deps
  const plain = plainOf({ store, table: 'imports', api, reply: importSchema, toObject: toImport })
  return [
    api.post({
      path: plain.path,
      id: 'createImport',
      summary: 'Import a file',
      description:
        'CSV (RFC 4180, any delimiter) or NDJSON, up to 256 MB and 1,000,000 rows. Send JSON, or `multipart/form-data` with a `file` part and the other ' +
        'parameters as parts (with `Content-Type: application/json` unless they are strings). Rows are written in the background, and events report the progress.',
      upload: { maxBytes: MAX_FILE_BYTES, tooLarge: 'import_too_large', spool: { jsonBytes: MAX_JSON_BYTES } },
      body: createBodyOf(deps.targets),
      status: 201,
      errors: [409],
      reply: importSchema,
      handler: (context, { body, spooled }) => createImport(deps, context, body, spooled),
    }),
    listRoute(plain, { query: listQuery }),
    retrieveRoute(plain),
    api.post({
      path: '/imports/:id/cancel',
      id: 'cancelImport',
      summary: 'Cancel an import',
      description: 'Rows that were written stay. 409 if it is over.',
      errors: [409],
      reply: importSchema,
      handler: (context, { params }) => cancelImport(deps, context, params.id),
    }),
    api.get({
      path: '/imports/:id/errors',
      id: 'getImportErrors',
      summary: 'Download what was not imported',
      description: `As CSV: ${REPORT_COLUMNS.join(', ')}. \`code\` is \`invalid\` or \`duplicate\`; \`line\` is the line of the file. Kept for 30 days.`,
      reply: Type.String(),
      rawType: 'text/csv',
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('imports', params.id)
        if (row === undefined) return missing('import', params.id)
        return {
          raw: paged(reportOf(readPieces(store.db, row.id, 'errors'))),
          status: 200,
          headers: {
            'content-type': 'text/csv; charset=utf-8',
            'content-disposition': `attachment; filename="${row.id}-errors.csv"`,
          },
        }
      },
    }),
  ]
}

async function* reportOf(pieces: Readable): AsyncGenerator<Buffer> {
  yield Buffer.from(CSV_START + csvRecord(REPORT_COLUMNS))
  yield* pieces as AsyncIterable<Buffer>
}

const cancelImport = ({ now }: ImportDeps, context: Context, id: string): Promise<Import | Problem> =>
  context.withRow('imports', 'import', id, async (trx, row) => {
    if (row.status !== 'pending' && row.status !== 'running')
      return conflict('import_over', `The import is ${row.status}.`)
    const at = now().toISOString()
    const change = { status: 'cancelled' as const, finished_at: at, updated: at }
    await forTenant(trx, context).change('imports', id, change)
    await cancel(trx, 'import.run', id)
    await removePieces(trx, id, 'source')
    const object = toImport({ ...row, ...change })
    await appendEvent(trx, context, { type: 'import.cancelled', at, object, before: toImport(row) })
    return object
  })
