import { firstSaid } from '../../capture-settings/settings.ts'
import type { StreamInput } from '../../capture-settings/stream-input.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { writeLeg } from '../legs.ts'
import { endStream, insertRecording } from '../records.ts'
import type { CallRow } from '../tables.ts'
import {
  type CallCapture,
  callCaptureOf,
  capturingOf,
  insertStream,
  type Later,
  type Leader,
  NOTHING,
  settingsOfLed,
  type Waiting,
  wordsOf,
} from './call-capture.ts'
import { addressOf, askedOf } from './demanded-consent.ts'
import { refuseTranscript, wantTranscript } from './transcript-rows.ts'
import { inputOf, isNothing, receiverOf, streamsOf, together } from './waiting.ts'

/**
 * A later target of a call (a queue, an assistant, a flow) starts whatever its settings want and is not captured yet, from that moment on.
 * It ends nothing, and changes none of the call's own settings (docs/recording.md).
 */

type Wanted = Omit<Later, 'streamIds' | 'then'> & { streams: StreamInput[] }

/** Nobody has agreed to this. */
interface Unagreed {
  waiting: Waiting
}

/** `asking`: the announcement or question comes first. */
type Joined = 'nothing' | 'begun' | 'asking'

/** @param then where the call is led after the announcement or question */
export async function joinCapture(
  trx: Trx,
  tenant: Tenant,
  { callId, legId, at }: { callId: string; legId: string; at: string },
  leader: Leader,
  then: string,
): Promise<Joined> {
  const call = await forTenant(trx, tenant).find('calls', callId)
  const wanted = call === undefined ? null : await wantedOf(trx, tenant, call, { leader, at })
  if (call === undefined || wanted === null) return 'nothing'
  const { waiting, ...capture } = callCaptureOf(call) ?? NOTHING
  if ('waiting' in wanted) {
    const kept = together(waiting, wanted.waiting)
    await setCall(trx, call, { capture: JSON.stringify({ ...capture, waiting: kept }) })
    return 'nothing'
  }
  const { streams, ...rest } = wanted
  const streamIds: string[] = []
  for (const stream of streams) streamIds.push((await insertStream(trx, tenant, callId, stream, at)).id)
  const later: Later = { ...rest, streamIds, then }
  if (!isToBeAsked(capture, later)) {
    await begin(trx, call, { ...capture, later }, at)
    return 'begun'
  }
  // Media starts it with the announcement, and its events need a row.
  if (later.transcribe && later.consent === null) await insertTranscript(trx, call, later, at)
  const asking: CallCapture = { ...capture, asked: 'asking', later }
  await setCall(trx, call, { capture: JSON.stringify(asking) })
  await writeLeg(trx, tenant, legId, { step: 'consent', prompted: 0 })
  return 'asking'
}

/** What is not captured yet, together with what has waited; null: nothing. */
async function wantedOf(
  db: Db,
  tenant: Tenant,
  call: CallRow,
  { leader, at }: { leader: Leader; at: string },
): Promise<Wanted | Unagreed | null> {
  const capture = callCaptureOf(call) ?? NOTHING
  const { own = {}, route = {} } = capture
  const led = await settingsOfLed(db, tenant, leader)
  const wants = <K extends 'record' | 'transcribe' | 'streams'>(name: K) =>
    (own[name] ?? null) === null ? firstSaid(led.layers, name) : null
  const isWritten = (await forTenant(db, tenant).find('transcripts', call.id)) !== undefined
  const organisation = await capturingOf(db, tenant)
  const kept = together(capture.waiting, {
    record: call.record === 0 && wants('record') === true,
    transcribe: !isWritten && wants('transcribe') === true,
    streams: await newStreams(db, call, wants('streams') ?? []),
    language: led.language ?? capture.language,
    encrypted: organisation.encrypt_recordings === 1,
  })
  if (isNothing(kept)) return null
  // A caller who has refused is not asked again.
  if (capture.asked === 'refused') return { waiting: kept }
  const words = wordsOf([own, ...led.layers, route, organisation.capture])
  const isAgreed = capture.asked === 'agreed'
  const consent = isAgreed ? words.consent : await askedOf(db, tenant, words.consent, { address: addressOf(call), at })
  return consent === 'unasked' ? { waiting: kept } : { ...words, ...kept, consent }
}

/** A stream to a receiver that already gets the call is not started twice. */
async function newStreams(db: Db, call: CallRow, wanted: StreamInput[]): Promise<StreamInput[]> {
  if (wanted.length === 0) return []
  const known = new Set((await streamsOf(db, call)).map(row => receiverOf(inputOf(row))))
  return wanted.filter(stream => !known.has(receiverOf(stream)))
}

function isToBeAsked({ asked }: CallCapture, { announcement, consent }: Later): boolean {
  if (consent !== null) return asked !== 'agreed'
  return announcement !== '' && asked === null
}

/** Applies the caller's answer. Returns where the call is led now; null: the question was not asked in the middle of the call. */
export async function laterAnswered(
  trx: Trx,
  call: CallRow,
  capture: CallCapture,
  { asked, at }: { asked: 'told' | 'agreed' | 'refused'; at: string },
): Promise<string | null> {
  const { later } = capture
  if (later === undefined) return null
  if (asked !== 'refused') await begin(trx, call, { ...capture, asked }, at)
  else await keepNothing(trx, call, { ...capture, asked }, at)
  return later.then
}

/** Inserts the rows. Media has started it, or is told to after the commit. */
async function begin(trx: Trx, call: CallRow, { later, ...capture }: CallCapture, at: string): Promise<void> {
  if (later === undefined) return
  const { record, transcribe, encrypted, language } = later
  const kept: CallCapture = { ...capture, transcribe: capture.transcribe || transcribe, encrypted, language }
  await setCall(trx, call, { capture: JSON.stringify(kept), ...(record && { record: 1 }) })
  if (record) await insertRecording(trx, call, at)
  if (transcribe) await insertTranscript(trx, call, later, at)
}

async function insertTranscript(trx: Trx, call: CallRow, { language }: Later, at: string): Promise<void> {
  const tenant = tenantOf(call)
  if ((await forTenant(trx, tenant).find('transcripts', call.id)) !== undefined) return
  await wantTranscript(trx, tenant, { id: call.id, language, at, status: 'running' })
}

/** Earlier captures continue; the wanted ones wait. */
async function keepNothing(trx: Trx, call: CallRow, { later, ...capture }: CallCapture, at: string): Promise<void> {
  if (later === undefined) return
  const { record, transcribe, language, encrypted } = later
  const rows = (await streamsOf(trx, call)).filter(({ id }) => later.streamIds.includes(id))
  const more = { record, transcribe, language, encrypted, streams: rows.map(inputOf) }
  await setCall(trx, call, { capture: JSON.stringify({ ...capture, waiting: together(capture.waiting, more) }) })
  for (const row of rows) await endStream(trx, row, at)
  if (transcribe) await refuseTranscript(trx, call)
}

export const setCall = (trx: Trx, call: CallRow, change: Partial<CallRow>) =>
  forTenant(trx, tenantOf(call)).change('calls', call.id, change)
