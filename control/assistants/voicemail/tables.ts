import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    voicemails: VoicemailTable
  }
}

interface VoicemailTable extends TenantColumns {
  id: string
  call_id: string
  queue_id: string | null
  user_id: string | null
  from_address: string
  status: 'recording' | 'ready' | 'failed'
  /** File name inside the data directory's `recordings/`. */
  file: string | null
  duration_ms: number | null
  /** 1: the file is encrypted with a key of the vault. */
  encrypted: Generated<number>
  created: string
}

export type VoicemailRow = Selectable<VoicemailTable>
