import type { RecordingInfo } from '../../../media/protocol.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Step, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import { count } from '../../usage/ledger.ts'
import { toVoicemail } from '../voicemail-schema.ts'
import type { VoicemailRow } from './tables.ts'

/**
 * Writes the end of a voicemail's recording; `info` null: it failed. Returns the message, if there is one. A recording that was given up
 * may still be finished later, by the media process that follows the one that recorded it.
 */
export async function endVoicemail(
  trx: Trx,
  id: string,
  info: RecordingInfo | null,
  at: string,
): Promise<VoicemailRow | null> {
  const row = await trx.selectFrom('voicemails').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined || row.status === 'ready') return null
  const tenant = tenantOf(row)
  const messages = forTenant(trx, tenant)
  if (info === null) {
    await messages.change('voicemails', id, { status: 'failed' })
    return null
  }
  const { file, durationMs, encrypted } = info
  const change = { status: 'ready' as const, file, duration_ms: durationMs, encrypted: encrypted === true ? 1 : 0 }
  await messages.change('voicemails', id, change)
  await count(trx, tenant, { sourceId: id, at, amounts: { stored_bytes: info.sizeBytes } })
  const message = { ...row, ...change }
  const object = toVoicemail(message)
  await appendEvent(trx, tenant, { type: 'voicemail.created', at, object, callId: row.call_id })
  return message
}

/** Gives up messages whose calls have ended and which media does not record, because the command was lost. Each in a transaction of its own. */
export async function endLostVoicemails(
  db: Db,
  recordings: ReadonlySet<string>,
  at: string,
  step: Step,
): Promise<void> {
  const rows = await db
    .selectFrom('voicemails')
    .innerJoin('calls', 'calls.id', 'voicemails.call_id')
    .select('voicemails.id')
    .where('voicemails.status', '=', 'recording')
    .where('calls.node_id', '=', nodeOf(db))
    .where('calls.ended_at', 'is not', null)
    .execute()
  for (const { id } of rows) if (!recordings.has(id)) await step(trx => endVoicemail(trx, id, null, at))
}
