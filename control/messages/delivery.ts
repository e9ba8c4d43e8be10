import { follow } from '../calls/steps/follow.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { redactorOf } from '../organisation/redaction/settings.ts'
import type { Device } from '../queues/ringing/rings.ts'
import { count } from '../usage/ledger.ts'
import { toMessage } from './schema.ts'
import type { MessageRow } from './tables.ts'

/** Maximum number of a member's phones to which a text is sent. */
export const MAX_PHONES = 10
/** By then every phone has answered or timed out (64 * T1, with a margin) [ms]. Otherwise media or control has restarted meanwhile. */
const LOST_MS = 60_000

export type PhoneDevice = Extract<Device, { kind: 'sip' }>

type Parties = Pick<MessageRow, 'from_user_id' | 'to_user_id' | 'to_address'>

/** Stores a text, and sends it to these phones after the commit. Its unredacted words exist only here. `from`: the sender's URI. */
export async function insertText(
  trx: Trx,
  tenant: Tenant,
  { text, from, phones, at, ...parties }: Parties & { text: string; from: string; phones: PhoneDevice[]; at: Date },
): Promise<MessageRow> {
  const redact = await redactorOf(trx, tenant)
  const [messageId, created] = [newId('message'), at.toISOString()]
  const status = parties.to_user_id === null ? 'received' : 'queued'
  const told = { text: redact(text), status, sip_code: null, pending: phones.length, created } as const
  const row: MessageRow = { ...ownedBy(tenant), id: messageId, ...parties, ...told }
  await forTenant(trx, tenant).insert('messages', row)
  await count(trx, tenant, { sourceId: messageId, at: created, amounts: { messages: 1 } })
  follow(trx, messageId, async ({ media }) => {
    for (const { uri, via, route } of phones) {
      await media.request('sip.message', { messageId, uri, from, via, ...(route !== undefined && { route }), text })
    }
  })
  return row
}

/** A phone has answered or timed out. The first one that accepts the text is enough. */
export async function deliveryTold(trx: Trx, messageId: string, sipCode: number, at: string): Promise<void> {
  const row = await trx.selectFrom('messages').selectAll().where('id', '=', messageId).executeTakeFirst()
  if (row === undefined || row.status !== 'queued') return
  const pending = row.pending - 1
  if (sipCode < 300) await settle(trx, row, { status: 'delivered', sip_code: sipCode, pending }, at)
  else if (pending <= 0) await settle(trx, row, { status: 'failed', sip_code: sipCode, pending: 0 }, at)
  else await forTenant(trx, tenantOf(row)).change('messages', row.id, { pending, sip_code: sipCode })
}

/** Fails texts whose outcome will no longer be reported. To be called regularly. */
export async function giveUpLost(store: Store, now: Date): Promise<void> {
  const at = now.toISOString()
  const before = new Date(now.getTime() - LOST_MS).toISOString()
  const lost = await store.db
    .selectFrom('messages')
    .select('id')
    .where('status', '=', 'queued')
    .where('created', '<', before)
    .limit(100)
    .execute()
  for (const { id } of lost) {
    await store.transaction(async trx => {
      const row = await trx.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst()
      if (row?.status === 'queued') await settle(trx, row, { status: 'failed', pending: 0 }, at)
    })
  }
}

async function settle(
  trx: Trx,
  row: MessageRow,
  change: Pick<MessageRow, 'pending'> & { status: 'delivered' | 'failed'; sip_code?: number },
  at: string,
): Promise<void> {
  const tenant: Tenant = tenantOf(row)
  await forTenant(trx, tenant).change('messages', row.id, change)
  await appendEvent(trx, tenant, { type: `message.${change.status}`, at, object: toMessage({ ...row, ...change }) })
}

/** Deletes a text and the events about it. */
export async function removeMessage(trx: Trx, tenant: Tenant, id: string): Promise<null> {
  const scoped = forTenant(trx, tenant)
  await scoped.delete('messages').where('id', '=', id).execute()
  await scoped.delete('events').where('object_id', '=', id).execute()
  return null
}
