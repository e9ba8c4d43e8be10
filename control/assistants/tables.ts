import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    assistants: AssistantRow
  }
}

export interface AssistantRow extends TenantColumns {
  id: string
  name: string
  /** The assistant's flow, so that the users of a flow can be found. */
  flow_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}
