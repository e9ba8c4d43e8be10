import Type, { type Static } from 'typebox'
import { NO_NOTES, notesOf, type SessionNotes } from '../calls/session-state.ts'
import type { CallRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem } from '../http/errors.ts'
import { type List, type ListQuery, listOf, listQuery, page } from '../http/list.ts'
import { type Route, route } from '../http/route.ts'
import { idParams, oneOf, timestamp } from '../http/schema.ts'
import type { Store } from '../store.ts'
import { forTenant } from '../tenancy.ts'

export interface RoomHistoryDeps {
  store: Store
  now: () => Date
}

const MAX_SESSIONS = 100

/** Specification, "ConferenceSession". */
const conferenceSessionSchema = Type.Object({
  id: Type.String({ description: "The session's call: its recording and transcript are fetched through the call." }),
  object: Type.Literal('conference_session'),
  livemode: Type.Boolean(),
  started_at: timestamp(),
  duration_ms: Type.Integer({ description: 'So far, while it is in progress.' }),
  participants: Type.Integer({ description: 'Who has been in it.' }),
  status: oneOf(['in_progress', 'ended']),
  notes: Type.Object(
    {
      summary: Type.String(),
      decisions: Type.Array(Type.String()),
      action_items: Type.Array(Type.String()),
    },
    { description: 'AI meeting notes; empty when nobody took any.' },
  ),
})
type ConferenceSession = Static<typeof conferenceSessionSchema>

export function roomHistoryRoutes(deps: RoomHistoryDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/conference_rooms/:id/history',
      id: 'listConferenceSessions',
      summary: "List a conference room's recent sessions",
      description: 'At most the 100 latest, newest first. Each session is a call.',
      tag: 'Conference rooms',
      scope: 'conference:read',
      params: idParams,
      query: listQuery,
      status: 200,
      reply: listOf(conferenceSessionSchema),
      errors: [404],
      handler: (context, { params, query }) => listSessions(deps, context, params.id, query),
    }),
  ]
}

async function listSessions(
  { store, now }: RoomHistoryDeps,
  context: Context,
  roomId: string,
  query: ListQuery,
): Promise<List<ConferenceSession> | Problem> {
  const scoped = forTenant(store.db, context)
  if ((await scoped.find('conference_rooms', roomId)) === undefined) return missing('conference_room', roomId)
  // A session is `queued` until media has opened its room: nobody has been in it.
  const sessions = scoped
    .select('calls')
    .where('kind', '=', 'conference')
    .where('room_id', '=', roomId)
    .where('answered_at', 'is not', null)
  const oldest = await sessions
    .select('id')
    .orderBy('id', 'desc')
    .offset(MAX_SESSIONS - 1)
    .limit(1)
    .executeTakeFirst()
  const recent = oldest === undefined ? sessions : sessions.where('id', '>=', oldest.id)
  const list = await page(recent.selectAll(), query, `/v1/conference_rooms/${roomId}/history`, row => row)
  if (isProblem(list)) return list
  const counts = await participantCounts(
    store,
    context,
    list.data.map(({ id }) => id),
  )
  const notes = await notesOf(
    store.db,
    context,
    list.data.map(({ id }) => id),
  )
  return {
    ...list,
    data: list.data.map(row => toSession(row, counts.get(row.id) ?? 0, notes.get(row.id) ?? NO_NOTES, now())),
  }
}

async function participantCounts(store: Store, context: Context, ids: string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await forTenant(store.db, context)
    .select('participants')
    .select(({ fn }) => ['session_call_id', fn.countAll<number | string>().as('count')])
    .where('session_call_id', 'in', ids)
    .where('joined_at', 'is not', null)
    .groupBy('session_call_id')
    .execute()
  return new Map(rows.map(({ session_call_id, count }) => [session_call_id ?? '', Number(count)]))
}

function toSession(row: CallRow, participants: number, notes: SessionNotes, now: Date): ConferenceSession {
  const startedAt = row.answered_at ?? row.created
  const end = row.ended_at === null ? now.getTime() : Date.parse(row.ended_at)
  return {
    id: row.id,
    object: 'conference_session',
    livemode: row.livemode === 1,
    started_at: startedAt,
    duration_ms: Math.max(0, end - Date.parse(startedAt)),
    participants,
    status: row.ended_at === null ? 'in_progress' : 'ended',
    notes,
  }
}
