import type { Db, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'

interface Passage {
  id: string
  text: string
}

export interface Found {
  passageId: string
  /** Share of the question's distinct words that the passage contains, 0 to 1. */
  score: number
}

/** Finds passages by full-text search, for each kind of database in its own way. */
export interface PassageSearch {
  add(trx: Trx, tenant: Tenant, documentId: string, passages: Passage[]): Promise<void>
  /** Deletes so many passages of a document, and answers how many there were. SQLite takes up to 2 ms for each. */
  remove(trx: Trx, tenant: Tenant, documentId: string, limit: number): Promise<number>
  /** The stored passages that contain any word of the question, best first. `documentIds`: only of these documents; empty: of all. */
  find(db: Db, tenant: Tenant, question: string, options: { documentIds: string[]; limit: number }): Promise<Found[]>
}
