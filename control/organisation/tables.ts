import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    teams: TeamRow
    users: UserRow
    invitations: InvitationRow
  }
}

export interface TeamRow extends TenantColumns {
  id: string
  name: string
  created: string
}

export type UserRole = 'owner' | 'admin' | 'supervisor' | 'agent'
type UserStatus = 'active' | 'deactivated' | 'invited'

export interface UserRow extends TenantColumns {
  id: string
  name: string
  /** In lower case; unique. */
  email: string
  email_verified: number
  role: UserRole
  status: UserStatus
  team_id: string | null
  extension: string | null
  takes_seat: number
  last_login: string | null
  /** When the member last lost a device that may come back. */
  device_lost_at: string | null
  created: string
}

export interface InvitationRow extends TenantColumns {
  id: string
  user_id: string
  /** SHA-256 of the token in its link, hex. */
  token_hash: string | null
  accepted_at: string | null
  revoked_at: string | null
  expires_at: string
  created: string
}
