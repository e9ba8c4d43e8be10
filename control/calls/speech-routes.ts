import Type, { type Static } from 'typebox'
import { isFailure, type PlaySource } from '../../media/protocol.ts'
import { audioPath } from '../audio/files.ts'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { input, languageTag } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { OfferedVoices } from '../voices/offered.ts'
import { mediaUnavailable } from './dial.ts'
import { mainLeg } from './legs.ts'
import { hasEnded, notRunning } from './running-call.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

const api = operations('Calls', 'calls')

interface CallSpeechDeps {
  store: Store
  media: MediaPort
  dataDir: string
  voices: OfferedVoices
}

const TONE_MS = 160

const sayBody = input({
  text: Type.String({ minLength: 1, maxLength: 3000 }),
  voice: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Absent: the default of the language.' }),
  ),
  language: Type.Optional(languageTag('BCP 47; absent: English.')),
})
const playBody = input({
  audio_asset_id: Type.String({ minLength: 1, maxLength: 200 }),
  loop: Type.Optional(Type.Boolean({ default: false, description: 'Repeat until something else is played.' })),
})
const dtmfBody = input({
  digits: Type.String({ pattern: '^[0-9*#A-D]{1,64}$', description: 'Keys, sent one after the other.' }),
})

const doneSchema = (object: string) =>
  Type.Object({ object: Type.Literal(object), call_id: Type.String(), livemode: Type.Boolean() })
const errors = [404, 409, 503]

/** Speech, playback and keys in a running call. */
export function callSpeechRoutes(deps: CallSpeechDeps): Route[] {
  const answer = <const T extends string>(object: T, { livemode }: Context, id: string) => ({
    object,
    call_id: id,
    livemode,
  })
  return [
    api.post({
      path: '/calls/:id/say',
      id: 'sayInCall',
      summary: 'Say something in a call',
      description:
        "Speaks a text to the call's party, or to everybody in a conference session. It replaces what is playing.",
      body: sayBody,
      reply: doneSchema('call_say'),
      errors,
      handler: async (context, { params: { id }, body }) => {
        const unknown = deps.voices.problem('voice', body.voice)
        if (unknown !== null) return unknown
        const said = answer('call_say', context, id)
        return play(deps, context, id, { source: speechOf(body), loop: false, answer: said })
      },
    }),
    api.post({
      path: '/calls/:id/play',
      id: 'playInCall',
      summary: 'Play a recording in a call',
      description: "Plays an audio asset to the call's party, or to everybody in a conference session.",
      body: playBody,
      reply: doneSchema('call_play'),
      errors,
      handler: async (context, { params: { id }, body }) => {
        const { audio_asset_id: assetId, loop = false } = body
        const found = await running(deps.store, context, id)
        if (isProblem(found)) return found
        if ((await forTenant(deps.store.db, context).find('audio_assets', assetId)) === undefined) {
          return invalid('audio_asset_id', `No such audio asset: ${assetId}`)
        }
        const source = { kind: 'file' as const, path: audioPath(deps.dataDir, assetId) }
        return play(deps, context, id, { source, loop, answer: answer('call_play', context, id) })
      },
    }),
    api.post({
      path: '/calls/:id/dtmf',
      id: 'sendCallDtmf',
      summary: 'Send keys into a call',
      description: "Sends key presses to the call's party, as its phone would. 409 for a conference session.",
      body: dtmfBody,
      reply: doneSchema('call_dtmf_sent'),
      errors,
      handler: async (context, { params: { id }, body }) => {
        const found = await running(deps.store, context, id)
        if (isProblem(found)) return found
        if (found.leg === null) return conflict('conference', 'A conference session has no keypad.')
        const request = { legId: found.leg.id, digits: body.digits, durationMs: TONE_MS }
        return once(context, answer('call_dtmf_sent', context, id), () => deps.media.request('leg.send_dtmf', request))
      },
    }),
  ]
}

const speechOf = ({ text, voice, language }: Static<typeof sayBody>): PlaySource => ({
  kind: 'speech',
  text,
  voice: voice ?? null,
  language: language ?? null,
})

async function play<T>(
  { store, media }: CallSpeechDeps,
  context: Context,
  id: string,
  { source, loop, answer }: { source: PlaySource; loop: boolean; answer: T },
): Promise<T | Problem> {
  const found = await running(store, context, id)
  if (isProblem(found)) return found
  const { call, leg } = found
  const sources = [source]
  if (leg === null) return once(context, answer, () => media.request('room.play', { roomId: call.id, sources, loop }))
  const playId = newId('request')
  return once(context, answer, () =>
    media.request('leg.play', { legId: leg.id, playId, sources, loop, hangupAfter: null }),
  )
}

/** Nothing can tell afterwards whether it was heard, so the answer is stored first: a retry never repeats it. */
async function once<T>(context: Context, answer: T, act: () => Promise<object>): Promise<T | Problem> {
  await context.transaction(async () => answer)
  return refusalOf(await act()) ?? answer
}

/** The call and its leg (null for a session); 409 if nothing can be said in it now. */
async function running(
  store: Store,
  context: Context,
  id: string,
): Promise<{ call: CallRow; leg: ParticipantRow | null } | Problem> {
  const call = await forTenant(store.db, context).find('calls', id)
  if (call === undefined) return missing('call', id)
  const why = notRunning(call)
  if (why !== null) return why
  if (call.kind === 'conference') return { call, leg: null }
  const leg = await mainLeg(store.db, context, id)
  return leg === undefined ? conflict('not_running', 'Nobody speaks in the call.') : { call, leg }
}

function refusalOf(reply: object): Problem | null {
  if (!isFailure(reply)) return null
  switch (reply.failure) {
    case 'unavailable':
    case 'unanswered':
      return mediaUnavailable(reply.message)
    case 'not_found':
      return hasEnded()
    default:
      return conflict('not_possible', reply.message)
  }
}
