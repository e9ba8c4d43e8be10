import Type, { type Static } from 'typebox'
import { apiObject, input, metadata, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { ENCODINGS } from './read.ts'
import { IMPORT_STATUSES, type ImportRow, type Reading } from './tables.ts'
import type { ImportTargets } from './target.ts'

export const MAX_ROWS = 1_000_000
export const MAX_FILE_BYTES = 256 * 1024 * 1024
/** Limit of a file sent as base64 in JSON. */
export const MAX_JSON_BYTES = 8 * 1024 * 1024

const count = (description: string) => Type.Integer({ minimum: 0, description })
const country = Type.String({ pattern: '^[A-Z]{2}$', description: 'Country of local numbers (ISO 3166).' })
const format = oneOf(['csv', 'ndjson'])
const encoding = oneOf([...ENCODINGS])

export const importSchema = apiObject('import', {
  target: Type.String({ description: 'What rows become.' }),
  target_id: nullable(Type.String()),
  status: oneOf([...IMPORT_STATUSES]),
  dry_run: Type.Boolean({ description: 'Rows are checked, but nothing is written.' }),
  file: Type.Object({
    filename: Type.String(),
    size_bytes: count('Of the upload.'),
    format,
    encoding: Type.String({
      description: 'Encoding with which the file is read. A byte order mark overrides the one requested.',
    }),
    delimiter: nullable(Type.String()),
    header: nullable(Type.Boolean()),
  }),
  mapping: Type.Record(Type.String(), Type.String()),
  country: nullable(country),
  rows: Type.Object({
    read: count('Rows processed, with any outcome.'),
    written: count('New objects; in a dry run, those that would be created.'),
    duplicate: count('Numbers that already existed, or came earlier in the file.'),
    failed: count('Rows with an error.'),
  }),
  failure: nullable(
    Type.Object(
      { code: Type.String(), message: Type.String(), line: nullable(Type.Integer()) },
      { description: 'Why the import failed. Rows written before stay.' },
    ),
  ),
  metadata,
  started_at: nullable(timestamp()),
  finished_at: nullable(timestamp()),
  created: timestamp(),
  updated: timestamp(),
})
export type Import = Static<typeof importSchema>

const columnsText = (targets: ImportTargets): string =>
  Object.entries(targets)
    .map(([name, { columns }]) => {
      const all = Object.entries(columns).map(
        ([column, { isRequired }]) => `\`${column}\`${isRequired ? ' (required)' : ''}`,
      )
      return `\`${name}\`: ${all.join(', ')}`
    })
    .join('. ')

const file = input({
  content_base64: Type.Optional(Type.String({ description: 'Up to 8 MB; larger files as `multipart/form-data`.' })),
  content_sha256: Type.Optional(
    Type.String({
      minLength: 64,
      maxLength: 64,
      description: 'Compared with the content. For a multipart request it is computed by us.',
    }),
  ),
  filename: Type.Optional(Type.String({ maxLength: 255, default: '' })),
})

/** The body of `POST /imports` with these targets. */
export const createBodyOf = (targets: ImportTargets) =>
  input({
    target: Type.Unsafe<string>({
      type: 'string',
      enum: Object.keys(targets),
      description: `What rows become, and which columns are read. ${columnsText(targets)}.`,
    }),
    target_id: Type.Optional(
      Type.String({ maxLength: 200, description: 'The object that rows belong to, if the target needs one.' }),
    ),
    file,
    format: Type.Optional({ ...format, default: 'csv' }),
    encoding: Type.Optional({ ...encoding, default: 'utf-8' }),
    delimiter: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 1,
          description: 'For CSV; null: the one of `,` `;` tab `|` that is most frequent in the first line.',
        }),
      ),
    ),
    header: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'The first line of the CSV file names the columns. Otherwise they are called `1`, `2`, …',
      }),
    ),
    mapping: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: 50,
        propertyNames: { maxLength: 40 },
        additionalProperties: { type: 'string', maxLength: 200 },
        description:
          'Columns of the file by the column of the target, if their names differ: `{"phone": "Telephone"}`.',
      }),
    ),
    country: Type.Optional(
      nullable({ ...country, description: "Country of local numbers; default: the organisation's country." }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false })),
    metadata: Type.Optional(metadata),
  })
export type CreateBody = Static<ReturnType<typeof createBodyOf>>

export function toImport(row: ImportRow): Import {
  const { format, encoding, delimiter, header, mapping } = JSON.parse(row.reading) as Reading
  const isCsv = format === 'csv'
  return showRow(importSchema, row, {
    file: {
      ...{ filename: row.filename, size_bytes: row.size_bytes, format, encoding },
      ...{ delimiter: isCsv ? delimiter : null, header: isCsv ? header : null },
    },
    mapping,
    rows: { read: row.rows_read, written: row.rows_written, duplicate: row.rows_duplicate, failed: row.rows_failed },
  })
}
