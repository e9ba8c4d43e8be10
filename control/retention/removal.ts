import { forgetSummary } from '../callbacks/want-summary.ts'
import { forgetSessionsOf, removeSessionsOf } from '../copilot/sessions/removal.ts'
import { conflict, type Problem } from '../http/errors.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { forgetWords } from '../quality/removal.ts'
import { release } from '../usage/ledger.ts'

/** Deletes records of calls from the database. The files are deleted by the next sweep, or at once by the caller. */

/** Event types whose text is that of a transcript. */
const SPOKEN = ['call.transcript.segment', 'call.transcript.ready', 'call.turn', 'conference.notes.ready'] as const

/** Null: deleted; undefined: there was none. */
type Removed = Problem | null | undefined

export async function removeRecording(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<Removed> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.findBy('recordings', { call_id: callId })
  if (row === undefined) return undefined
  if (row.status === 'recording') return conflict('not_ready', 'The call is still being recorded: stop it first.')
  await scoped.delete('recordings').where('call_id', '=', callId).execute()
  await release(trx, tenant, callId, at)
  return null
}

/** Deletes a transcript with the events that quote it, and the turns of a flow or assistant, which are kept without a transcript too. */
export async function removeTranscript(trx: Trx, tenant: Tenant, callId: string): Promise<Removed> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('transcripts', callId)
  if (row?.status === 'running' || row?.status === 'wanted') {
    return conflict('not_ready', 'The call is still being transcribed.')
  }
  const turns = scoped.delete('call_steps').where('call_id', '=', callId).where('kind', '=', 'turn')
  const { numDeletedRows } = await turns.executeTakeFirst()
  if (row === undefined && numDeletedRows === 0n) return undefined
  await scoped.delete('transcript_segments').where('call_id', '=', callId).execute()
  await scoped.delete('transcripts').where('id', '=', callId).execute()
  await scoped.change('session_states', callId, { notes: null })
  await forgetSummary(trx, tenant, callId)
  await forgetWords(trx, tenant, callId)
  await forgetSessionsOf(trx, tenant, callId)
  await scoped
    .delete('events')
    .where('call_id', '=', callId)
    .where('type', 'in', [...SPOKEN])
    .execute()
  return null
}

export async function removeVoicemail(trx: Trx, tenant: Tenant, id: string, at: string): Promise<Removed> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('voicemails', id)
  if (row === undefined) return undefined
  if (row.status === 'recording') return conflict('not_ready', 'The message is still being recorded.')
  await scoped.delete('voicemails').where('id', '=', id).execute()
  await release(trx, tenant, id, at)
  return null
}

/** Deletes a call with everything about it, including events. A voicemail that was left in it is a separate object, and stays. */
export async function removeCall(trx: Trx, tenant: Tenant, id: string, at: string): Promise<Removed> {
  const scoped = forTenant(trx, tenant)
  const call = await scoped.find('calls', id)
  if (call === undefined) return undefined
  if (call.ended_at === null) return conflict('running', 'The call has not ended: hang it up first.')
  const refused = (await removeRecording(trx, tenant, id, at)) ?? (await removeTranscript(trx, tenant, id)) ?? null
  if (refused !== null) return refused
  for (const table of [
    'media_streams',
    'capture_pauses',
    'capture_changes',
    'call_inputs',
    'call_steps',
    'sip_traces',
  ] as const) {
    await scoped.delete(table).where('call_id', '=', id).execute()
  }
  await forgetSummary(trx, tenant, id)
  await forgetWords(trx, tenant, id)
  await removeSessionsOf(trx, tenant, id)
  await scoped.delete('rings').where('call_id', '=', id).execute()
  await scoped.delete('callback_requests').where('origin_call_id', '=', id).execute()
  // A call of a page has the ID of its token.
  const ofPage = ['web_calls', 'client_tokens', 'browser_guests'] as const
  for (const table of [...ofPage, 'queue_calls', 'call_programs', 'session_states'] as const)
    await scoped.delete(table).where('id', '=', id).execute()
  await scoped.delete('events').where('call_id', '=', id).execute()
  await scoped.update('participants').set({ session_call_id: null }).where('session_call_id', '=', id).execute()
  await scoped.delete('participants').where('call_id', '=', id).execute()
  await scoped.delete('calls').where('id', '=', id).execute()
  return null
}
