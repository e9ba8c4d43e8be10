import type { Selectable } from 'kysely'
import type { TenantColumns } from '../tenant-columns.ts'

/** Tables of audio assets, the knowledge base and reports. */
export interface ContentTables {
  audio_assets: AudioAssetTable
  kb_documents: KbDocumentTable
  kb_originals: KbOriginalTable
  kb_passages: KbPassageTable
  reports: ReportTable
  report_runs: ReportRunTable
}

/** The audio is the file `audio/<id>.wav` of the data directory. */
export interface AudioAssetTable extends TenantColumns {
  id: string
  name: string
  kind: 'prompt' | 'music'
  sample_rate: number
  duration_ms: number
  text: string
  created: string
}

export interface KbDocumentTable extends TenantColumns {
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

/** Apart from its document, so that a list does not read it. */
export interface KbOriginalTable extends TenantColumns {
  /** The document's ID. */
  id: string
  /** Base64. */
  content: string
}

export interface KbPassageTable extends TenantColumns {
  id: string
  document_id: string
  position: number
  text: string
}

export interface ReportTable extends TenantColumns {
  id: string
  name: string
  kind: 'calls' | 'queues'
  period: 'day' | 'week' | 'month'
  csv: number
  pdf: number
  /** JSON list of e-mail addresses. */
  recipients: string
  created: string
}

export interface ReportRunTable extends TenantColumns {
  id: string
  report_id: string
  status: 'sent' | 'partially_sent' | 'failed' | 'completed'
  trigger: 'manual'
  period_from: string
  period_to: string
  started_at: string
  finished_at: string
  error: string | null
  csv: number
  pdf: number
  recipients: string
  /** JSON list. */
  deliveries: string
}

export type AudioAssetRow = Selectable<AudioAssetTable>
export type KbDocumentRow = Selectable<KbDocumentTable>
export type ReportRow = Selectable<ReportTable>
export type ReportRunRow = Selectable<ReportRunTable>
