import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { ToolKind } from './built-in.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    tools: ToolRow
    tool_versions: ToolVersionRow
  }
}

export interface ToolRow extends TenantColumns {
  id: string
  name: string
  kind: ToolKind
  version: number
  /** JSON of the `Definition` of this version. */
  definition: string
  /** JSON: the names of the secrets in it. */
  secrets: string
  /** JSON. */
  metadata: string
  created: string
  updated: string
}

export interface ToolVersionRow extends TenantColumns {
  id: string
  tool_id: string
  version: number
  /** JSON of a `Definition`. */
  definition: string
  created: string
}
