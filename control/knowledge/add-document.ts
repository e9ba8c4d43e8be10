import type { Insertable } from 'kysely'
import { newId } from '../kernel/ids.ts'
import type { Trx } from '../kernel/store/store.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { count } from '../usage/ledger.ts'
import type { PassageSearch } from './search.ts'
import type { KbDocumentRow } from './tables.ts'

/** Stores a document, its original and its passages, which can be searched from the commit on. */
export async function addDocument(
  trx: Trx,
  tenant: Tenant,
  search: PassageSearch,
  document: { row: Omit<Insertable<KbDocumentRow>, keyof TenantColumns>; original: Buffer; passages: string[] },
): Promise<void> {
  const { row, original, passages: texts } = document
  const scoped = forTenant(trx, tenant)
  await scoped.insert('kb_documents', row)
  await count(trx, tenant, { sourceId: row.id, at: row.created, amounts: { stored_bytes: original.length } })
  await scoped.insert('kb_originals', { id: row.id, content: original.toString('base64') })
  const passages = texts.map(text => ({ id: newId('kb_passage'), text }))
  for (const [position, { id, text }] of passages.entries()) {
    await scoped.insert('kb_passages', { id, document_id: row.id, position, text })
  }
  await search.add(trx, tenant, row.id, passages)
}
