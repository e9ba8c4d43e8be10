import type { Generated, Selectable } from 'kysely'

declare module '../store/tables.ts' {
  interface Database {
    nodes: NodeTable
  }
}

/** The nodes that share the database: control processes, each with its media process. */
interface NodeTable {
  id: string
  /** When its calls were last known to be alive. */
  seen_at: string
  /** When others declared it lost and ended its calls; null: it is not lost. */
  lost_at: string | null
  /** Where the other nodes find its API (`TANDEM_NODE_URL`); null: nowhere. */
  url: Generated<string | null>
  /** Where they find its SIP, as `HOST:PORT`; null: nowhere. */
  sip: Generated<string | null>
  /** The same of its call WebSocket. */
  ws: Generated<string | null>
}

export type NodeRow = Selectable<NodeTable>
