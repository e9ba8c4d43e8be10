import type { Generated, Selectable } from 'kysely'
import type { SipTransport } from '../../../media/protocol.ts'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

/** Tables of the devices on which agents can be reached, and of guests who join by a link. */
declare module '../../kernel/store/tables.ts' {
  interface Database extends DeviceTables {}
}

export interface DeviceTables {
  browser_sessions: BrowserSessionTable
  browser_guests: BrowserGuestTable
  sip_credentials: SipCredentialRow
  sip_registrations: SipRegistrationTable
}

/** A softphone that is connected. */
interface BrowserSessionTable extends TenantColumns {
  /** The media process's browser ID. */
  id: string
  user_id: string
  /** The node whose media process holds its WebSocket. */
  node: string
  /** The website that its token was bound to; null: none. */
  origin: string | null
  /** ID of its first session, if it has reconnected with renewed tokens; null: this one is the first. */
  device: string | null
  /** JSON of its token's metadata, which the calls that it places get. */
  metadata: Generated<string>
  connected_at: string
}

/** The guest that a client token admits to a conference room. */
interface BrowserGuestTable extends TenantColumns {
  /** ID of the call that the token opens. */
  id: string
  room_id: string
  name: string
  role: 'member' | 'moderator'
  created: string
}

/** A member's SIP account. The password itself is not stored. */
export interface SipCredentialRow extends TenantColumns {
  /** The member's ID. */
  id: string
  /** Unique across all organisations and modes. */
  username: string
  /** H(username:realm:password), hex, sealed by the vault. */
  ha1_md5: string
  ha1_sha256: string
  created: string
}

/** A contact of a member's phone; void once `expires_at` has passed. */
interface SipRegistrationTable extends TenantColumns {
  user_id: string
  /** The contact's URI. */
  contact: string
  /** The node with whose media process it registered: others reach it through that, unless `path` leads every node to it. */
  node: string
  call_id: string
  cseq: number
  transport: SipTransport
  /** Where the REGISTER came from: the next hop, also through a NAT. */
  host: string
  port: number
  /** JSON list of the proxies on the way to it, as Route values. */
  path: Generated<string>
  /** `+sip.instance` and `reg-id` of the contact (RFC 5626); null: it has none. */
  instance: string | null
  reg_id: number | null
  registered_at: string
  expires_at: string
}

export type BrowserSessionRow = Selectable<BrowserSessionTable>
export type SipRegistrationRow = Selectable<SipRegistrationTable>
