import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database extends CopilotTables {}
}

export interface CopilotTables {
  copilot_profiles: CopilotProfileTable
}

export interface CopilotProfileTable extends TenantColumns {
  id: string
  name: string
  version: number
  template_id: string | null
  /** `script.flow_id`, for "who uses this flow?". */
  flow_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

export type CopilotProfileRow = Selectable<CopilotProfileTable>
