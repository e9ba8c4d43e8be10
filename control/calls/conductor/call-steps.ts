import type { Commands, EndedReason, Failure, LegCause, PlaySource } from '../../../media/protocol.ts'
import { phraseNamed } from '../../kernel/phrases.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { CommandPort } from '../../media-link/events.ts'
import { announced } from '../announced.ts'
import { type LeftMessage, storedAnswering } from '../answering/schema.ts'
import { awaitsConsent, callCaptureOf, roomCapture } from '../capture/call-capture.ts'
import { consentCollect, unheardCollect } from '../capture/consent-question.ts'
import { withStreams } from '../capture/first-streams.ts'
import type { StreamDeps } from '../capture/streams.ts'
import { takeOn } from '../legs.ts'
import { farEndMedia, loadLeg } from '../records.ts'
import { type LegRows, messageOver } from '../steps/decide.ts'
import type { LegStep } from '../steps/table.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'
import { toneOf } from '../tones.ts'
import { ownRoom, placeOf } from './leg-rooms.ts'
import { playOf, promptOf } from './prompts.ts'
import { ringCaller } from './ring-caller.ts'
import { failureOf, type Sender, type Senders, type Sent } from './sender.ts'

interface CallStepDeps {
  store: Store
  now: () => Date
  streams: StreamDeps
  vault: Vault
  /** The file of an audio asset. */
  assetFile: (id: string) => string
  /** Ends a leg that media does not have, with everything that depends on it. */
  gone: (leg: ParticipantRow, reason: EndedReason) => Promise<void>
}

/** Senders of the steps that the call itself leads. */
export function callSteps(deps: CallStepDeps): Senders<'call'> {
  const { db } = deps.store
  return {
    answering: withRows(db, (rows, media) => answerLeg(deps, rows, media)),
    consent: withRows(db, (rows, media) => ask(deps, rows, media)),
    settled: withRows(db, async ({ participant, call, room }, media) => {
      const { id: legId, on_hold } = participant
      if (on_hold === 0) return failureOf(await media.request('leg.stop_play', { legId }))
      if (on_hold === 1 || call.target !== 'echo') return null
      return failureOf(await media.request('leg.play', playOf(participant, [promptOf(room)('echo')])))
    }),
    announcing: withRows(db, async (rows, media) => {
      const { participant, room } = rows
      const rung = participant.unanswered === null ? null : await ringCaller(db, rows, media, true)
      if (rung !== null) return rung
      const play = playOf(participant, [promptOf(room)('announcement')], { hangupAfter: 'announcement_ended' })
      return failureOf(await media.request('leg.play', play))
    }),
    messaging: withRows(db, (rows, media) => leaveMessage(deps, rows, media)),
    leaving: withRows(db, async (rows, media) => {
      const hangupAfter = rows.participant.leave_reason ?? 'rejected'
      return failureOf(await media.request('leg.play', playOf(rows.participant, leavingWords(rows), { hangupAfter })))
    }),
    hanging_up: async (leg, media) => {
      // An unanswered caller is refused by a status.
      const rows = leg.leave_prompt !== null && leg.unanswered === null ? await loadLeg(db, leg.id) : null
      if (rows !== null) return failureOf(await media.request('leg.play', await busyTone(db, rows)))
      const reason = leg.leave_reason ?? 'api_hangup'
      const farEnd = await farEndOf(db, leg, reason)
      const failure = failureOf(await media.request('leg.hangup', { legId: leg.id, reason, ...(farEnd && { farEnd }) }))
      if (failure?.failure !== 'not_found') return failure
      // Its end is on the way, with its figures.
      if (media.isEnding(leg.id)) return null
      // It may never have been dialled: then no event reports its end.
      await deps.gone(leg, reason)
      return failure
    },
  }
}

/** How the other party's leg ended, if this leg is hung up because of it: the cause, and for a calling member who was not answered the SIP status. */
async function farEndOf(db: Db, leg: ParticipantRow, reason: EndedReason) {
  const isRefused = leg.unanswered !== null && leg.ring_id !== null
  if (!isRefused && reason !== 'agent_hangup' && reason !== 'caller_hangup') return null
  const others = forTenant(db, tenantOf(leg)).select('participants').select('cause').where('id', '!=', leg.id)
  const ended = others.where('call_id', '=', leg.call_id).where('step', '=', 'ended').orderBy('left_at', 'desc')
  const { by, q850 = null } = JSON.parse((await ended.executeTakeFirst())?.cause ?? '{}') as Partial<LegCause>
  if (by !== 'far_end') return null
  const call = isRefused ? await forTenant(db, tenantOf(leg)).find('calls', leg.call_id) : undefined
  return { q850, sipCode: call?.sip_code ?? null }
}

/** Makes a sender that also needs the leg's call, and the call's conference room. */
export const withRows =
  <S extends LegStep>(db: Db, send: (rows: LegRows, media: Parameters<Sender<S>>[1]) => Promise<Sent>): Sender<S> =>
  async (leg, media) => {
    const rows = await loadLeg(db, leg.id)
    return rows === null ? null : send(rows, media)
  }

/** Answers a caller, and starts all capture. Does nothing if the caller is already answered. */
export async function answerLeg(deps: CallStepDeps, rows: LegRows, media: CommandPort<'leg.answer'>): Promise<Sent> {
  const failure = failureOf(await media.request('leg.answer', await answer(deps, rows)))
  return failure?.failure === 'conflict' ? null : failure
}

async function answer(
  { store, streams, vault }: CallStepDeps,
  { call, participant, room: lobby }: LegRows,
): Promise<Commands['leg.answer']['request']> {
  const hasPin = lobby !== null && (lobby.pin_hash !== null || lobby.moderator_pin_hash !== null)
  const own = hasPin ? { ...ownRoom(call), hidesKeys: true } : ownRoom(call)
  const { reliable: _, ...farEnd } = await farEndMedia(store.db, call, participant, vault)
  const capture = roomCapture(call)
  const room =
    participant.ring_id !== null || awaitsConsent(call)
      ? own
      : { ...own, capture: await withStreams(store.db, streams, call, participant.id, capture, laterStreams(call)) }
  return {
    legId: participant.id,
    room,
    ...placeOf(call, participant.ring_id !== null),
    ...farEnd,
  }
}

const laterStreams = (call: CallRow): string[] | undefined => callCaptureOf(call)?.later?.streamIds

/** Plays the recording announcement to the caller, or asks for consent. */
async function ask(
  deps: CallStepDeps,
  { call, participant }: LegRows,
  media: CommandPort<'leg.stop_listen' | 'leg.collect' | 'transcript.start'>,
): Promise<Failure | null> {
  const { id: legId } = participant
  const plain = consentCollect(call, legId)
  const { agreement } = plain
  const capture = agreement?.capture
  const kept =
    capture === undefined
      ? undefined
      : await withStreams(deps.store.db, deps.streams, call, legId, capture, laterStreams(call))
  const collect =
    kept === undefined || agreement === undefined ? plain : { ...plain, agreement: { ...agreement, capture: kept } }
  // Whichever program led the call before may be listening for keys or words.
  if (call.answered_at !== null) await media.request('leg.stop_listen', { legId })
  const failure = failureOf(await media.request('leg.collect', collect))
  // No voice can speak the announcement: nothing is captured, and the call goes on.
  if (failure?.failure === 'invalid') return failureOf(await media.request('leg.collect', unheardCollect(collect)))
  // Unless consent is needed, the capture has begun with the announcement.
  if (failure === null && agreement?.digits === null) await announced(deps, legId, media)
  return failure
}

/** Plays the message for an answering machine; if no voice can speak it, the call is hung up. */
async function leaveMessage(
  { store, assetFile }: CallStepDeps,
  { call, participant }: LegRows,
  media: CommandPort<'leg.play'>,
): Promise<Sent> {
  const message = storedAnswering(call)?.policy?.message ?? null
  const said = (left: LeftMessage): PlaySource =>
    'assetId' in left ? { kind: 'file', path: assetFile(left.assetId) } : { kind: 'speech', ...left }
  const sources = message === null ? [] : [said(message)]
  const failure = failureOf(await media.request('leg.play', playOf(participant, sources)))
  if (failure?.failure === 'invalid') await takeOn(store, participant, messageOver(false))
  return failure
}

/** The reason for hanging up, and goodbye in the same language. */
function leavingWords({ participant: { leave_prompt }, room }: LegRows): PlaySource[] {
  const said = phraseNamed(leave_prompt ?? '')
  const goodbye = promptOf(room)('goodbye')
  if (said !== null) return [said.source, said.language === null ? goodbye : { ...goodbye, language: said.language }]
  return leave_prompt === '' ? [goodbye] : [promptOf(room)(leave_prompt ?? 'room-closed'), goodbye]
}

/** Number of repetitions before the hang-up, of one second each. */
const BUSY_TONES = 5

async function busyTone(
  db: Db,
  { call, participant: { id, leave_prompt } }: LegRows,
): Promise<Commands['leg.play']['request']> {
  const tone = await toneOf(db, 'busy', call)
  const sources = Array.from({ length: BUSY_TONES }, () => tone)
  return { legId: id, playId: leave_prompt ?? '', sources, loop: false, hangupAfter: 'busy' }
}
