import { runningSession } from '../calls/conductor/rooms/sessions.ts'
import { wakeWaiting } from '../calls/steps/follow.ts'
import { conflict, isProblem } from '../http/errors.ts'
import { listOf, pageOf } from '../http/list.ts'
import { deleteRoute, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { type ConferenceRoomDeps, changeRoom, createRoom, replaceLink } from './room.ts'
import { conferenceRoomSchema, conferenceRoomWithLinkSchema } from './room-schema.ts'
import { changeBody, createBody, roomListQuery } from './schema.ts'
import { toObject } from './shown.ts'

const api = operations('Conference rooms', 'conference')

export function conferenceRoomRoutes(deps: ConferenceRoomDeps): Route[] {
  const { store } = deps
  const plain = {
    store,
    table: 'conference_rooms',
    object: 'conference_room',
    path: '/conference_rooms',
    api,
  } as const
  return [
    api.post({
      path: '/conference_rooms',
      id: 'createConferenceRoom',
      summary: 'Create a conference room',
      description: 'Phones dial in by an inbound route to the room.',
      body: createBody,
      reply: conferenceRoomWithLinkSchema,
      errors: [409],
      handler: (context, { body }) => createRoom(deps, context, body),
    }),
    api.get({
      path: '/conference_rooms',
      id: 'listConferenceRooms',
      summary: 'List active conference rooms',
      query: roomListQuery,
      reply: listOf(conferenceRoomSchema),
      handler: async (context, { query }) => {
        const asked = { db: store.db, tenant: context, where: { active: 1, owner_id: query.owner_id } }
        const list = await pageOf({ ...asked, table: 'conference_rooms' }, query, '/v1/conference_rooms', row => row)
        if (isProblem(list)) return list
        return { ...list, data: await Promise.all(list.data.map(row => toObject(store.db, context, row))) }
      },
    }),
    retrieveRoute({
      ...plain,
      reply: conferenceRoomSchema,
      toObject: (row, context) => toObject(store.db, context, row),
    }),
    api.post({
      path: '/conference_rooms/:id/links',
      id: 'createConferenceRoomLink',
      summary: "Replace a conference room's guest link",
      description: 'The previous link stops working at once; the new one is returned only once.',
      reply: conferenceRoomWithLinkSchema,
      errors: [409],
      handler: (context, { params }) => replaceLink(deps, context, params.id),
    }),
    api.patch({
      path: '/conference_rooms/:id',
      id: 'updateConferenceRoom',
      summary: 'Change a conference room',
      description:
        'Updates the fields sent, a `schedule` as a whole. A PIN of null removes the PIN. A running session keeps `record`, `transcribe`, `announce`, and its audio settings if it has any; `max_participants` counts for who comes from then on. 409 for `locked` without a session.',
      body: changeBody,
      reply: conferenceRoomSchema,
      errors: [409],
      handler: (context, { params, body }) => changeRoom(deps, context, params.id, body),
    }),
    deleteRoute(plain, {
      description:
        '409 while a session is running or an inbound route leads to it; `details.used_by` lists the routes.',
      usesOf: deps.usesOf,
      before: async (trx, _context, row) => {
        wakeWaiting(trx, row.id)
        const isRunning = (await runningSession(trx, row)) !== undefined
        return isRunning ? conflict('in_use', 'A session is running in the room.') : null
      },
    }),
  ]
}
