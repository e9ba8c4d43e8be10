import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { newState } from '../fast/state.ts'
import type { CopilotSessionRow } from '../tables.ts'

/** Types of events that contain what was heard. */
const HEARD = ['copilot.session.started', 'copilot.session.ended', 'copilot.alert'] as const

/** Deletes what a session has heard and shown. Its existence and its model costs stay. Undefined: there is no such session, or it is running. */
export async function forgetSession(trx: Trx, tenant: Tenant, id: string): Promise<null | undefined> {
  const row = await forTenant(trx, tenant).find('copilot_sessions', id)
  if (row === undefined || row.status === 'running') return undefined
  await forget(trx, tenant, row)
  return null
}

/** As `forgetSession`, for all sessions of an ended call. */
export async function forgetSessionsOf(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  for (const row of await sessionsOf(trx, tenant, callId)) await forget(trx, tenant, row)
}

/** Deletes the sessions of a call that is being deleted. */
export async function removeSessionsOf(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  await forgetSessionsOf(trx, tenant, callId)
  await forTenant(trx, tenant).delete('copilot_sessions').where('call_id', '=', callId).execute()
}

const sessionsOf = (trx: Trx, tenant: Tenant, callId: string): Promise<CopilotSessionRow[]> =>
  forTenant(trx, tenant).select('copilot_sessions').selectAll().where('call_id', '=', callId).execute()

async function forget(trx: Trx, tenant: Tenant, { id, call_id, created }: CopilotSessionRow): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.delete('copilot_messages').where('session_id', '=', id).execute()
  await scoped.delete('copilot_inputs').where('session_id', '=', id).execute()
  const blank = { state: JSON.stringify(newState(created)), script: null, held: null, deep: null, forgotten: 1 }
  await scoped.change('copilot_sessions', id, blank)
  await scoped
    .delete('events')
    .where('call_id', '=', call_id)
    .where('type', 'in', [...HEARD])
    .execute()
}
