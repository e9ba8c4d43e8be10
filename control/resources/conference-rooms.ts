import { IANAZone } from 'luxon'
import Type, { type Static } from 'typebox'
import { runningSession } from '../calls/seat.ts'
import { isLocked, setLocked } from '../calls/session-state.ts'
import { DEFAULT_SETTINGS, type RoomSchedule, scheduleOf, settingsOf } from '../calls/settings.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { type Route, route } from '../http/route.ts'
import { deletedObject, idParams, input, nullable, partialInput } from '../http/schema.ts'
import { newId } from '../ids.ts'
import {
  type ConferenceRoom,
  conferenceRoomSchema,
  conferenceRoomWithLinkSchema,
  type RoomFacts,
  roomSchedule,
  roomSettings,
  toConferenceRoom,
} from '../schemas/conference-room.ts'
import { hashPin, newSecret, sha256, verifyPin } from '../secrets.ts'
import type { Db, Store } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

export interface ConferenceRoomDeps {
  store: Store
  now: () => Date
  /** Where guests find us, for `join_url`; no slash at its end. */
  publicUrl: string
}

const pin = (description: string) => Type.String({ pattern: '^[0-9]{4,8}$', description })
const fields = {
  pin: pin('Participant PIN for dial-in, 4 to 8 digits.'),
  moderator_pin: pin('Different from the participant PIN.'),
  settings: partialInput(roomSettings),
  schedule: partialInput(roomSchedule),
}
const name = Type.String({ minLength: 1, maxLength: 200 })

const createBody = input({
  name,
  pin: Type.Optional(fields.pin),
  moderator_pin: Type.Optional(fields.moderator_pin),
  settings: Type.Optional(fields.settings),
  schedule: Type.Optional(fields.schedule),
})

const changeBody = input({
  name: Type.Optional(name),
  active: Type.Optional(Type.Boolean()),
  locked: Type.Optional(
    Type.Boolean({
      description: 'Of the session in progress: only moderators come in, and who is dialled from within.',
    }),
  ),
  pin: Type.Optional(nullable(fields.pin)),
  moderator_pin: Type.Optional(nullable(fields.moderator_pin)),
  settings: Type.Optional(fields.settings),
  schedule: Type.Optional(fields.schedule),
})
type Change = Static<typeof changeBody>

export function conferenceRoomRoutes(deps: ConferenceRoomDeps): Route[] {
  const { store } = deps
  return [
    route({
      method: 'POST',
      path: '/conference_rooms',
      id: 'createConferenceRoom',
      summary: 'Create a conference room',
      description: 'Phone dial-in comes from an inbound route to the room.',
      tag: 'Conference rooms',
      scope: 'conference:write',
      body: createBody,
      status: 200,
      reply: conferenceRoomWithLinkSchema,
      errors: [409],
      handler: (context, { body }) => createRoom(deps, context, body),
    }),
    route({
      method: 'GET',
      path: '/conference_rooms',
      id: 'listConferenceRooms',
      summary: 'List active conference rooms',
      tag: 'Conference rooms',
      scope: 'conference:read',
      query: listQuery,
      status: 200,
      reply: listOf(conferenceRoomSchema),
      handler: async (context, { query }) => {
        const rows = forTenant(store.db, context).select('conference_rooms').selectAll().where('active', '=', 1)
        const list = await page(rows, query, '/v1/conference_rooms', row => row)
        if (isProblem(list)) return list
        return { ...list, data: await Promise.all(list.data.map(row => toObject(store.db, context, row))) }
      },
    }),
    route({
      method: 'GET',
      path: '/conference_rooms/:id',
      id: 'getConferenceRoom',
      summary: 'Retrieve a conference room',
      tag: 'Conference rooms',
      scope: 'conference:read',
      params: idParams,
      status: 200,
      reply: conferenceRoomSchema,
      errors: [404],
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('conference_rooms', params.id)
        return row === undefined ? missing('conference_room', params.id) : toObject(store.db, context, row)
      },
    }),
    route({
      method: 'POST',
      path: '/conference_rooms/:id/links',
      id: 'createConferenceRoomLink',
      summary: "Replace a conference room's guest link",
      description: 'The previous link stops working at once; the new one is shown only now.',
      tag: 'Conference rooms',
      scope: 'conference:write',
      params: idParams,
      status: 200,
      reply: conferenceRoomWithLinkSchema,
      errors: [404, 409],
      handler: (context, { params }) => replaceLink(deps, context, params.id),
    }),
    route({
      method: 'PATCH',
      path: '/conference_rooms/:id',
      id: 'updateConferenceRoom',
      summary: 'Change a conference room',
      description:
        'Changes what is sent; a PIN of null is no PIN. A session that is running keeps its settings. 409 for `locked` when none is.',
      tag: 'Conference rooms',
      scope: 'conference:write',
      params: idParams,
      body: changeBody,
      status: 200,
      reply: conferenceRoomSchema,
      errors: [404, 409],
      handler: (context, { params, body }) => changeRoom(deps, context, params.id, body),
    }),
    route({
      method: 'DELETE',
      path: '/conference_rooms/:id',
      id: 'deleteConferenceRoom',
      summary: 'Delete a conference room',
      description:
        '409 while a session is running or an inbound route leads to it; `details.used_by` lists the routes.',
      tag: 'Conference rooms',
      scope: 'conference:write',
      params: idParams,
      status: 200,
      reply: deletedObject('conference_room'),
      errors: [404, 409],
      handler: (context, { params }) => deleteRoom(deps, context, params.id),
    }),
  ]
}

async function createRoom(deps: ConferenceRoomDeps, context: Context, body: Static<typeof createBody>) {
  const schedule: RoomSchedule = {
    start_at: null,
    end_at: null,
    recurrence: 'none',
    timezone: 'UTC',
    ...body.schedule,
  }
  const refused = pinProblem(body.pin ?? null, body.moderator_pin ?? null) ?? scheduleProblem(schedule)
  if (refused !== null) return refused
  const at = deps.now().toISOString()
  const token = newSecret('guest')
  const row: ConferenceRoomRow = {
    id: newId('conference_room'),
    organisation_id: context.organisationId,
    livemode: context.livemode ? 1 : 0,
    name: body.name,
    owner_id: null,
    active: 1,
    ...(await pinColumns('pin', body.pin ?? null)),
    ...(await pinColumns('moderator_pin', body.moderator_pin ?? null)),
    settings: JSON.stringify({ ...DEFAULT_SETTINGS, ...body.settings }),
    schedule: JSON.stringify(inUtc(schedule)),
    link_hash: sha256(token),
    created: at,
    updated: at,
  }
  await forTenant(deps.store.db, context).insert('conference_rooms', row)
  return { ...toConferenceRoom(row, { dialIn: [], live: null }), join_url: joinUrl(deps, token) }
}

async function replaceLink(deps: ConferenceRoomDeps, context: Context, id: string) {
  const token = newSecret('guest')
  const change = { link_hash: sha256(token), updated: deps.now().toISOString() }
  const rooms = forTenant(deps.store.db, context)
  await rooms.update('conference_rooms').set(change).where('id', '=', id).execute()
  const row = await rooms.find('conference_rooms', id)
  if (row === undefined) return missing('conference_room', id)
  return { ...(await toObject(deps.store.db, context, row)), join_url: joinUrl(deps, token) }
}

const joinUrl = ({ publicUrl }: ConferenceRoomDeps, token: string): string => `${publicUrl}/join/${token}`

async function changeRoom(
  deps: ConferenceRoomDeps,
  context: Context,
  id: string,
  body: Change,
): Promise<ConferenceRoom | Problem> {
  // Slow by design, so before the transaction.
  const pins = {
    ...(body.pin === undefined ? {} : await pinColumns('pin', body.pin)),
    ...(body.moderator_pin === undefined ? {} : await pinColumns('moderator_pin', body.moderator_pin)),
  }
  return deps.store.transaction(async trx => {
    const row = await forTenant(trx, context).find('conference_rooms', id)
    if (row === undefined) return missing('conference_room', id)
    const schedule = { ...scheduleOf(row), ...body.schedule }
    const refused = (await changedPinProblem(row, body)) ?? scheduleProblem(schedule)
    if (refused !== null) return refused
    if (body.locked !== undefined) {
      const session = await runningSession(trx, row)
      if (session === undefined) return conflict('not_running', 'No session is in progress that could be locked.')
      await setLocked(trx, session, body.locked)
    }
    const change: Partial<ConferenceRoomRow> = {
      ...(body.name === undefined ? {} : { name: body.name }),
      ...(body.active === undefined ? {} : { active: body.active ? 1 : 0 }),
      ...pins,
      settings: JSON.stringify({ ...settingsOf(row), ...body.settings }),
      schedule: JSON.stringify(inUtc(schedule)),
      updated: deps.now().toISOString(),
    }
    await forTenant(trx, context).update('conference_rooms').set(change).where('id', '=', id).execute()
    return toObject(trx, context, { ...row, ...change })
  })
}

async function deleteRoom(deps: ConferenceRoomDeps, context: Context, id: string) {
  return deps.store.transaction(async trx => {
    const row = await forTenant(trx, context).find('conference_rooms', id)
    if (row === undefined) return missing('conference_room', id)
    if ((await runningSession(trx, row)) !== undefined) return conflict('in_use', 'A session is running in the room.')
    const routes = await routesTo(trx, context, id)
    if (routes.length > 0) {
      const details = { reason: 'in_use', used_by: routes.map(({ id }) => ({ object: 'inbound_route', id })) }
      return problem('resource_conflict', 'Inbound routes lead to the room.', { details })
    }
    await forTenant(trx, context).delete('conference_rooms').where('id', '=', id).execute()
    return { object: 'conference_room' as const, id, deleted: true as const, livemode: context.livemode }
  })
}

async function pinColumns(column: 'pin' | 'moderator_pin', digits: string | null) {
  const hash = digits === null ? null : await hashPin(digits)
  return { [`${column}_hash`]: hash, [`${column}_length`]: digits?.length ?? null } as Pick<
    ConferenceRoomRow,
    'pin_hash' | 'pin_length' | 'moderator_pin_hash' | 'moderator_pin_length'
  >
}

/** The same for a change of one of the two: the other is known by its hash only. */
async function changedPinProblem(row: ConferenceRoomRow, { pin, moderator_pin }: Change): Promise<Problem | null> {
  if (pin !== undefined && moderator_pin !== undefined) return pinProblem(pin, moderator_pin)
  const digits = pin ?? moderator_pin ?? null
  const other = pin === undefined ? row.pin_hash : row.moderator_pin_hash
  const isSame = digits !== null && other !== null && (await verifyPin(digits, other))
  return isSame ? pinProblem(digits, digits) : null
}

const pinProblem = (participant: string | null, moderator: string | null): Problem | null =>
  moderator !== null && moderator === participant
    ? problem('parameter_invalid', 'The moderator PIN must differ from the participant PIN.', {
        param: 'moderator_pin',
      })
    : null

function scheduleProblem(schedule: RoomSchedule): Problem | null {
  const invalid = (param: string, message: string): Problem =>
    problem('parameter_invalid', message, { param: `schedule.${param}` })
  if (!IANAZone.isValidZone(schedule.timezone)) return invalid('timezone', `No time zone ${schedule.timezone}.`)
  const { start_at, end_at } = schedule
  // A leap second is a date-time of RFC 3339, and none that a JavaScript date can hold.
  if (start_at !== null && !isDate(start_at)) return invalid('start_at', 'start_at is no time that we can keep.')
  if (end_at !== null && !isDate(end_at)) return invalid('end_at', 'end_at is no time that we can keep.')
  if (start_at === null) return end_at === null ? null : invalid('end_at', 'end_at needs start_at.')
  return end_at !== null && Date.parse(end_at) <= Date.parse(start_at)
    ? invalid('end_at', 'end_at must be after start_at.')
    : null
}

const isDate = (text: string): boolean => !Number.isNaN(Date.parse(text))

/** Requests may carry an offset; answers are in UTC. */
const inUtc = (schedule: RoomSchedule): RoomSchedule => ({
  ...schedule,
  start_at: schedule.start_at === null ? null : new Date(schedule.start_at).toISOString(),
  end_at: schedule.end_at === null ? null : new Date(schedule.end_at).toISOString(),
})

const toObject = async (db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<ConferenceRoom> =>
  toConferenceRoom(row, await factsOf(db, tenant, row))

const routesTo = (db: Db, tenant: Tenant, roomId: string) =>
  forTenant(db, tenant)
    .select('inbound_routes')
    .select(['id', 'match_to'])
    .where('target', '=', 'room')
    .where('target_id', '=', roomId)
    .orderBy('id')
    .execute()

async function factsOf(db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<RoomFacts> {
  const dialIn = (await routesTo(db, tenant, row.id)).flatMap(({ match_to }) => (match_to === null ? [] : [match_to]))
  const session = await runningSession(db, row)
  if (session === undefined || session.status === 'queued') return { dialIn, live: null }
  const seated = await forTenant(db, tenant)
    .select('participants')
    .select('id')
    .where('session_call_id', '=', session.id)
    .where('joined_at', 'is not', null)
    .where('left_at', 'is', null)
    .execute()
  const started_at = session.answered_at ?? session.created
  const locked = await isLocked(db, session, row)
  return { dialIn, live: { call_id: session.id, started_at, participants: seated.length, locked } }
}
