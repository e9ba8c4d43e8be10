import { isFailure, isStarted, isUndecided, type MediaEvent } from '../../../media/protocol.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { newId } from '../../kernel/ids.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Step, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { CommandPort, MediaPort } from '../../media-link/events.ts'
import { count } from '../../usage/ledger.ts'
import { segmentText, showHeld } from '../programs/segment-text.ts'
import type { TranscriptRow, TranscriptSegmentRow } from '../programs/tables.ts'
import { type CallTranscript, toCallTranscript, toCallTranscriptSegment } from '../programs/transcript-schema.ts'
import { settingsOf } from '../settings.ts'
import { follow } from '../steps/follow.ts'
import { callCaptureOf } from './call-capture.ts'
import { wantTranscript } from './transcript-rows.ts'

/** Maximum number of segments shown; the longest call has fewer. */
const MAX_SEGMENTS = 20_000

const EMPTY = { status: 'ready', duration_ms: 0 } as const
const UNANSWERED = { status: 'failed', failed_reason: 'The call was not answered.' } as const

/** A call's transcript in its current state; undefined if none was requested. */
export async function readTranscript(db: Db, tenant: Tenant, callId: string): Promise<CallTranscript | undefined> {
  const scoped = forTenant(db, tenant)
  const row = await scoped.find('transcripts', callId)
  if (row === undefined) return undefined
  const segments = await scoped
    .select('transcript_segments')
    .select(['speaker', 'participant_id', 'text', 'start_ms', 'end_ms'])
    .where('call_id', '=', callId)
    .orderBy('start_ms')
    .orderBy('id')
    .limit(MAX_SEGMENTS)
    .execute()
  return toCallTranscript(row, segments)
}

/** Writes down that a transcript could not begin. */
export interface TranscriptParts {
  store: Store
  now: () => Date
}

type WritingParts = TranscriptParts & { vault: Vault }

/** Applies an event to the transcript it belongs to. */
export async function onTranscriptEvent(parts: WritingParts, trx: Trx, event: MediaEvent): Promise<void> {
  switch (event.name) {
    case 'leg.answered':
      return ofLeg(parts, trx, event.body.legId)
    case 'room.opened':
      return ofSession(parts, trx, event.body.roomId, event.at)
    case 'leg.ended':
      return endUnbegun(trx, event.body.legId, event.at)
    case 'transcript.segment':
      return addSegment(parts.vault, trx, event.body, event.at)
    case 'transcript.ready': {
      const row = await runningTranscript(trx, event.body.transcriptId)
      if (row !== undefined) await endTranscript(parts.vault, trx, row, event.body.durationMs, event.at)
    }
  }
}

async function ofLeg(parts: TranscriptParts, trx: Trx, legId: string): Promise<void> {
  const row = await wantedOf(trx, legId)
  if (row !== undefined) await start(parts, trx, row)
}

/** The transcript of the call whose own leg this is. */
async function wantedOf(trx: Trx, legId: string): Promise<TranscriptRow | undefined> {
  const leg = await rowBy(trx, 'participants', { id: legId })
  return leg?.ring_id === null ? rowBy(trx, 'transcripts', { id: leg.call_id, status: 'wanted' }) : undefined
}

/** Ends the transcript of a call that ended unanswered. */
export async function endUnbegun(trx: Trx, legId: string, at: string): Promise<void> {
  const row = await wantedOf(trx, legId)
  if (row !== undefined) await end(trx, row, UNANSWERED, at)
}

/** For a conference session, if its room wants one. */
async function ofSession(parts: TranscriptParts, trx: Trx, callId: string, at: string): Promise<void> {
  const call = await rowBy(trx, 'calls', { id: callId })
  if (call?.kind !== 'conference' || call.room_id === null) return
  const tenant = tenantOf(call)
  const room = await forTenant(trx, tenant).find('conference_rooms', call.room_id)
  if (room === undefined || !settingsOf(room).transcribe) return
  if ((await forTenant(trx, tenant).find('transcripts', callId)) !== undefined) return
  await wantTranscript(trx, tenant, { id: callId, language: settingsOf(room).language, at })
  const row = await forTenant(trx, tenant).find('transcripts', callId)
  if (row !== undefined) await start(parts, trx, row)
}

async function start(parts: TranscriptParts, trx: Trx, row: TranscriptRow): Promise<void> {
  const transcripts = forTenant(trx, tenantOf(row)).update('transcripts')
  await transcripts.set({ status: 'running' }).where('id', '=', row.id).execute()
  follow(trx, row.id, ({ media }) => beginTranscript(parts, media, row))
}

/**
 * Starts a transcript in media. One that media refuses has failed. If media cannot be asked now, it is started at the next connection. If the call no
 * longer exists, it ended before anything could be transcribed: the transcript is then empty, as for a call that ends right after the start.
 */
export async function beginTranscript(
  { store, now }: TranscriptParts,
  media: CommandPort<'transcript.start'>,
  { id, language }: Pick<TranscriptRow, 'id' | 'language'>,
): Promise<void> {
  // The call's own room, or a session's: everybody who is ever in it.
  const reply = await media.request('transcript.start', { transcriptId: id, target: { roomId: id }, language })
  if (!isFailure(reply) || isStarted(reply) || isUndecided(reply)) return
  // It may have run and ended: events that came before the reply count.
  await media.settled()
  await store.transaction(async trx => {
    const row = await runningTranscript(trx, id)
    if (row === undefined) return
    const isGone = reply.failure === 'not_found'
    const change = isGone ? EMPTY : { status: 'failed' as const, failed_reason: reply.message }
    await end(trx, row, change, now().toISOString())
  })
}

export const runningTranscript = (trx: Db, id: string): Promise<TranscriptRow | undefined> =>
  trx.selectFrom('transcripts').selectAll().where('id', '=', id).where('status', '=', 'running').executeTakeFirst()

async function addSegment(
  vault: Vault,
  trx: Trx,
  { transcriptId, legId, speaker, text, startMs, endMs }: (MediaEvent & { name: 'transcript.segment' })['body'],
  at: string,
): Promise<void> {
  // Media started it by itself: the announcement is in it, before the call counts as answered.
  const begun = trx.selectFrom('transcripts').selectAll().where('id', '=', transcriptId)
  const row = await begun.where('status', 'in', ['wanted', 'running']).executeTakeFirst()
  if (row === undefined) return
  const id = newId('transcript_segment')
  const segment: TranscriptSegmentRow = {
    id,
    organisation_id: row.organisation_id,
    livemode: row.livemode,
    call_id: row.id,
    participant_id: legId,
    speaker: speaker === 'product' ? 'product' : 'participant',
    ...(await segmentText(vault, trx, row, { id, legId, startMs, text })),
    start_ms: Math.round(startMs),
    end_ms: Math.round(endMs),
  }
  const tenant = tenantOf(row)
  await forTenant(trx, tenant).insert('transcript_segments', segment)
  const object = toCallTranscriptSegment(segment)
  await appendEvent(trx, tenant, { type: 'call.transcript.segment', at, object, callId: row.id })
}

async function endTranscript(vault: Vault, trx: Trx, row: TranscriptRow, durationMs: number | null, at: string) {
  await showHeld(vault, trx, row)
  await end(trx, row, { status: 'ready', duration_ms: durationMs === null ? null : Math.round(durationMs) }, at)
}

async function end(
  trx: Trx,
  row: TranscriptRow,
  change: Partial<TranscriptRow> & { status: 'ready' | 'failed' },
  at: string,
): Promise<void> {
  const tenant = tenantOf(row)
  await forTenant(trx, tenant).change('transcripts', row.id, change)
  if (change.status === 'ready') {
    const amounts = { transcripts: 1, transcribed_ms: change.duration_ms ?? 0 }
    await count(trx, tenant, { sourceId: row.id, at: row.created, amounts })
  }
  const object = await readTranscript(trx, tenant, row.id)
  if (object === undefined) return
  await appendEvent(trx, tenant, { type: `call.transcript.${change.status}`, at, object, callId: row.id })
}

/**
 * Starts those again whose command was lost with the process that was to send it; otherwise their end would never be reported. If media has
 * already started one, it says so, and nothing changes.
 */
export async function resumeTranscripts(
  parts: TranscriptParts,
  media: MediaPort,
  step: (run: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { db } = parts.store
  const rows = await db
    .selectFrom('transcripts')
    .innerJoin('calls', 'calls.id', 'transcripts.id')
    .select(['transcripts.id', 'transcripts.language', 'calls.capture'])
    .where('transcripts.status', '=', 'running')
    .where('calls.node_id', '=', nodeOf(db))
    .where('calls.ended_at', 'is', null)
    .execute()
  for (const row of rows) {
    await step(async () => {
      // What the announcement is about begins by itself when the caller has heard it.
      if (callCaptureOf(row)?.asked !== 'asking') await beginTranscript(parts, media, row)
    })
  }
}

/** Ends the transcripts of ended calls that media will not report any more, each in a step of its own. */
export async function endLostTranscripts(vault: Vault, db: Db, at: string, step: Step): Promise<void> {
  const rows = await db
    .selectFrom('transcripts')
    .innerJoin('calls', 'calls.id', 'transcripts.id')
    .select('transcripts.id')
    .where('transcripts.status', 'in', ['wanted', 'running'])
    .where('calls.node_id', '=', nodeOf(db))
    .where('calls.ended_at', 'is not', null)
    .execute()
  for (const { id } of rows) await step(trx => endLost(vault, trx, id, at))
}

async function endLost(vault: Vault, trx: Trx, id: string, at: string): Promise<void> {
  const row = await trx.selectFrom('transcripts').selectAll().where('id', '=', id).executeTakeFirst()
  if (row?.status === 'wanted') await end(trx, row, UNANSWERED, at)
  else if (row?.status === 'running') await endTranscript(vault, trx, row, null, at)
}
