import Type, { type Static } from 'typebox'
import { type Failure, isFailure, isUndecided, type LegSnapshot } from '../../media/protocol.ts'
import { roomProblem } from '../calls/conductor/rooms/room-door.ts'
import { ownSession } from '../calls/conductor/rooms/sessions.ts'
import { type DialDeps, mediaUnavailable, placeCall } from '../calls/dial.ts'
import { type Participant, participantParams, participantSchema, toParticipant } from '../calls/participant-schema.ts'
import { callsOf, noteRequest } from '../calls/records.ts'
import { audioInput } from '../calls/sound/audio-schema.ts'
import { changeSound, shownLive } from '../calls/sound/participant-audio.ts'
import { wakeWaiting } from '../calls/steps/follow.ts'
import type { CallRow, ParticipantRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { deletedObject, input, metadata, oneOf } from '../kernel/schema.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'

const api = operations('Conference rooms', 'conference')

const inviteBody = input({
  to: Type.String({ minLength: 1, maxLength: 512, description: 'A number in E.164, or a SIP URI: it is dialled.' }),
  from: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  role: Type.Optional(oneOf(['member', 'moderator'], { default: 'member' })),
  muted: Type.Optional(Type.Boolean({ default: false })),
  audio: Type.Optional(audioInput),
  timeout_s: Type.Optional(Type.Integer({ minimum: 5, maximum: 180, default: 45 })),
  metadata: Type.Optional(metadata),
})

const changeBody = input({
  muted: Type.Optional(Type.Boolean({ description: 'Nobody hears the participant.' })),
  deaf: Type.Optional(Type.Boolean({ description: 'The participant hears nobody.' })),
  held: Type.Optional(Type.Boolean({ description: 'The participant hears music, and neither hears nor is heard.' })),
  role: Type.Optional(oneOf(['member', 'moderator'])),
  audio: Type.Optional(audioInput),
})
type Change = Static<typeof changeBody>

export function roomParticipantRoutes(deps: DialDeps): Route[] {
  return [
    api.get({
      path: '/conference_rooms/:id/participants',
      id: 'listConferenceParticipants',
      summary: 'List who is in a conference room',
      description: 'Including those who are joining: being dialled, entering the PIN, waiting for a moderator.',
      query: listQuery,
      reply: listOf(participantSchema),
      handler: (context, { params, query }) => list(deps, context, params.id, query),
    }),
    api.post({
      path: '/conference_rooms/:id/participants',
      id: 'inviteConferenceParticipant',
      summary: 'Dial somebody into a conference room',
      description:
        'Joins when it answers, without a PIN. 409 with `details.reason` `room_full` if the room has reached `max_participants`.',
      body: inviteBody,
      status: 201,
      reply: participantSchema,
      errors: [409, 503],
      handler: (context, { params, body }) => invite(deps, context, params.id, body),
    }),
    api.patch({
      path: '/conference_rooms/:id/participants/:participant_id',
      id: 'updateConferenceParticipant',
      summary: 'Change a participant',
      description: 'Mutes, deafens, holds, changes its audio, or changes its role. 409 if it has left already.',
      params: participantParams,
      body: changeBody,
      reply: participantSchema,
      errors: [409, 503],
      handler: (context, { params: { id, participant_id }, body }) =>
        deps.changes.take(participant_id, () => change(deps, context, id, participant_id, body)),
    }),
    api.delete({
      path: '/conference_rooms/:id/participants/:participant_id',
      id: 'removeConferenceParticipant',
      summary: 'Remove a participant',
      description: 'Hangs it up. 409 if it has left already.',
      params: participantParams,
      reply: deletedObject('participant'),
      errors: [409, 503],
      handler: (context, { params: { id, participant_id } }) => remove(deps, context, id, participant_id),
    }),
  ]
}

async function list({ store, media }: DialDeps, context: Context, roomId: string, query: Static<typeof listQuery>) {
  if ((await findRoom(store.db, context, roomId)) === undefined) return missing('conference_room', roomId)
  const ofRoom = forTenant(store.db, context).select('calls').select('id').where('room_id', '=', roomId)
  const rows = forTenant(store.db, context)
    .select('participants')
    .selectAll()
    .where('left_at', 'is', null)
    .where('call_id', 'in', ofRoom)
  const found = await page(rows, query, `/v1/conference_rooms/${roomId}/participants`, row => row)
  if (isProblem(found)) return found
  const calls = await callsOf(store.db, context, found.data)
  const rowsOf = (row: ParticipantRow) => {
    const call = calls.get(row.call_id)
    return call === undefined ? [] : [{ participant: row, call }]
  }
  return { ...found, data: await shownLive(media, found.data.flatMap(rowsOf)) }
}

async function invite(
  deps: DialDeps,
  context: Context,
  roomId: string,
  body: Static<typeof inviteBody>,
): Promise<Participant | Problem> {
  const { store } = deps
  const room = await findRoom(store.db, context, roomId)
  if (room === undefined) return missing('conference_room', roomId)
  const shut = await roomProblem(store.db, room, { now: deps.now(), isInvited: true })
  if (shut !== null) return shut
  const asked = {
    to: body.to,
    from: body.from,
    target: { type: 'room' as const, id: room.id },
    timeoutS: body.timeout_s ?? 45,
    capture: {},
    metadata: body.metadata ?? {},
    role: body.role ?? 'member',
    muted: body.muted ?? false,
    audio: body.audio,
    isInvited: true,
    near: (await ownSession(store.db, room))?.id,
  }
  const placed = await placeCall(deps, context, asked, (trx, { call, participant }) =>
    context.keep(trx, toParticipant(participant, call)),
  )
  return 'problem' in placed ? placed : toParticipant(placed.participant, placed.call)
}

async function remove(deps: DialDeps, context: Context, roomId: string, participantId: string) {
  const { livemode } = context
  const removed = { object: 'participant' as const, id: participantId, deleted: true as const, livemode }
  const found = await find(deps, context, roomId, participantId)
  if (isProblem(found)) return context.isResumed && found.problem === 'resource_conflict' ? removed : found
  await deps.store.transaction(trx => noteRequest(trx, context, [found.participant]))
  const reply = await deps.media.request('leg.hangup', { legId: found.participant.id, reason: 'api_hangup' })
  if (isUndecided(reply)) return mediaUnavailable(reply.message)
  await deps.media.settled()
  return removed
}

const findRoom = (db: Db, tenant: Tenant, id: string) => forTenant(db, tenant).find('conference_rooms', id)

/** A participant of this room that has not left. */
async function find(
  deps: DialDeps,
  tenant: Tenant,
  roomId: string,
  participantId: string,
): Promise<{ participant: ParticipantRow; call: CallRow } | Problem> {
  const scoped = forTenant(deps.store.db, tenant)
  const participant = await scoped.find('participants', participantId)
  const call = participant === undefined ? undefined : await scoped.find('calls', participant.call_id)
  if (participant === undefined || call === undefined || call.room_id !== roomId) {
    const room = await findRoom(deps.store.db, tenant, roomId)
    if (room === undefined) return missing('conference_room', roomId)
    return { ...missing('participant', participantId), param: 'participant_id' }
  }
  return participant.left_at === null ? { participant, call } : conflict('not_running', 'The participant has left.')
}

async function change(
  deps: DialDeps,
  context: Context,
  roomId: string,
  participantId: string,
  { role, audio: sound, ...audio }: Change,
): Promise<Participant | Problem> {
  const found = await find(deps, context, roomId, participantId)
  if (isProblem(found)) return found
  const reply = await changeAudio(deps.media, participantId, audio)
  if (isFailure(reply)) {
    return isUndecided(reply) ? mediaUnavailable(reply.message) : conflict('not_running', 'The participant has left.')
  }
  const refused = sound === undefined ? null : await changeSound(deps, context, found.participant, sound)
  if (refused !== null) return refused
  // The event of its joining may not have been handled yet, and would undo this.
  await deps.media.settled()
  // Only the requested fields: the others belong to other requests, which may be newer.
  const columns = {
    ...(audio.muted === undefined ? {} : { muted: reply.muted ? 1 : 0 }),
    ...(audio.deaf === undefined ? {} : { deaf: reply.deaf ? 1 : 0 }),
    ...(audio.held === undefined ? {} : { on_hold: reply.onHold ? 1 : 0 }),
    ...(role === undefined ? {} : { role }),
  }
  const changed = await deps.store.transaction(async trx => {
    const participants = forTenant(trx, context)
    if (Object.keys(columns).length > 0) await participants.change('participants', participantId, columns)
    // A moderator may join now, and lets waiting participants in.
    if (role === 'moderator') wakeWaiting(trx, roomId)
    return participants.find('participants', participantId)
  })
  return toParticipant(changed ?? found.participant, found.call)
}

/** Changes who hears whom. Hold comes last, so that a participant who returns is already muted as requested. */
async function changeAudio(
  media: MediaPort,
  legId: string,
  { held, ...audible }: Omit<Change, 'role' | 'audio'>,
): Promise<LegSnapshot | Failure> {
  const reply = await media.request('leg.update', { legId, ...audible })
  if (held === undefined || isFailure(reply)) return reply
  return media.request('leg.hold', { legId, held, sources: [{ kind: 'music' }] })
}
