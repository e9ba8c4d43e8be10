import type { Failure } from '../../media/protocol.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { callCaptureOf } from './capture/call-capture.ts'
import { mediaUnavailable } from './dial.ts'
import type { CallRow } from './tables.ts'

/** A call whose capture can be started now. */
export async function keepableCall(db: Db, tenant: Tenant, id: string): Promise<CallRow | Problem> {
  const call = await forTenant(db, tenant).find('calls', id)
  if (call === undefined) return missing('call', id)
  if (call.ended_at === null && callCaptureOf(call)?.asked === 'asking') {
    return conflict('being_asked', 'The recording announcement or question is being played to the caller.')
  }
  return notRunning(call) ?? call
}

export const hasEnded = (): Problem => conflict('not_running', 'The call has ended.')

/** Why nothing can be done in the call now; null: it is in progress. */
export function notRunning({ ended_at, answered_at }: CallRow): Problem | null {
  if (ended_at !== null) return hasEnded()
  return answered_at === null ? conflict('not_running', 'The call is not answered yet.') : null
}

/** Media captures a call in the call's own room, which there is no more once its party is in a conference room. */
export function refusedByMedia(what: 'recorded' | 'transcribed', { failure, message }: Failure): Problem {
  if (failure === 'unavailable') return mediaUnavailable(message)
  if (failure === 'ended') return conflict('not_possible', `The call was ${what} before, which happens once.`)
  const why = failure === 'not_found' ? 'it is in a conference room, whose session can be' : message
  return conflict('not_possible', `The call cannot be ${what}: ${why}.`)
}
