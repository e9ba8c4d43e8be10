import { cutTo } from '../../media/protocol.ts'
import { csvRecord } from '../kernel/csv.ts'
import { Columns } from './columns.ts'
import type { FileRecord } from './read.ts'
import { MAX_ROWS } from './schema.ts'
import { SeenKeys } from './seen-keys.ts'
import type { ImportRow, Reading } from './tables.ts'
import type { ImportTarget, Judging, RowFault } from './target.ts'

const MAX_SHOWN = 200

export const REPORT_COLUMNS = ['line', 'code', 'column', 'value', 'message']

interface Line {
  line: number
  code: 'invalid' | 'duplicate'
  fault: RowFault
  value: string
}

/** Some records, checked. */
export interface Batch {
  /** Number of all records. */
  size: number
  /** Rows to write; no two have the same key. */
  rows: { line: number; key: string; row: unknown }[]
  failed: number
  /** Number of rows whose key occurred earlier in the file. */
  repeated: number
  /** Report lines for rows that were not written. `isNew`: which of `rows` are new. */
  reportOf(isNew: readonly boolean[]): string
}

/** Checks the records of one import. */
export class Batches {
  readonly #target: ImportTarget
  readonly #columns: Columns
  readonly #judging: Omit<Judging, 'others'>
  /** Keys so far, for a dry run, which writes nothing that it could find in the database. */
  readonly #seen: SeenKeys | null

  constructor(target: ImportTarget, row: Pick<ImportRow, 'country' | 'created' | 'dry_run' | 'livemode' | 'reading'>) {
    this.#target = target
    this.#columns = new Columns(target, (JSON.parse(row.reading) as Reading).mapping)
    this.#judging = { country: row.country, at: row.created, livemode: row.livemode === 1 }
    this.#seen = row.dry_run === 1 ? new SeenKeys(MAX_ROWS) : null
  }

  judge(records: readonly FileRecord[]): Batch {
    const rows: Batch['rows'] = []
    const invalid: Line[] = []
    const repeated: Line[] = []
    const keys = new Set<string>()
    for (const record of records) {
      const { own, others } = this.#columns.split(record.cells)
      const checked = this.#check(record, own, others)
      if ('fault' in checked) {
        const value = checked.fault.column === null ? '' : (own[checked.fault.column] ?? '')
        invalid.push({ line: record.line, code: 'invalid', fault: checked.fault, value })
      } else if (keys.has(checked.key) || this.#seen?.add(checked.key) === false) {
        repeated.push(duplicate(record.line, checked.key))
      } else {
        keys.add(checked.key)
        rows.push({ line: record.line, ...checked })
      }
    }
    return {
      size: records.length,
      rows,
      failed: invalid.length,
      repeated: repeated.length,
      reportOf: isNew => {
        const known = rows.flatMap(({ line, key }, i) => (isNew[i] === true ? [] : [duplicate(line, key)]))
        const lines = [...invalid, ...repeated, ...known].sort((a, b) => a.line - b.line)
        return lines.map(textOf).join('')
      },
    }
  }

  #check({ fault }: FileRecord, own: Record<string, string>, others: Record<string, string>) {
    if (fault !== null) return { fault: { column: null, message: `The row ${fault}.` } }
    const lacking = Object.entries(this.#target.columns).find(
      ([column, { isRequired }]) => isRequired === true && own[column] === undefined,
    )
    if (lacking !== undefined) return { fault: { column: lacking[0], message: `${lacking[0]} is missing.` } }
    return this.#target.check(own, { ...this.#judging, others })
  }
}

const duplicate = (line: number, key: string): Line => ({
  ...{ line, code: 'duplicate', value: key },
  fault: { column: null, message: 'It already exists, or is earlier in the file.' },
})

const textOf = ({ line, code, fault, value }: Line): string =>
  csvRecord([String(line), code, fault.column ?? '', cutTo(value, MAX_SHOWN), fault.message])
