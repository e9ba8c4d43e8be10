import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    imports: ImportRow
    import_pieces: ImportPieceTable
  }
}

export const IMPORT_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const
type ImportStatus = (typeof IMPORT_STATUSES)[number]

export interface ImportRow extends TenantColumns {
  id: string
  target: string
  target_id: string | null
  status: ImportStatus
  dry_run: number
  filename: string
  size_bytes: number
  /** JSON of `Reading`. */
  reading: string
  country: string | null
  /** Progress, written in the transaction of the rows. */
  rows_read: number
  rows_written: number
  rows_duplicate: number
  rows_failed: number
  error_pieces: number
  /** JSON of `ImportFailure`, or null. */
  failure: string | null
  metadata: string
  /** When progress was last reported. */
  told_at: string | null
  started_at: string | null
  finished_at: string | null
  created: string
  updated: string
}

/** `source`: the uploaded file; `errors`: its error report. */
export interface ImportPieceTable {
  import_id: string
  file: 'source' | 'errors'
  position: number
  /** Base64. */
  content: string
}

/** How a file is read. */
export interface Reading {
  format: 'csv' | 'ndjson'
  encoding: string
  /** CSV only. */
  delimiter: string
  header: boolean
  /** Column of the target by column of the file. */
  mapping: Record<string, string>
}

export interface ImportFailure {
  code: string
  message: string
  /** Line in the file, from 1; null: no line. */
  line: number | null
}
