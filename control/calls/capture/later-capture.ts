import { firstSaid } from '../../capture-settings/settings.ts'
import type { StreamInput } from '../../capture-settings/stream-input.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { writeLeg } from '../legs.ts'
import { wantTranscript } from '../programs/transcript-rows.ts'
import { endStream, insertRecording, tenantOf } from '../records.ts'
import type { CallRow, MediaStreamRow } from '../tables.ts'
import {
  type CallCapture,
  callCaptureOf,
  capturingOf,
  insertStream,
  type Later,
  type Leader,
  NOTHING,
  settingsOfLed,
  wordsOf,
} from './call-capture.ts'
import { addressOf, askedOf } from './demanded-consent.ts'

/**
 * What leads a call later (a queue, an assistant, a flow) begins what it wants kept and is not kept yet, from that moment on. It ends
 * nothing, and changes nothing that was said of the call itself (docs/recording.md).
 */

type Wanted = Omit<Later, 'streamIds' | 'then'> & { streams: StreamInput[] }

/** `asking`: the caller is told, or asked, first. */
export type Joined = 'nothing' | 'begun' | 'asking'

/** @param then where the call is led once the caller was told, or asked */
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
  const { streams, ...rest } = wanted
  const streamIds: string[] = []
  for (const stream of streams) streamIds.push((await insertStream(trx, tenant, callId, stream, at)).id)
  const later: Later = { ...rest, streamIds, then }
  const capture = callCaptureOf(call) ?? NOTHING
  if (!isToBeAsked(capture, later)) {
    await begin(trx, call, { ...capture, later }, at)
    return 'begun'
  }
  // With the announcement it begins by itself, and what it writes needs a row.
  if (later.transcribe && later.consent === null) await insertTranscript(trx, call, later, at)
  const asking: CallCapture = { ...capture, asked: 'asking', later }
  await setCall(trx, call, { capture: JSON.stringify(asking) })
  await writeLeg(trx, tenant, legId, { step: 'consent', prompted: 0 })
  return 'asking'
}

/** What is not kept yet; null: nothing. */
async function wantedOf(
  db: Db,
  tenant: Tenant,
  call: CallRow,
  { leader, at }: { leader: Leader; at: string },
): Promise<Wanted | null> {
  const capture = callCaptureOf(call) ?? NOTHING
  // Who does not want to be recorded is not asked again and again.
  if (capture.asked === 'refused') return null
  const { own = {}, route = {} } = capture
  const led = await settingsOfLed(db, tenant, leader)
  const wants = <K extends 'record' | 'transcribe' | 'streams'>(name: K) =>
    (own[name] ?? null) === null ? firstSaid(led.layers, name) : null
  const record = call.record === 0 && wants('record') === true
  const isWritten = (await forTenant(db, tenant).find('transcripts', call.id)) !== undefined
  const transcribe = !isWritten && wants('transcribe') === true
  const streams = await newStreams(db, tenant, call.id, wants('streams') ?? [])
  if (!record && !transcribe && streams.length === 0) return null
  const organisation = await capturingOf(db, tenant)
  const words = wordsOf([own, ...led.layers, route, organisation.capture])
  const isAgreed = capture.asked === 'agreed'
  const consent = isAgreed ? words.consent : await askedOf(db, tenant, words.consent, { address: addressOf(call), at })
  if (consent === 'unasked') return null
  return {
    ...words,
    consent,
    record,
    transcribe,
    streams,
    language: led.language ?? capture.language,
    encrypted: organisation.encrypt_recordings === 1,
  }
}

/** Who is led to the same place twice is not sent there twice. */
async function newStreams(db: Db, tenant: Tenant, callId: string, wanted: StreamInput[]): Promise<StreamInput[]> {
  if (wanted.length === 0) return []
  const rows = forTenant(db, tenant).select('media_streams').selectAll().where('call_id', '=', callId)
  const known = new Set((await rows.execute()).map(receiverOf))
  return wanted.filter(({ mode = 'fork', url, tracks = 'inbound', format = 'mulaw_8000', custom_parameters = {} }) => {
    return !known.has(receiverOf({ mode, url, tracks, format, custom_parameters: JSON.stringify(custom_parameters) }))
  })
}

const receiverOf = (row: Pick<MediaStreamRow, 'mode' | 'url' | 'tracks' | 'format' | 'custom_parameters'>): string =>
  JSON.stringify([row.mode, row.url, row.tracks, row.format, row.custom_parameters])

function isToBeAsked({ asked }: CallCapture, { announcement, consent }: Later): boolean {
  if (consent !== null) return asked !== 'agreed'
  return announcement !== '' && asked === null
}

/** How the caller has answered. Returns where the call is led now; null: it was not asked in the middle of the call. */
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

/** The rows; media has begun it, or is told to after the commit. */
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

/** What was there before goes on. */
async function keepNothing(trx: Trx, call: CallRow, { later, ...capture }: CallCapture, at: string): Promise<void> {
  await setCall(trx, call, { capture: JSON.stringify(capture) })
  const scoped = forTenant(trx, tenantOf(call))
  for (const id of later?.streamIds ?? []) {
    const row = await scoped.find('media_streams', id)
    if (row !== undefined) await endStream(trx, row, at)
  }
  if (later?.transcribe === true) {
    await scoped.update('transcripts').where('id', '=', call.id).set(UNAGREED).execute()
  }
}

/** Of a transcript. */
export const UNAGREED = { status: 'failed', failed_reason: 'The caller did not agree to be recorded.' } as const

const setCall = (trx: Trx, call: CallRow, change: Partial<CallRow>) =>
  forTenant(trx, tenantOf(call)).update('calls').set(change).where('id', '=', call.id).execute()
