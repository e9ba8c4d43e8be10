import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    kb_documents: KbDocumentRow
    kb_originals: KbOriginalTable
    kb_passages: KbPassageTable
  }
}

export interface KbDocumentRow extends TenantColumns {
  id: string
  name: string
  status: 'ready' | 'failed'
  error: string | null
  size_bytes: number
  passage_count: number
  /** JSON. */
  metadata: string
  created: string
}

/** Separate from its document, so that lists do not read it. */
interface KbOriginalTable extends TenantColumns {
  /** The document's ID. */
  id: string
  /** Base64. */
  content: string
}

interface KbPassageTable extends TenantColumns {
  id: string
  document_id: string
  position: number
  text: string
}
