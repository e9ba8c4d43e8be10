import type { Trx } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { count } from '../../usage/ledger.ts'
import { durationOf } from '../duration.ts'
import type { CallRow, MediaStreamRow, RecordingRow } from '../tables.ts'

/** Usage of calls for the ledger. Each entry is written in the transaction of its fact. */

export const countCall = (trx: Trx, tenant: Tenant, { id, created: at }: CallRow): Promise<void> =>
  count(trx, tenant, { sourceId: id, at, amounts: { calls: 1 } })

/** A party has answered, or the first party has entered a conference. */
export const countAnswer = (trx: Trx, tenant: Tenant, { id, kind, created: at }: CallRow): Promise<void> =>
  count(trx, tenant, {
    sourceId: id,
    at,
    amounts: kind === 'party' ? { answered_calls: 1 } : { conference_sessions: 1 },
  })

/** An unanswered call has no duration. */
export async function countEnd(trx: Trx, tenant: Tenant, call: CallRow): Promise<void> {
  if (call.answered_at === null || call.ended_at === null) return
  const lasted = durationOf(call, call.ended_at)
  const amounts = call.kind === 'party' ? { call_ms: lasted } : { conference_ms: lasted }
  await count(trx, tenant, { sourceId: call.id, at: call.created, amounts })
}

export const countStream = (trx: Trx, tenant: Tenant, { id, created: at }: MediaStreamRow): Promise<void> =>
  count(trx, tenant, { sourceId: id, at, amounts: { media_streams: 1 } })

export async function countStreamEnd(trx: Trx, tenant: Tenant, stream: MediaStreamRow): Promise<void> {
  if (stream.ended_reason === null) return
  const { id: sourceId, created: at, frames_sent } = stream
  await count(trx, tenant, { sourceId, at, amounts: { stream_frames: frames_sent } })
}

/** A failed recording has no duration. */
export async function countRecording(trx: Trx, tenant: Tenant, row: RecordingRow): Promise<void> {
  if (row.status !== 'ready') return
  const amounts = { recordings: 1, recorded_ms: row.duration_ms ?? 0, stored_bytes: row.size_bytes ?? 0 }
  await count(trx, tenant, { sourceId: row.call_id, at: row.created, amounts })
}
