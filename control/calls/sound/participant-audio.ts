import Type, { type Static } from 'typebox'
import { isFailure, isUndecided, type LegAudio } from '../../../media/protocol.ts'
import type { Context } from '../../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { input } from '../../kernel/schema.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { type DialDeps, mediaUnavailable } from '../dial.ts'
import { type Participant, participantParams, participantSchema, toParticipant } from '../participant-schema.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'
import { type AudioInput, audioInput, changedAudio, soundOf } from './audio-schema.ts'

const api = operations('Calls', 'calls')

type Deps = Pick<DialDeps, 'store' | 'media' | 'changes'>

/** How long a list may wait for the speakers [ms]. */
const VOICE_DEADLINE_MS = 500

const changeBody = input({ audio: Type.Optional(audioInput) })

/** Changes of a participant in any call; conference rooms have their own. */
export const participantAudioRoute = (deps: Deps): Route =>
  api.patch({
    path: '/calls/:id/participants/:participant_id',
    id: 'updateCallParticipant',
    summary: "Change a participant's audio",
    description:
      'Gain, automatic gain, noise suppression and speech events. Takes effect at once. Fields that are not sent keep their value. 409 if the participant has left.',
    params: participantParams,
    body: changeBody,
    reply: participantSchema,
    errors: [409, 503],
    handler: (context, { params, body }) =>
      deps.changes.take(params.participant_id, async () => {
        const found = await find(deps, context, params)
        if (isProblem(found)) return found
        const { participant, call } = found
        const refused = body.audio === undefined ? null : await changeSound(deps, context, participant, body.audio)
        if (refused !== null) return refused
        const changed = await forTenant(deps.store.db, context).find('participants', participant.id)
        const [shown] = await shownLive(deps.media, [{ participant: changed ?? participant, call }])
        return shown ?? toParticipant(participant, call)
      }),
  })

/** A past or present participant of a call, or of a conference session. */
async function find(
  { store }: Deps,
  context: Context,
  { id, participant_id }: Static<typeof participantParams>,
): Promise<{ participant: ParticipantRow; call: CallRow } | Problem> {
  const scoped = forTenant(store.db, context)
  if ((await scoped.find('calls', id)) === undefined) return missing('call', id)
  const participant = await scoped.find('participants', participant_id)
  const call = participant === undefined ? undefined : await scoped.find('calls', participant.call_id)
  if (participant === undefined || call === undefined || (call.id !== id && participant.session_call_id !== id)) {
    return { ...missing('participant', participant_id), param: 'participant_id' }
  }
  return participant.left_at === null && participant.step !== 'ended'
    ? { participant, call }
    : conflict('not_running', 'The participant has left.')
}

/** Changes media first, so that the answer shows what is in effect. */
export async function changeSound(
  { store, media }: Deps,
  context: Context,
  { id }: ParticipantRow,
  audio: AudioInput,
): Promise<Problem | null> {
  const reply = await media.request('leg.update', { legId: id, sound: soundOf(audio) })
  if (isFailure(reply)) {
    return isUndecided(reply) ? mediaUnavailable(reply.message) : conflict('not_running', 'The participant has left.')
  }
  await store.transaction(async trx => {
    const participants = forTenant(trx, context)
    const row = await participants.find('participants', id)
    if (row === undefined) return
    await participants.change('participants', id, { audio: changedAudio(row.audio, audio) })
  })
  return null
}

/** Participants with the current state of their voices. */
export async function shownLive(
  media: MediaPort,
  rows: readonly { participant: ParticipantRow; call: CallRow }[],
): Promise<Participant[]> {
  const legIds = rows.filter(({ participant }) => participant.step !== 'ended').map(({ participant }) => participant.id)
  const voices = new Map<string, LegAudio['voice']>()
  const reply = legIds.length === 0 ? null : await media.request('leg.read', { legIds }, VOICE_DEADLINE_MS)
  if (reply !== null && !isFailure(reply)) for (const { legId, voice } of reply.legs) voices.set(legId, voice)
  return rows.map(({ participant, call }) => toParticipant(participant, call, voices.get(participant.id)))
}
