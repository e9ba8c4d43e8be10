import { conflict, missing, type Problem } from '../http/errors.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { callCaptureOf } from './capture/call-capture.ts'
import type { CallRow } from './tables.ts'

/** A call whose capture can be started now. */
export async function keepableCall(db: Db, tenant: Tenant, id: string): Promise<CallRow | Problem> {
  const call = await forTenant(db, tenant).find('calls', id)
  if (call === undefined) return missing('call', id)
  if (call.ended_at === null && callCaptureOf(call)?.asked === 'asking') {
    return conflict('being_asked', 'The recording announcement or question is being played to the caller.')
  }
  return call.ended_at === null && call.answered_at !== null
    ? call
    : conflict('not_running', 'The call is not in progress.')
}
