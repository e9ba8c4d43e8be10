import type { RoomCapture } from '../../media/protocol.ts'
import { type CaptureSettings, captureOf, NO_CAPTURE } from '../capture/settings.ts'
import type { StreamInput } from '../capture/stream-input.ts'
import { newId } from '../ids.ts'
import { wantTranscript } from '../live/transcript-rows.ts'
import type { Db, Trx } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import type { CallRow, MediaStreamRow } from './tables.ts'

/**
 * What is kept of a call: decided once, when it begins, field by field. What was asked for with the call wins, then the inbound
 * route, then what it is led to (flow, assistant, queue), then the organisation (docs/recording.md).
 */

/** What may say something about a call. */
export interface CaptureSources {
  /** The strongest first. */
  asked: readonly Partial<CaptureSettings>[]
  flowId?: string | null
  assistantId?: string | null
  queueId?: string | null
  /** A conference room's own settings say what is kept of its sessions. */
  roomId?: string | null
}

/** JSON of `calls.capture`. */
export interface CallCapture {
  transcribe: boolean
  language: string | null
  announcement: string
  consent: { key: string; timeoutS: number; otherwise: 'continue' | 'hang_up' } | null
  /** What is begun once the caller has agreed. */
  streams: StreamInput[]
  /** The caller hears the announcement, or is asked; then how it went. Null: nothing was said. */
  asked: 'asking' | 'told' | 'agreed' | 'refused' | null
  /** When the call was answered, while it is asked. */
  askedAt?: string
  /** Said to be so for this call: what it is led to later changes nothing. */
  isFixed: boolean
  /** The organisation wants its recordings encrypted. */
  encrypted?: boolean
}

export interface Decided {
  record: boolean
  capture: CallCapture | null
}

export async function decideCapture(db: Db, tenant: Tenant, sources: CaptureSources): Promise<Decided> {
  const led = await settingsOfLed(db, tenant, sources)
  const { capture, encrypt_recordings } = await db
    .selectFrom('organisations')
    .select(['capture', 'encrypt_recordings'])
    .where('id', '=', tenant.organisationId)
    .executeTakeFirstOrThrow()
  const layers = [...sources.asked, ...led.layers, ...(sources.roomId == null ? [captureOf(capture)] : [])]
  const first = <K extends keyof CaptureSettings>(name: K): CaptureSettings[K] =>
    layers.find(layer => (layer[name] ?? null) !== null)?.[name] ?? null
  const record = first('record') ?? false
  const transcribe = first('transcribe') ?? false
  const streams = first('streams') ?? []
  const isFixed = sources.asked.some(({ record }) => record === false)
  if (!record && !transcribe && streams.length === 0)
    return { record, capture: isFixed ? { ...NOTHING, isFixed } : null }
  const consent = first('recording_consent')
  return {
    record,
    capture: {
      transcribe,
      language: led.language,
      announcement: first('recording_announcement') ?? '',
      consent:
        consent === null
          ? null
          : { key: consent.key, timeoutS: consent.timeout_s ?? 8, otherwise: consent.otherwise ?? 'continue' },
      streams,
      asked: null,
      isFixed,
      encrypted: encrypt_recordings === 1,
    },
  }
}

const NOTHING: CallCapture = {
  transcribe: false,
  language: null,
  announcement: '',
  consent: null,
  streams: [],
  asked: null,
  isFixed: false,
}

/** Whether the files of new recordings are to be encrypted. */
export async function encryptsRecordings(db: Db, tenant: Tenant): Promise<boolean> {
  const organisations = db.selectFrom('organisations').select('encrypt_recordings')
  const row = await organisations.where('id', '=', tenant.organisationId).executeTakeFirst()
  return row?.encrypt_recordings === 1
}

/** Of what a call is led to; `language`: of the assistant that it talks with. */
async function settingsOfLed(
  db: Db,
  tenant: Tenant,
  { flowId, assistantId, queueId }: CaptureSources,
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
  if (queueId != null) layers.push(captureOf((await scoped.find('queues', queueId))?.settings ?? null))
  return { layers, language }
}

export const callCaptureOf = ({ capture }: Pick<CallRow, 'capture'>): CallCapture | null =>
  capture === null ? null : (JSON.parse(capture) as CallCapture)

/** The caller is to be told, or asked, before anything else. */
export function isToBeAsked(call: Pick<CallRow, 'capture'>): boolean {
  const capture = callCaptureOf(call)
  return capture !== null && (capture.announcement !== '' || capture.consent !== null) && capture.asked === null
}

/** The caller is being told, or asked: connected, though for everybody else the call is answered only when that is over. */
export const isBeingAsked = (call: Pick<CallRow, 'capture' | 'answered_at' | 'ended_at'>): boolean =>
  call.answered_at === null && call.ended_at === null && callCaptureOf(call)?.asked === 'asking'

type CapturedCall = Pick<CallRow, 'id' | 'record' | 'capture'>

/** Nothing may be kept before the caller was told, or has agreed. */
export function awaitsConsent(call: Pick<CallRow, 'capture'>): boolean {
  const capture = callCaptureOf(call)
  if (capture === null || (capture.announcement === '' && capture.consent === null)) return false
  return capture.asked !== 'told' && capture.asked !== 'agreed'
}

/** What is kept from the first sample on; nothing while the caller is to be told, or to agree, first. */
export const roomCapture = (call: CapturedCall): RoomCapture =>
  awaitsConsent(call) ? { recordingId: null, transcript: null } : agreedCapture(call)

/** What is kept of whoever has nothing against it. */
export function agreedCapture(call: CapturedCall): RoomCapture {
  const capture = callCaptureOf(call)
  return {
    recordingId: call.record === 1 ? call.id : null,
    ...(capture?.encrypted === true && { encrypted: true }),
    transcript: capture?.transcribe === true ? { transcriptId: call.id, language: capture.language } : null,
  }
}

/** The rows of what is to be begun with the answer. */
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
  { url, tracks, format, custom_parameters }: StreamInput,
  at: string,
): Promise<MediaStreamRow> {
  const row: MediaStreamRow = {
    id: newId('media_stream'),
    organisation_id: tenant.organisationId,
    livemode: tenant.livemode ? 1 : 0,
    call_id: callId,
    url,
    tracks: tracks ?? 'inbound',
    format: format ?? 'mulaw_8000',
    custom_parameters: JSON.stringify(custom_parameters ?? {}),
    status: 'connecting',
    frames_sent: 0,
    frames_dropped: 0,
    ended_reason: null,
    created: at,
  }
  await forTenant(trx, tenant).insert('media_streams', row)
  return row
}
