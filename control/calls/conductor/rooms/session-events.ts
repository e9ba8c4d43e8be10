import { appendEvent } from '../../../kernel/events/log.ts'
import { rowBy } from '../../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../../kernel/tenancy.ts'
import { toCall } from '../../call-schema.ts'
import type { CallAudio } from '../../capture/call-audio.ts'
import { countAnswer } from '../../capture/used.ts'
import { startOf } from '../../duration.ts'
import { endSession, insertRecording } from '../../records.ts'
import { setActiveSpeaker } from '../../session-state.ts'
import type { ActiveSpeakerChange } from '../../sound/speaking-schema.ts'
import type { Of } from '../../steps/event-handler.ts'
import { follow } from '../../steps/follow.ts'
import type { CallRow } from '../../tables.ts'

/** The first party has entered a session's room: the conference begins. */
export async function onRoomOpened(audio: CallAudio, trx: Trx, { body, at }: Of<'room.opened'>): Promise<void> {
  const session = await runningConference(trx, body.roomId)
  if (session === undefined || session.status !== 'queued') return
  const since = startOf(trx)
  const started = { ...session, ...since, status: 'in_progress' as const, answered_at: at }
  const tenant = tenantOf(session)
  const calls = forTenant(trx, tenant).update('calls')
  await calls
    .set({ ...since, status: started.status, answered_at: at })
    .where('id', '=', session.id)
    .execute()
  await countAnswer(trx, tenant, started)
  const object = toCall(started, [])
  await appendEvent(trx, tenant, { type: 'conference.started', at, object, callId: session.id })
  if (session.record === 1) await insertRecording(trx, session, at)
  follow(trx, session.id, ({ media }) => audio.start(started, media))
}

export async function onRoomClosed(trx: Trx, { body, at }: Of<'room.closed'>): Promise<void> {
  const session = await runningConference(trx, body.roomId)
  const { durationMs, last } = body
  const end = { reason: null, at, durationMs, others: last === undefined ? [] : [last] }
  if (session !== undefined) await endSession(trx, session, end)
}

/** The active speaker has changed. */
export async function onActiveSpeaker(trx: Trx, { body, at }: Of<'room.active_speaker'>): Promise<void> {
  const session = await runningConference(trx, body.roomId)
  if (session === undefined) return
  await setActiveSpeaker(trx, session, body.legId)
  const object: ActiveSpeakerChange = {
    object: 'conference_active_speaker',
    session_call_id: session.id,
    room_id: session.room_id,
    livemode: session.livemode === 1,
    participant_id: body.legId,
  }
  const type = 'conference.active_speaker.changed'
  await appendEvent(trx, tenantOf(session), { type, at, object, callId: session.id })
}

/** Undefined for the room of a single party, which is not a session. */
async function runningConference(db: Db, roomId: string): Promise<CallRow | undefined> {
  const call = await rowBy(db, 'calls', { id: roomId })
  return call?.kind === 'conference' && call.ended_at === null ? call : undefined
}
