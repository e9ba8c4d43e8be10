import type { Generated, Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { FlowKind } from './engine/node-type.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    flows: FlowTable
    flow_versions: FlowVersionRow
    flow_simulations: FlowSimulationTable
  }
}

interface FlowTable extends TenantColumns {
  id: string
  name: string
  description: string
  kind: FlowKind
  status: 'draft' | 'published' | 'archived'
  published_version: number | null
  latest_version: number
  draft_rev: number
  /** JSON of the draft's graph. */
  draft: string
  template_id: string | null
  /** JSON of `CaptureSettings`, or null. */
  capture: Generated<string | null>
  created: string
  updated: string
}

export interface FlowVersionRow extends TenantColumns {
  id: string
  flow_id: string
  version: number
  /** JSON. */
  graph: string
  created: string
}

interface FlowSimulationTable extends TenantColumns {
  /** SHA-256 of the `sim_…` ID, hex: the ID is the key that the state is sealed with. */
  id: string
  flow_id: string
  /** Null: the draft, as it was when the simulation began. */
  version: number | null
  graph: string
  /** A `FlowState`, sealed: callers' variables may be sensitive. */
  state: string
  ended: number
  /** A request is running the simulation until then at the latest. */
  busy_until: string | null
  expires_at: string
}

export type FlowRow = Selectable<FlowTable>
