import type { Trx } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { CommandPort } from '../media-link/events.ts'
import { callCaptureOf } from './capture/call-capture.ts'
import { beginTranscript, runningTranscript, type TranscriptParts } from './capture/transcripts.ts'
import { insertRecording, loadLeg } from './records.ts'

/**
 * The caller hears that the call is recorded, and media has begun the capture with the announcement. From now on the rows say so, and the
 * capture can be paused and stopped. If the caller hangs up meanwhile, the recording belongs to this call.
 */
export async function announced(
  parts: TranscriptParts,
  legId: string,
  media: CommandPort<'transcript.start'>,
): Promise<void> {
  const callId = await parts.store.transaction(trx => noteBegun(trx, legId, parts.now().toISOString()))
  const transcript = callId === null ? undefined : await runningTranscript(parts.store.db, callId)
  // Either it runs, or media says why it cannot.
  if (transcript !== undefined) await beginTranscript(parts, media, transcript)
}

async function noteBegun(trx: Trx, legId: string, at: string): Promise<string | null> {
  const rows = await loadLeg(trx, legId)
  const capture = rows === null ? null : callCaptureOf(rows.call)
  if (rows === null || capture?.asked !== 'asking' || rows.call.ended_at !== null) return null
  const { call } = rows
  const { later } = capture
  if (later === undefined ? call.record === 1 : later.record) await insertRecording(trx, call, at)
  const transcripts = forTenant(trx, tenantOf(call)).update('transcripts').set({ status: 'running' })
  await transcripts.where('id', '=', call.id).where('status', '=', 'wanted').execute()
  return call.id
}
