import type { Static } from 'typebox'
import { runningSession } from '../calls/conductor/rooms/sessions.ts'
import { setLocked } from '../calls/session-state.ts'
import { DEFAULT_SETTINGS, type RoomSchedule, scheduleOf, settingsOf } from '../calls/settings.ts'
import { wakeWaiting } from '../calls/steps/follow.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, type Problem } from '../http/errors.ts'
import { type Exists, referenceProblem, type UsesOf } from '../http/references.ts'
import { newId } from '../kernel/ids.ts'
import { newSecret, sha256 } from '../kernel/secrets.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import { changedPinProblem, pinColumns, pinProblem } from './pins.ts'
import { type ConferenceRoom, toConferenceRoom } from './room-schema.ts'
import { inUtc, scheduleProblem } from './schedule.ts'
import type { ChangeBody, createBody } from './schema.ts'
import { toObject } from './shown.ts'

export interface ConferenceRoomDeps {
  store: Store
  now: () => Date
  /** Base of `join_url` for guests; no trailing slash. */
  publicUrl: string
  /** The inbound routes that use a room, which then cannot be deleted. */
  usesOf: UsesOf
  userExists: Exists
}

const ALWAYS_OPEN: RoomSchedule = { start_at: null, end_at: null, recurrence: 'none', timezone: 'UTC' }

export async function createRoom(deps: ConferenceRoomDeps, context: Context, body: Static<typeof createBody>) {
  const schedule: RoomSchedule = { ...ALWAYS_OPEN, ...body.schedule }
  const refused = pinProblem(body.pin ?? null, body.moderator_pin ?? null) ?? scheduleProblem(schedule)
  if (refused !== null) return refused
  const at = deps.now().toISOString()
  const token = newSecret('guest')
  const row: ConferenceRoomRow = {
    id: newId('conference_room'),
    ...ownedBy(context),
    name: body.name,
    owner_id: body.owner_id ?? null,
    active: 1,
    ...(await pinColumns('pin', body.pin ?? null)),
    ...(await pinColumns('moderator_pin', body.moderator_pin ?? null)),
    settings: JSON.stringify({ ...DEFAULT_SETTINGS, ...withItsNeed(body.settings) }),
    schedule: JSON.stringify(inUtc(schedule)),
    link_hash: sha256(token),
    created: at,
    updated: at,
  }
  return context.transaction(async trx => {
    const ownerless = await ownerProblem(deps, trx, context, body.owner_id)
    if (ownerless !== null) return ownerless
    await forTenant(trx, context).insert('conference_rooms', row)
    return { ...toConferenceRoom(row, { dialIn: [], live: null }), join_url: joinUrl(deps, token) }
  })
}

/** Notes are taken of a transcript: who asks for them alone gets both. */
const withItsNeed = (sent: ChangeBody['settings']) => ({ ...(sent?.ai_note_taker && { transcribe: true }), ...sent })

const ownerProblem = ({ userExists }: ConferenceRoomDeps, db: Db, context: Context, id: string | null | undefined) =>
  referenceProblem(db, context, [{ param: 'owner_id', id, kind: 'user', exists: userExists }])

export async function replaceLink(deps: ConferenceRoomDeps, context: Context, id: string) {
  const token = newSecret('guest')
  const change = { link_hash: sha256(token), updated: deps.now().toISOString() }
  return context.withRow('conference_rooms', 'conference_room', id, async (trx, row) => {
    const rooms = forTenant(trx, context)
    await rooms.change('conference_rooms', id, change)
    // Who has filled in the previous link's form, and has not connected yet, does not come in any more.
    const guests = rooms.select('browser_guests').select('id').where('room_id', '=', id)
    await rooms.delete('client_tokens').where('used_at', 'is', null).where('id', 'in', guests).execute()
    return { ...(await toObject(trx, context, { ...row, ...change })), join_url: joinUrl(deps, token) }
  })
}

const joinUrl = ({ publicUrl }: ConferenceRoomDeps, token: string): string => `${publicUrl}/join/${token}`

export async function changeRoom(
  deps: ConferenceRoomDeps,
  context: Context,
  id: string,
  body: ChangeBody,
): Promise<ConferenceRoom | Problem> {
  const { name, owner_id, active } = body
  // Hashing is slow by design, so it happens before the transaction.
  const pins = {
    ...(body.pin === undefined ? {} : await pinColumns('pin', body.pin)),
    ...(body.moderator_pin === undefined ? {} : await pinColumns('moderator_pin', body.moderator_pin)),
  }
  return context.withRow('conference_rooms', 'conference_room', id, async (trx, row) => {
    // Replaced as a whole (specification, "POST /conference_rooms").
    const schedule = body.schedule === undefined ? scheduleOf(row) : { ...ALWAYS_OPEN, ...body.schedule }
    const refused =
      (await changedPinProblem(row, body)) ??
      scheduleProblem(schedule) ??
      (await ownerProblem(deps, trx, context, body.owner_id))
    if (refused !== null) return refused
    if (body.locked !== undefined) {
      const session = await runningSession(trx, row)
      if (session === undefined) return conflict('not_running', 'There is no session in progress to lock.')
      await setLocked(trx, session, body.locked)
    }
    const change: Partial<ConferenceRoomRow> = {
      ...sentColumns({ name, owner_id, active }),
      ...pins,
      settings: JSON.stringify({ ...settingsOf(row), ...withItsNeed(body.settings) }),
      schedule: JSON.stringify(inUtc(schedule)),
      updated: deps.now().toISOString(),
    }
    await forTenant(trx, context).change('conference_rooms', id, change)
    if (active === false || body.settings?.wait_for_moderator === false) wakeWaiting(trx, id)
    return toObject(trx, context, { ...row, ...change })
  })
}
