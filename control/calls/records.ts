import type {
  CodecName,
  DtmfMode,
  EndedReason,
  Events,
  RecordingInfo,
  Reliability,
  SrtpPolicy,
} from '../../media/protocol.ts'
import type { Context } from '../http/context.ts'
import { appendEvent, type Cause } from '../kernel/events/log.ts'
import { noteFact } from '../kernel/store/after-commit.ts'
import { type Place, rowBy, rowsOf } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, ofTenant, ownedBy, type Tenant, tenantOf, valuesOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { credentialsOf } from '../trunks/account.ts'
import type { CallIdentity, RedirectedFrom } from '../trunks/caller-identity.ts'
import { CODECS } from '../trunks/codecs.ts'
import type { StoredAnswering } from './answering/schema.ts'
import { insertCallKeys } from './call-keys.ts'
import { toCall } from './call-schema.ts'
import { callCaptureOf, decideCapture, insertCapture, type SaidOfCall } from './capture/call-capture.ts'
import { allowedCapture } from './capture/demanded-consent.ts'
import { toCallRecording } from './capture/recording-schema.ts'
import { toMediaStream } from './capture/stream-schema.ts'
import { countAnswer, countCall, countEnd, countRecording, countStreamEnd } from './capture/used.ts'
import { durationOf, lastedMs, startOf } from './duration.ts'
import { writeLeg } from './legs.ts'
import { toParticipant } from './participant-schema.ts'
import { type AudioInput, changedAudio } from './sound/audio-schema.ts'
import { type Decision, type LegEnd, type LegRows, onEnded } from './steps/decide.ts'
import { wake } from './steps/follow.ts'
import type { CallRow, CallTarget, MediaStreamRow, ParticipantRow, RecordingRow } from './tables.ts'

// Media does not know organisations, so the row of a leg, call or recording is found by the ID in its event, and its tenant is used from there on.

/** A leg with its call and the call's conference room; null: we do not know the leg. */
export async function loadLeg(db: Db, legId: string): Promise<LegRows | null> {
  const participant = await rowBy(db, 'participants', { id: legId })
  if (participant === undefined) return null
  const tenant = forTenant(db, tenantOf(participant))
  const call = await tenant.find('calls', participant.call_id)
  if (call === undefined) return null
  const room = call.room_id === null ? undefined : await tenant.find('conference_rooms', call.room_id)
  return { call, participant, room: room ?? null }
}

/** How media negotiates with the far end of a call. */
interface FarEndMedia {
  codecs: CodecName[]
  /** Absent: as negotiated in SDP. */
  dtmf?: DtmfMode
  /** Absent: as the far end offers. */
  srtp?: SrtpPolicy
  /** Absent: if the far end requires it. */
  reliable?: Reliability
  credentials?: ReturnType<typeof credentialsOf>
}

/** As the call's connection says, with credentials if a vault is given. A leg without a connection, such as a member's phone, may use all codecs. */
export async function farEndMedia(db: Db, call: CallRow, leg: ParticipantRow, vault?: Vault): Promise<FarEndMedia> {
  const id = leg.ring_id === null ? call.connection_id : null
  const connection = id === null ? undefined : await forTenant(db, tenantOf(call)).find('connections', id)
  if (connection === undefined) return { codecs: CODECS }
  const { dtmf_mode: dtmf, srtp, reliable_provisional: reliable } = connection
  const credentials = vault && { credentials: credentialsOf(vault, connection) }
  return { codecs: JSON.parse(connection.codecs), dtmf, srtp, reliable, ...credentials }
}

/** Writes a decision about a leg and emits its events; returns the current rows. `figures`: of legs that are still there. */
export async function applyToLeg(
  trx: Trx,
  rows: LegRows,
  decision: Decision,
  at: string,
  figures: LegEnd['others'] = [],
): Promise<LegRows> {
  const tenant = tenantOf(rows.call)
  const isAnswer = decision.call.answered_at != null && rows.call.started_ms === null
  const changed = isAnswer ? Object.assign(startOf(trx), decision.call) : decision.call
  const call = { ...rows.call, ...changed }
  const participant = { ...rows.participant, ...decision.participant }
  if (Object.keys(changed).length > 0) await forTenant(trx, tenant).change('calls', call.id, changed)
  if (changed.answered_at != null) await countAnswer(trx, tenant, call)
  if (changed.ended_at != null) await countEnd(trx, tenant, call)
  if (Object.keys(decision.participant).length > 0) await writeLeg(trx, tenant, participant.id, decision.participant)
  const legs = changed.ended_at == null ? [] : await legsOf(trx, call)
  const others = legs.filter(({ id }) => id !== participant.id)
  const live = liveOf(figures)
  for (const type of decision.events) {
    const ofParticipant = type.startsWith('conference.participant.')
    const object = ofParticipant ? toParticipant(participant, call) : toCall(call, [participant, ...others], live)
    const callId = ofParticipant ? (participant.session_call_id ?? call.id) : call.id
    const isAsked = ofParticipant ? participant.left_at !== null : changed.ended_reason === 'api_hangup'
    await appendEvent(trx, tenant, { type, at, object, callId, request: isAsked ? requestOf(participant) : {} })
  }
  return { ...rows, call, participant }
}

const liveOf = (figures: LegEnd['others'] = []) => new Map(figures.map(({ legId, quality }) => [legId, quality]))

/** Notes which request ends these legs, for the events that tell of it: the first attempt, where one resumes another. */
export async function noteRequest(trx: Trx, context: Context, legs: readonly ParticipantRow[]): Promise<void> {
  const ended_by = JSON.stringify({ requestId: context.requestId, idempotencyKey: context.idempotencyKey })
  const unnoted = legs.filter(leg => leg.ended_by === null || !context.isResumed)
  for (const { id } of unnoted) await forTenant(trx, context).change('participants', id, { ended_by })
}

const requestOf = (leg: ParticipantRow | undefined): Cause => JSON.parse(leg?.ended_by ?? '{}') as Cause

/** The request that has ended a leg; null: none did. */
export const endedBy = (leg: ParticipantRow, reason: EndedReason): Cause | null =>
  reason === 'api_hangup' ? requestOf(leg) : null

/** The type of the fact that `noteBegun` reports. */
export const CALL_BEGUN = 'call begun'

export interface NewParty {
  callId: string
  legId: string
  direction: 'inbound' | 'outbound'
  to: string
  from: string
  identity?: CallIdentity | null
  redirectedFrom?: RedirectedFrom[]
  target: CallTarget
  roomId: string | null
  queueId?: string | null
  userId?: string | null
  /** The address for the driver to dial, if the caller of this function does not dial. */
  dial?: string
  connectionId: string | null
  /** Capture settings of the call itself and of its route. */
  capture?: SaidOfCall
  /** Settings of answering machine detection. */
  answering?: StoredAnswering | null
  /** The flow or assistant that leads the call. */
  program?: { flowId?: string; assistantId?: string }
  metadata: Record<string, string>
  role: 'member' | 'moderator'
  muted: boolean
  /** Audio processing. */
  audio?: AudioInput
  /** The guest page has checked the PIN, or a participant of the room dials the party. */
  admitted?: 'pin_proved' | 'let_in'
}

/** The columns of a call's target; `id`: of the room, queue or user. */
export const targetOf = (
  target: CallTarget,
  id: string | null,
): Pick<NewParty, 'target' | 'roomId' | 'queueId' | 'userId'> => ({
  target,
  roomId: target === 'room' ? id : null,
  queueId: target === 'queue' ? id : null,
  userId: target === 'user' ? id : null,
})

/** Inserts a call with its own leg, and emits `call.created`. */
export async function insertParty(
  trx: Trx,
  tenant: Tenant,
  party: NewParty,
  at: string,
  request?: Cause,
): Promise<{ call: CallRow; participant: ParticipantRow }> {
  const columns = ownedBy(tenant)
  const { queueId = null, roomId, program } = party
  const wanted = await decideCapture(trx, tenant, { queueId, roomId, ...party.capture, ...program })
  const address = party.direction === 'inbound' ? party.from : party.to
  const decided = await allowedCapture(trx, tenant, wanted, { address, at })
  const call: CallRow = {
    id: party.callId,
    kind: 'party',
    status: party.direction === 'inbound' ? 'ringing' : 'queued',
    direction: party.direction,
    to_address: party.to,
    from_address: party.from,
    target: party.target,
    room_id: party.roomId,
    queue_id: queueId,
    user_id: party.userId ?? null,
    connection_id: party.connectionId,
    node_id: nodeOf(trx),
    record: decided.record ? 1 : 0,
    capture: decided.capture === null ? null : JSON.stringify(decided.capture),
    answering: party.answering == null ? null : JSON.stringify(party.answering),
    answered_by: null,
    metadata: JSON.stringify(party.metadata),
    identity: party.identity == null ? null : JSON.stringify(party.identity),
    redirected_from: JSON.stringify(party.redirectedFrom ?? []),
    ended_reason: null,
    sip_code: null,
    cause: null,
    created: at,
    ringing_at: party.direction === 'inbound' ? at : null,
    answered_at: null,
    ended_at: null,
    duration_ms: null,
    started_ms: null,
    started_on: null,
    ...columns, // Last: V8 adds the properties behind a copy one by one, 29 µs for each literal.
  }
  const participant: ParticipantRow = {
    id: party.legId,
    call_id: party.callId,
    session_call_id: null,
    step: party.dial !== undefined ? 'to_dial' : party.direction === 'inbound' ? 'answering' : 'dialing',
    leave_prompt: null,
    leave_reason: null,
    prompted: 0,
    revision: 0,
    pin_tries: 0,
    pin_proved: party.admitted === 'pin_proved' ? 1 : 0,
    let_in: party.admitted === 'let_in' ? 1 : 0,
    role: party.role,
    ring_id: null,
    address: null,
    dial: party.dial ?? null,
    connection_id: party.connectionId,
    on_hold: null,
    holds: 0,
    unanswered: null,
    answered_then: null,
    early: 0,
    node_id: nodeOf(trx),
    muted: party.muted ? 1 : 0,
    deaf: 0,
    audio: changedAudio(null, party.audio ?? {}),
    joined_at: null,
    left_at: null,
    quality: null,
    cause: null,
    ended_by: null,
    created: at,
    ...columns,
  }
  const scoped = forTenant(trx, tenant)
  await scoped.insert('calls', call)
  await noteBegun(trx, call, [participant])
  await countCall(trx, tenant, call)
  await insertCallKeys(trx, tenant, call)
  await scoped.insert('participants', participant)
  await insertCapture(trx, tenant, call, at)
  if (participant.step === 'to_dial') wake(trx, participant)
  const object = toCall(call, [participant])
  await appendEvent(trx, tenant, { type: 'call.created', at, object, callId: call.id, request })
  return { call, participant }
}

/** To be called wherever a call is inserted: reports, once that is committed, that the call runs. */
export const noteBegun = (trx: Trx, call: CallRow, legs: readonly ParticipantRow[]): Promise<void> =>
  noteFact(trx, { type: CALL_BEGUN, object: { call, legs }, tenant: tenantOf(call), at: call.created })

/** Ends a leg's call. If it was never answered, ends its streams too, which media has never heard of. Does nothing if the call has ended. */
export async function endLeg(trx: Trx, rows: LegRows, end: LegEnd, at: string): Promise<LegRows> {
  const wasAnswered = rows.call.answered_at !== null
  const durationMs = end.durationMs ?? (end.isPast ? undefined : lastedMs(trx, rows.call, at))
  const ended = await applyToLeg(trx, rows, onEnded(rows, { ...end, durationMs }, at), at, end.others)
  if (!wasAnswered) await endStreams(trx, rows.call, at)
  return ended
}

/** Ends a conference session, and emits `conference.ended`. */
export async function endSession(
  trx: Trx,
  session: CallRow,
  { reason, at, ...end }: Pick<LegEnd, 'durationMs' | 'isPast' | 'others'> & { reason: EndedReason | null; at: string },
): Promise<void> {
  if (session.ended_at !== null) return
  const tenant = tenantOf(session)
  const durationMs = end.durationMs ?? (end.isPast ? null : lastedMs(trx, session, at))
  const duration_ms = durationOf({ ...session, duration_ms: durationMs }, at)
  const legs = await legsOf(trx, session)
  const last = legs.reduce((one, next) => ((next.left_at ?? '') >= (one?.left_at ?? '') ? next : one), legs[0])
  const ended_reason = reason ?? (last?.ended_by == null ? null : 'api_hangup')
  const change = { status: 'completed' as const, ended_reason, ended_at: at, duration_ms }
  await forTenant(trx, tenant).change('calls', session.id, change)
  await countEnd(trx, tenant, { ...session, ...change })
  const object = toCall({ ...session, ...change }, legs, liveOf(end.others))
  await appendEvent(trx, tenant, { type: 'conference.ended', at, object, callId: session.id, request: requestOf(last) })
}

/** The legs of a call, or of a conference session. */
export function legsOf(db: Db, call: CallRow): Promise<ParticipantRow[]> {
  const by = call.kind === 'conference' ? 'session_call_id' : 'call_id'
  const build = (place: Place) =>
    ofTenant(db, 'participants', place).selectAll().where(by, '=', place('call')).orderBy('id')
  return rowsOf(db, `all legs by ${by}`, build, { call: call.id, ...valuesOf(tenantOf(call)) })
}

/** The participants' own calls, by their IDs. */
export async function callsOf(
  db: Db,
  tenant: Tenant,
  participants: readonly ParticipantRow[],
): Promise<Map<string, CallRow>> {
  const ids = participants.map(row => row.call_id)
  if (ids.length === 0) return new Map()
  const rows = await forTenant(db, tenant).select('calls').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map(row => [row.id, row]))
}

type StreamChange = Events['stream.changed']

const EVENT_OF_STREAM = {
  connecting: null,
  streaming: 'call.stream.started',
  stalled: 'call.stream.stalled',
  reconnecting: 'call.stream.reconnecting',
  stopped: 'call.stream.stopped',
  failed: 'call.stream.failed',
} as const

/** The columns of a stream that follow media's reports. */
export const progressOf = (now: StreamChange) => ({
  status: now.status,
  frames_sent: now.framesSent,
  frames_dropped: now.framesDropped,
  frames_received: now.framesReceived,
  frames_refused: now.framesRefused,
})

/** Stores what media reports about a stream, and emits an event if its status changed. An ended stream does not change again. */
export async function applyStream(trx: Trx, row: MediaStreamRow, now: StreamChange, at: string): Promise<void> {
  if (row.ended_reason !== null) return
  const tenant = tenantOf(row)
  const change = { ...progressOf(now), ended_reason: now.endedReason, ended_detail: now.endedDetail ?? null }
  await forTenant(trx, tenant).change('media_streams', row.id, change)
  await countStreamEnd(trx, tenant, { ...row, ...change })
  // A return from `stalled` or `reconnecting` is not a second start, and has no event.
  const isStart = now.status === 'streaming' && row.status !== 'connecting'
  const type = now.status === row.status || isStart ? null : EVENT_OF_STREAM[now.status]
  if (type === null) return
  const object = toMediaStream({ ...row, ...change })
  const request = now.request ?? (now.endedReason === 'call_ended' ? await hangUpOf(trx, row) : {})
  await appendEvent(trx, tenant, { type, at, object, callId: row.call_id, request })
}

/** The request that has ended the call of a stream, if one did. */
async function hangUpOf(trx: Trx, row: MediaStreamRow): Promise<Cause> {
  const legs = forTenant(trx, tenantOf(row)).select('participants').selectAll().where('call_id', '=', row.call_id)
  return requestOf(await legs.where('ended_by', 'is not', null).executeTakeFirst())
}

export const runningStreams = (trx: Trx, tenant: Tenant, callId: string): Promise<MediaStreamRow[]> =>
  forTenant(trx, tenant)
    .select('media_streams')
    .selectAll()
    .where('call_id', '=', callId)
    .where('ended_reason', 'is', null)
    .execute()

/** Ends the streams of a call that media will not report. */
export async function endStreams(trx: Trx, call: CallRow, at: string): Promise<void> {
  for (const row of await runningStreams(trx, tenantOf(call), call.id)) await endStream(trx, row, at)
}

/** How a stream ends of which media has nothing to report. */
type StreamEnd = Pick<StreamChange, 'status' | 'endedReason' | 'endedDetail' | 'request'>

const CALL_ENDED: StreamEnd = { status: 'stopped', endedReason: 'call_ended' }
export const STOPPED: StreamEnd = { status: 'stopped', endedReason: 'stopped' }

/** The last counters that media reported of a stream. */
const countersOf = (row: MediaStreamRow): Omit<StreamChange, keyof StreamEnd> => ({
  streamId: row.id,
  framesSent: row.frames_sent,
  framesDropped: row.frames_dropped,
  framesReceived: row.frames_received,
  framesRefused: row.frames_refused,
})

export const endStream = (trx: Trx, row: MediaStreamRow, at: string, end = CALL_ENDED): Promise<void> =>
  applyStream(trx, row, { ...countersOf(row), ...end }, at)

/** Inserts the row of a call's recording. Idempotent. */
export async function insertRecording(trx: Trx, call: CallRow, at: string): Promise<void> {
  const scoped = forTenant(trx, tenantOf(call))
  const there = scoped.select('recordings').select('call_id').where('call_id', '=', call.id)
  if ((await there.executeTakeFirst()) !== undefined) return
  await scoped.insert('recordings', {
    call_id: call.id,
    status: 'recording',
    channels: '[]',
    segments: '[]',
    created: at,
  })
}

/** The row of a recording. It may be missing though the file exists (`isThere`), if the caller hung up during the announcement: then it is inserted. */
async function recordingRow(trx: Trx, callId: string, isThere: boolean, at: string): Promise<RecordingRow | undefined> {
  const find = () => trx.selectFrom('recordings').selectAll().where('call_id', '=', callId).executeTakeFirst()
  const row = await find()
  if (row !== undefined || !isThere) return row
  const call = await rowBy(trx, 'calls', { id: callId })
  if (call === undefined || callCaptureOf(call)?.asked !== 'asking') return undefined
  await insertRecording(trx, call, at)
  return find()
}

/** Stores the end of a recording; `info` null: it failed. */
export async function applyRecording(trx: Trx, callId: string, info: RecordingInfo | null, at: string): Promise<void> {
  const row = await recordingRow(trx, callId, info !== null, at)
  if (row === undefined || row.status !== 'recording') return
  const tenant = tenantOf(row)
  const change = info === null ? { status: 'failed' as const } : readyColumns(info)
  await forTenant(trx, tenant).update('recordings').set(change).where('call_id', '=', callId).execute()
  await countRecording(trx, tenant, { ...row, ...change })
  const type = info === null ? 'call.recording.failed' : 'call.recording.ready'
  await appendEvent(trx, tenant, { type, at, object: toCallRecording({ ...row, ...change }), callId })
}

const readyColumns = (info: RecordingInfo): Partial<RecordingRow> => ({
  status: 'ready',
  file: info.file,
  sample_rate: info.sampleRateHz,
  duration_ms: info.durationMs,
  size_bytes: info.sizeBytes,
  encrypted: info.encrypted === true ? 1 : 0,
  channels: JSON.stringify(info.channels.map(channel => ({ participant_id: channel.legId }))),
  segments: JSON.stringify(
    info.segments.map(segment => ({ from_ms: segment.fromMs, to_ms: segment.toMs, reason: segment.reason })),
  ),
})
