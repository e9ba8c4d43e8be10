import { NO_NOTES, notesOf } from '../calls/session-state.ts'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem } from '../http/errors.ts'
import { type List, type ListQuery, listOf, listQuery, page } from '../http/list.ts'
import type { NounParts } from '../http/noun.ts'
import { operations, type Route } from '../http/route.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { participantCounts } from './conference-session.ts'
import { type ConferenceSession, conferenceSessionSchema, toSession } from './session-schema.ts'

const api = operations('Conference rooms', 'conference')

const MAX_SESSIONS = 100

export function roomHistoryRoutes(deps: NounParts): Route[] {
  return [
    api.get({
      path: '/conference_rooms/:id/history',
      id: 'listConferenceSessions',
      summary: "List a conference room's recent sessions",
      description: 'At most the 100 latest, newest first. Each session is a call.',
      query: listQuery,
      reply: listOf(conferenceSessionSchema),
      handler: (context, { params, query }) => listSessions(deps, context, params.id, query),
    }),
  ]
}

async function listSessions(
  { store, now }: NounParts,
  context: Context,
  roomId: string,
  query: ListQuery,
): Promise<List<ConferenceSession> | Problem> {
  const scoped = forTenant(store.db, context)
  if ((await scoped.find('conference_rooms', roomId)) === undefined) return missing('conference_room', roomId)
  // A `queued` session is left out: media has not opened its room, and nobody was in it.
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
  const ids = list.data.map(({ id }) => id)
  const counts = await participantCounts(store.db, context, ids)
  const notes = await notesOf(store.db, context, ids)
  return {
    ...list,
    data: list.data.map(row =>
      toSession(store.db, row, {
        participants: counts.get(row.id) ?? 0,
        notes: notes.get(row.id) ?? NO_NOTES,
        now: now(),
      }),
    ),
  }
}
