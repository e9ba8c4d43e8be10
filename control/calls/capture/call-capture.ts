import type { RoomCapture } from '../../../media/protocol.ts'
import { type CaptureSettings, captureOf, firstSaid, NO_CAPTURE, saidIn } from '../../capture-settings/settings.ts'
import type { StreamInput } from '../../capture-settings/stream-input.ts'
import { assistantOf } from '../../flows/users.ts'
import { newId } from '../../kernel/ids.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../../kernel/tenancy.ts'
import { settingsOf } from '../settings.ts'
import type { CallRow, MediaStreamRow } from '../tables.ts'
import { wantTranscript } from './transcript-rows.ts'
import { countStream } from './used.ts'

/**
 * What is captured of a call. Each field is decided when the call begins: the call's own request wins, then the inbound route, then the
 * target (flow, assistant, queue), then the organisation (docs/recording.md). For later targets see `later-capture.ts`.
 */

/** A target of a call that may have capture settings. */
export interface Leader {
  flowId?: string | null
  assistantId?: string | null
  queueId?: string | null
}

/** Settings that are known before the call has a target: from `POST /calls` and the inbound route. */
export interface SaidOfCall {
  call?: Partial<CaptureSettings>
  route?: Partial<CaptureSettings>
}

/** All sources of settings for a call. */
interface CaptureSources extends Leader, SaidOfCall {
  /** A conference room's own settings decide about its sessions. */
  roomId?: string | null
}

export interface Consent {
  key: string
  timeoutS: number
  otherwise: 'continue' | 'hang_up'
}

/** What to start in a running call once its caller has heard the announcement, or has agreed. */
export interface Later {
  record: boolean
  encrypted: boolean
  transcribe: boolean
  language: string | null
  /** Streams whose rows exist. */
  streamIds: string[]
  announcement: string
  consent: Consent | null
  /** Where the call is led afterwards, in the target's own notation. */
  then: string
}

/** What the settings want to capture, and may not until the other party consents. */
export type Waiting = Pick<Later, 'record' | 'encrypted' | 'transcribe' | 'language'> & { streams: StreamInput[] }

/** JSON of `calls.capture`. */
export interface CallCapture {
  transcribe: boolean
  language: string | null
  announcement: string
  consent: Consent | null
  /** Started once the caller has agreed. */
  streams: StreamInput[]
  /** The caller hears the announcement, or is asked; then the outcome. Null: no announcement. */
  asked: 'asking' | 'told' | 'agreed' | 'refused' | null
  /** When the call was answered, while the question is open. */
  askedAt?: string
  /** The organisation wants its recordings encrypted. */
  encrypted?: boolean
  /** Settings of the call itself. They hold, whatever leads it later. */
  own?: Partial<CaptureSettings>
  /** Settings of the route for announcement and question, whatever is captured. */
  route?: Partial<CaptureSettings>
  /** The question is being asked in the middle of the call, for this. */
  later?: Later
  /** Started when a consent to be recorded is given during the call. */
  waiting?: Waiting
}

export interface Decided {
  record: boolean
  capture: CallCapture | null
}

export async function decideCapture(db: Db, tenant: Tenant, sources: CaptureSources): Promise<Decided> {
  const led = await settingsOfLed(db, tenant, sources)
  const { capture, encrypt_recordings } = await capturingOf(db, tenant)
  const { call = {}, route = {} } = sources
  const layers = [call, route, ...led.layers, ...(sources.roomId == null ? [capture] : [])]
  const record = firstSaid(layers, 'record') ?? false
  const transcribe = firstSaid(layers, 'transcribe') ?? false
  const streams = firstSaid(layers, 'streams') ?? []
  const { recording_announcement, recording_consent } = route
  const own = saidIn(call)
  const ofRoute = saidIn({
    recording_announcement: recording_announcement ?? null,
    recording_consent: recording_consent ?? null,
  })
  const said = { ...(own !== null && { own }), ...(ofRoute !== null && { route: ofRoute }) }
  if (!record && !transcribe && streams.length === 0)
    return { record, capture: own === null && ofRoute === null ? null : { ...NOTHING, ...said } }
  return {
    record,
    capture: {
      ...NOTHING,
      ...said,
      ...wordsOf(layers),
      transcribe,
      language: led.language ?? (await roomLanguage(db, tenant, sources.roomId ?? null)),
      streams,
      encrypted: encrypt_recordings === 1,
    },
  }
}

/** The announcement and the question, needed if anything is captured. */
export function wordsOf(layers: readonly Partial<CaptureSettings>[]): Pick<CallCapture, 'announcement' | 'consent'> {
  const consent = firstSaid(layers, 'recording_consent')
  return {
    announcement: firstSaid(layers, 'recording_announcement') ?? '',
    consent:
      consent === null
        ? null
        : { key: consent.key, timeoutS: consent.timeout_s ?? 8, otherwise: consent.otherwise ?? 'continue' },
  }
}

/** The defaults of an organisation. */
export async function capturingOf(
  db: Db,
  tenant: Tenant,
): Promise<{ capture: CaptureSettings; encrypt_recordings: number }> {
  const row = await rowBy(db, 'organisations', { id: tenant.organisationId })
  if (row === undefined) throw new Error('a call of no organisation')
  return { encrypt_recordings: row.encrypt_recordings, capture: captureOf(row.capture) }
}

export const NOTHING: CallCapture = {
  transcribe: false,
  language: null,
  announcement: '',
  consent: null,
  streams: [],
  asked: null,
}

/** Whether the files of new recordings are to be encrypted. */
export async function encryptsRecordings(db: Db, tenant: Tenant): Promise<boolean> {
  const row = await rowBy(db, 'organisations', { id: tenant.organisationId })
  return row?.encrypt_recordings === 1
}

/** Settings of a call's target. `language`: of the assistant that talks with the caller, or speaks there. */
export async function settingsOfLed(
  db: Db,
  tenant: Tenant,
  { flowId, assistantId, queueId }: Leader,
): Promise<{ layers: CaptureSettings[]; language: string | null }> {
  const scoped = forTenant(db, tenant)
  const layers: CaptureSettings[] = []
  let language: string | null = null
  if (flowId != null) layers.push(captureOf((await scoped.find('flows', flowId))?.capture ?? null))
  if (assistantId != null) {
    const row = await scoped.find('assistants', assistantId)
    const settings = {
      ...NO_CAPTURE,
      ...(JSON.parse(row?.settings ?? '{}') as CaptureSettings & { language?: string }),
    }
    layers.push(settings)
    language = settings.language ?? null
    if (row?.flow_id != null) layers.push(captureOf((await scoped.find('flows', row.flow_id))?.capture ?? null))
  }
  const queue = queueId == null ? undefined : await scoped.find('queues', queueId)
  if (queue !== undefined) layers.push(captureOf(queue.settings))
  return { layers, language: language ?? (await languageThere(db, tenant, flowId ?? null, queue?.settings ?? null)) }
}

/** Language of the assistant whose voice a flow or a queue uses. */
async function languageThere(
  db: Db,
  tenant: Tenant,
  flowId: string | null,
  queueSettings: string | null,
): Promise<string | null> {
  const { voice_assistant_id: voiceOf = null } = JSON.parse(queueSettings ?? '{}') as { voice_assistant_id?: string }
  const id = flowId === null ? voiceOf : await assistantOf(db, tenant, flowId)
  const row = id === null ? undefined : await forTenant(db, tenant).find('assistants', id)
  return row === undefined ? null : ((JSON.parse(row.settings) as { language?: string }).language ?? null)
}

async function roomLanguage(db: Db, tenant: Tenant, roomId: string | null): Promise<string | null> {
  const room = roomId === null ? undefined : await forTenant(db, tenant).find('conference_rooms', roomId)
  return room === undefined ? null : settingsOf(room).language
}

export const callCaptureOf = ({ capture }: Pick<CallRow, 'capture'>): CallCapture | null =>
  capture === null ? null : (JSON.parse(capture) as CallCapture)

/** The announcement or question comes before anything else. */
export function isToBeAsked(call: Pick<CallRow, 'capture'>): boolean {
  const capture = callCaptureOf(call)
  return capture !== null && (capture.announcement !== '' || capture.consent !== null) && capture.asked === null
}

/** The announcement or question is running: the caller is connected, but for everybody else the call is answered only afterwards. */
export const isBeingAsked = (call: Pick<CallRow, 'capture' | 'answered_at' | 'ended_at'>): boolean =>
  call.answered_at === null && call.ended_at === null && callCaptureOf(call)?.asked === 'asking'

type CapturedCall = Pick<CallRow, 'id' | 'record' | 'capture'>

/** Nothing may be captured before the caller has heard the announcement, or has agreed. */
export function awaitsConsent(call: Pick<CallRow, 'capture'>): boolean {
  const capture = callCaptureOf(call)
  if (capture === null || (capture.announcement === '' && capture.consent === null)) return false
  return capture.asked !== 'told' && capture.asked !== 'agreed'
}

/** What is captured from the first sample on; nothing if an announcement or question comes first. */
export const roomCapture = (call: CapturedCall): RoomCapture =>
  awaitsConsent(call) ? { recordingId: null, transcript: null } : agreedCapture(call)

/** What is captured once the caller has no objection. */
export function agreedCapture(call: CapturedCall): RoomCapture {
  const capture = callCaptureOf(call)
  return {
    recordingId: call.record === 1 ? call.id : null,
    ...(capture?.encrypted === true && { encrypted: true }),
    transcript: capture?.transcribe === true ? { transcriptId: call.id, language: capture.language } : null,
  }
}

/** Inserts the rows of everything that starts with the answer. */
export async function insertCapture(trx: Trx, tenant: Tenant, call: CallRow, at: string): Promise<void> {
  const capture = callCaptureOf(call)
  if (capture === null) return
  if (capture.transcribe) await wantTranscript(trx, tenant, { id: call.id, language: capture.language, at })
  for (const stream of capture.streams) await insertStream(trx, tenant, call.id, stream, at)
}

export async function insertStream(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  { mode, url, tracks, format, custom_parameters }: StreamInput,
  at: string,
): Promise<MediaStreamRow> {
  const row: MediaStreamRow = {
    id: newId('media_stream'),
    ...ownedBy(tenant),
    call_id: callId,
    mode: mode ?? 'fork',
    url,
    tracks: tracks ?? 'inbound',
    format: format ?? 'mulaw_8000',
    custom_parameters: JSON.stringify(custom_parameters ?? {}),
    status: 'connecting',
    frames_sent: 0,
    frames_dropped: 0,
    frames_received: 0,
    frames_refused: 0,
    ended_reason: null,
    ended_detail: null,
    created: at,
  }
  await forTenant(trx, tenant).insert('media_streams', row)
  await countStream(trx, tenant, row)
  return row
}
