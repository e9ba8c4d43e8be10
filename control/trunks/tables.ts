import type { Generated, Selectable } from 'kysely'
import type { DtmfMode, SipTransport, SrtpPolicy } from '../../media/protocol.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database extends TrunkTables {}
}

export interface TrunkTables {
  do_not_call: DoNotCallTable
  inbound_routes: InboundRouteTable
  phone_numbers: PhoneNumberTable
  connections: ConnectionTable
  connection_networks: ConnectionNetworkTable
}

/** A number that must not be called. */
export interface DoNotCallTable extends TenantColumns {
  id: string
  /** E.164; once in each organisation and mode. */
  phone: string
  reason: string
  created: string
}

export interface InboundRouteTable extends TenantColumns {
  id: string
  match_to: string | null
  match_from: string | null
  match_connection_id: string | null
  target: 'room' | 'flow' | 'assistant' | 'queue' | 'user' | 'echo' | 'announcement'
  target_id: string | null
  /** JSON of `RouteHours`, or null: at all times. */
  hours: string | null
  /** JSON of `CaptureSettings`, or null. */
  capture: Generated<string | null>
  priority: number
  created: string
  updated: string
}

export interface PhoneNumberTable extends TenantColumns {
  id: string
  number: string
  connection_id: string | null
  payment_line: number
  created: string
  updated: string
}

export interface ConnectionTable extends TenantColumns {
  id: string
  name: string
  kind: 'trunk' | 'registration' | 'peer'
  host: string | null
  port: number
  transport: SipTransport
  auth_username: string | null
  /** Sealed (`trunks/account.ts`), for a digest needs it in clear. Never returned, never logged. */
  auth_password: string | null
  allowed_ips: string
  codecs: string
  max_calls: number | null
  enabled: number
  dtmf_mode: Generated<DtmfMode>
  srtp: Generated<SrtpPolicy>
  /** What media has said of the far end; null: nothing yet. */
  status: Generated<'registered' | 'reachable' | 'unreachable' | null>
  sip_code: Generated<number | null>
  /** The node that keeps up with it, and until when it has the right to. */
  kept_by: Generated<string | null>
  kept_until: Generated<string | null>
  created: string
  updated: string
}

/** A network whose calls a connection lets in; what stands in `allowed_ips`, for an index. */
export interface ConnectionNetworkTable extends TenantColumns {
  connection_id: string
  /** A canonical CIDR block. */
  network: string
}

export type InboundRouteRow = Selectable<InboundRouteTable>
export type PhoneNumberRow = Selectable<PhoneNumberTable>
export type ConnectionRow = Selectable<ConnectionTable>
export type DoNotCallRow = Selectable<DoNotCallTable>
