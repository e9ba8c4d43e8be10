import type { Problem } from '../http/errors.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'

/** A column that a target reads. */
interface TargetColumn {
  description: string
  isRequired?: boolean
}

/** Context for checking a row. */
export interface Judging {
  /** Country of local numbers, ISO 3166; null: E.164 only. */
  country: string | null
  /** When the import was asked for. */
  at: string
  livemode: boolean
  /** Cells of columns that the target does not know, by their names. */
  others: Readonly<Record<string, string>>
}

/** Context for writing rows. */
interface Writing {
  tenant: Tenant
  importId: string
  /** The object that they belong to; null: the target takes none. */
  targetId: string | null
  at: string
}

export interface RowFault {
  /** Null: the whole row. */
  column: string | null
  message: string
}

type Checked<Row> = { key: string; row: Row } | { fault: RowFault }

/**
 * A target of imports: one file in the folder of its noun, and one line in `wiring/import-targets.ts` (docs/imports.md). It has no
 * state between calls, and knows nothing about files.
 */
export interface ImportTarget<Row = unknown> {
  /** By name. */
  columns: Readonly<Record<string, TargetColumn>>
  /** Why `target_id` names nothing that takes rows; absent: the target takes no `target_id`, otherwise it must be sent. */
  problemOf?(db: Db, tenant: Tenant, targetId: string): Promise<Problem | null>
  /** The row and its key (its number), or what is wrong with it. `cells`: by column, trimmed, without empty ones. */
  check(cells: Readonly<Record<string, string>>, judging: Judging): Checked<Row>
  /** Writes rows of different keys. Tells of each whether it is new: one that was there before is a duplicate. */
  write(trx: Trx, rows: readonly Row[], writing: Writing): Promise<boolean[]>
}

/** By the word that `target` has in the API. */
export type ImportTargets = Readonly<Record<string, ImportTarget>>

/** Hides the type of the rows, which pass from its `check` to its `write` and are nobody else's. */
export const importTarget = <Row>(target: ImportTarget<Row>): ImportTarget => target as ImportTarget

export const fault = (column: string | null, message: string): { fault: RowFault } => ({ fault: { column, message } })
