import type { Generated, Selectable } from 'kysely'
import type { SipTransport } from '../../../media/protocol.ts'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

/** Tables of what agents can be reached at, and of guests who come by a link. */
declare module '../../kernel/store/tables.ts' {
  interface Database extends DeviceTables {}
}

export interface DeviceTables {
  browser_sessions: BrowserSessionTable
  browser_guests: BrowserGuestTable
  sip_credentials: SipCredentialTable
  sip_registrations: SipRegistrationTable
}

/** A softphone that is connected. */
export interface BrowserSessionTable extends TenantColumns {
  /** The media process's browser ID. */
  id: string
  user_id: string
  /** The node whose media process holds its WebSocket. */
  node: string
  /** The website that its token was bound to; null: none. */
  origin: string | null
  /** The first of the connections that it has had, one after the other by renewed tokens; null: this one. */
  device: string | null
  /** JSON of its token's: of the calls that it places. */
  metadata: Generated<string>
  connected_at: string
}

/** The guest that a client token admits to a conference room. */
export interface BrowserGuestTable extends TenantColumns {
  /** Of the call that the token opens. */
  id: string
  room_id: string
  name: string
  role: 'member' | 'moderator'
  created: string
}

/** One for each member; the password itself is nowhere. */
export interface SipCredentialTable extends TenantColumns {
  /** The member's ID. */
  id: string
  /** For one member, in all organisations and modes. */
  username: string
  /** H(username:realm:password), hex, sealed by the vault. */
  ha1_md5: string
  ha1_sha256: string
  created: string
}

/** A contact of a member's phone; void once `expires_at` has passed. */
export interface SipRegistrationTable extends TenantColumns {
  user_id: string
  /** The contact's URI. */
  contact: string
  /** The node whose media process it registered with, which alone reaches it. */
  node: string
  call_id: string
  cseq: number
  transport: SipTransport
  /** Where the REGISTER came from: the next hop, also through a NAT. */
  host: string
  port: number
  /** JSON list of the proxies on the way to it, as Route values. */
  path: Generated<string>
  /** Its phone, and which of the phone's ways to us it is (RFC 5626); null: it does not number them. */
  instance: string | null
  reg_id: number | null
  registered_at: string
  expires_at: string
}

export type BrowserSessionRow = Selectable<BrowserSessionTable>
export type SipCredentialRow = Selectable<SipCredentialTable>
export type SipRegistrationRow = Selectable<SipRegistrationTable>
