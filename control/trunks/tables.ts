import type { Generated, Selectable } from 'kysely'
import type { CallerIdentity, DtmfMode, Reliability, SipTransport, SrtpPolicy } from '../../media/protocol.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

/** Format in which a far end expects numbers: E.164, the same digits without the plus, or as they are dialled in its country. */
type NumberFormat = 'e164' | 'digits' | 'national'

/** How callers over a connection are authenticated. */
export type InboundAuth = 'ip' | 'digest' | 'both'
export type InboundAlgorithm = 'MD5' | 'SHA-256'
/** When an inbound call is answered, and what its caller hears before. */
export type AnswerMode = 'at_once' | 'when_answered' | 'early_media'

/** `refuse`: 603; `bridge`: we call the target and keep the audio; `follow`: the party calls it itself, if allowed. */
type TransferPolicy = 'refuse' | 'bridge' | 'follow'

declare module '../kernel/store/tables.ts' {
  interface Database {
    do_not_call: DoNotCallTable
    inbound_routes: InboundRouteTable
    phone_numbers: PhoneNumberRow
    connections: ConnectionTable
    connection_networks: ConnectionNetworkTable
    call_starts: CallStartTable
  }
}

/** Who put a number on the do-not-call list. */
export type DoNotCallSource = 'api' | 'import' | 'call'

/** A number, or a prefix of numbers, that must not be called. */
interface DoNotCallTable extends TenantColumns {
  id: string
  /** E.164, or a prefix and `*`; unique in an organisation and mode. */
  phone: string
  reason: string
  source: Generated<DoNotCallSource>
  /** The call in which the person asked not to be called. */
  call_id: string | null
  import_id: string | null
  /** When the entry expires; null: never. */
  expires_at: string | null
  created: string
}

interface InboundRouteTable extends TenantColumns {
  id: string
  match_to: string | null
  match_from: string | null
  match_connection_id: string | null
  target: 'room' | 'flow' | 'assistant' | 'queue' | 'user' | 'park' | 'echo' | 'announcement'
  target_id: string | null
  /** JSON of `RouteHours`, or null: at all times. */
  hours: string | null
  /** JSON of `CaptureSettings`, or null. */
  capture: Generated<string | null>
  priority: number
  /** Null: the default of the target. */
  answer: Generated<AnswerMode | null>
  created: string
  updated: string
}

export interface PhoneNumberRow extends TenantColumns {
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
  /** 0: found by DNS. */
  port: number
  /** any: found by DNS. */
  transport: SipTransport | 'any'
  auth_username: string | null
  /** Sealed (`trunks/account.ts`), not hashed, since a digest needs it in clear. Never returned, never logged. */
  auth_password: string | null
  allowed_ips: string
  codecs: string
  max_calls: number | null
  calls_per_second: Generated<number | null>
  enabled: number
  dtmf_mode: Generated<DtmfMode>
  srtp: Generated<SrtpPolicy>
  /** JSON of `ConnectionHost[]`. */
  hosts: Generated<string>
  /** JSON of SIP statuses. */
  failover_on: Generated<string>
  follow_redirects: Generated<number>
  /** JSON of `Rate[]`. */
  rates: Generated<string>
  number_format: Generated<NumberFormat>
  /** ISO 3166-1 country of the national format; null: none is needed. */
  number_country: Generated<string | null>
  dial_prefix: Generated<string>
  caller_number: Generated<string | null>
  trust_identity: Generated<number>
  show_private_callers: Generated<number>
  identity: Generated<CallerIdentity['form']>
  redirect_headers: Generated<CallerIdentity['redirectForm']>
  /** As set by the client; null: derived from what is configured (`inboundAuthOf`). */
  inbound_auth: Generated<InboundAuth | null>
  inbound_username: Generated<string | null>
  inbound_algorithm: Generated<InboundAlgorithm | null>
  /** Sealed. H(username:realm:password) by each hash: never returned, never logged. */
  inbound_ha1_md5: Generated<string | null>
  inbound_ha1_sha256: Generated<string | null>
  /** What is done with a REFER of the far end, and whether ours are sent to it. */
  transfers: Generated<TransferPolicy>
  /** Calling number of calls for a transfer: the original caller's, or ours. */
  transfer_caller: Generated<'original' | 'own'>
  reliable_provisional: Generated<Reliability>
  sign_calls: Generated<number>
  verify_calls: Generated<'off' | 'show' | 'require'>
  /** Media's last report about the far end; null: none yet. */
  status: Generated<'registered' | 'reachable' | 'unreachable' | null>
  sip_code: Generated<number | null>
  /** JSON of Route values that the registrar has given (RFC 3608). */
  service_route: Generated<string>
  /** The node that has the connection's lease, and until when. */
  kept_by: Generated<string | null>
  kept_until: Generated<string | null>
  created: string
  updated: string
}

/** A network whose calls a connection allows: the content of `allowed_ips`, for an index. */
interface ConnectionNetworkTable extends TenantColumns {
  connection_id: string
  /** A canonical CIDR block. */
  network: string
}

/** When a connection with `calls_per_second` may begin its next call. */
interface CallStartTable extends TenantColumns {
  connection_id: string
  direction: 'in' | 'out'
  /** Unix time [µs]. */
  next_us: number
}

export type InboundRouteRow = Selectable<InboundRouteTable>
export type ConnectionRow = Selectable<ConnectionTable>
export type DoNotCallRow = Selectable<DoNotCallTable>
