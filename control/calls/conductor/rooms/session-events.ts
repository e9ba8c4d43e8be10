import { appendEvent } from '../../../kernel/events/log.ts'
import { nodeOf, steadyMsOf } from '../../../kernel/store/node.ts'
import type { Db, Trx } from '../../../kernel/store/store.ts'
import { forTenant } from '../../../kernel/tenancy.ts'
import { toCall } from '../../call-schema.ts'
import type { CallAudio } from '../../capture/call-audio.ts'
import { endSession, insertRecording, tenantOf } from '../../records.ts'
import type { CallRow } from '../../tables.ts'
import type { FollowUp, Of } from '../event-handler.ts'

/** The first party has entered a session's room: the conference begins. */
export async function onRoomOpened(
  audio: CallAudio,
  trx: Trx,
  { body, at }: Of<'room.opened'>,
): Promise<FollowUp | null> {
  const session = await runningConference(trx, body.roomId)
  if (session === undefined || session.status !== 'queued') return null
  const since = { started_ms: steadyMsOf(trx), started_on: nodeOf(trx) }
  const started = { ...session, ...since, status: 'in_progress' as const, answered_at: at }
  const tenant = tenantOf(session)
  const calls = forTenant(trx, tenant).update('calls')
  await calls
    .set({ ...since, status: started.status, answered_at: at })
    .where('id', '=', session.id)
    .execute()
  const object = toCall(started, [])
  await appendEvent(trx, tenant, { type: 'conference.started', at, object, callId: session.id })
  if (session.record === 1) await insertRecording(trx, session, at)
  return media => audio.start(started, media)
}

export async function onRoomClosed(trx: Trx, { body, at }: Of<'room.closed'>): Promise<null> {
  const session = await runningConference(trx, body.roomId)
  if (session !== undefined) await endSession(trx, session, { reason: null, at, durationMs: body.durationMs })
  return null
}

/** Undefined for the room of a single party, which is no session. */
async function runningConference(db: Db, roomId: string): Promise<CallRow | undefined> {
  const call = await db.selectFrom('calls').selectAll().where('id', '=', roomId).executeTakeFirst()
  return call?.kind === 'conference' && call.ended_at === null ? call : undefined
}
