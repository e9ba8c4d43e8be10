import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { keepOf } from '../steps/follow.ts'
import type { CallRow } from '../tables.ts'

/** Pending commands to media for calls whose other party has given or withdrawn consent. */

/** The call's node tells media: this node at once, another node when it next looks for changes by others. */
export async function changeCapture(trx: Trx, tenant: Tenant, call: CallRow, action: 'begin' | 'stop'): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.delete('capture_changes').where('call_id', '=', call.id).execute()
  await scoped.insert('capture_changes', { call_id: call.id, node_id: call.node_id, action })
  if (call.node_id === nodeOf(trx)) keepOf(trx, call.id)
}

// Over all tenants: the media process serves them all.

export async function changedCalls(db: Db): Promise<string[]> {
  const rows = db.selectFrom('capture_changes').select('call_id').where('node_id', '=', nodeOf(db))
  return (await rows.orderBy('call_id').execute()).map(row => row.call_id)
}

/** The change is applied; a different one that arrived meanwhile stays. */
export async function forgetChange(store: Store, callId: string, action?: 'begin'): Promise<void> {
  await store.transaction(async trx => {
    const changes = trx.deleteFrom('capture_changes').where('call_id', '=', callId)
    await (action === undefined ? changes : changes.where('action', '=', action)).execute()
  })
}
