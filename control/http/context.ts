import type { Logger } from 'pino'
import type { Tenant } from '../tenancy.ts'
import type { Scope } from './scopes.ts'

/** Who asks, and by which request. It is a `Tenant`: `forTenant(db, context)`. */
export interface Context extends Tenant {
  organisationId: string
  livemode: boolean
  apiKeyId: string
  /** Null: all. */
  scopes: readonly Scope[] | null
  /** The version that renders the answer. */
  apiVersion: string
  requestId: string
  idempotencyKey: string | null
  log: Logger
}
