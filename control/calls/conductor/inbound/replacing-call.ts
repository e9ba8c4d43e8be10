import type { Trx } from '../../../kernel/store/store.ts'
import type { ConnectionRow } from '../../../trunks/tables.ts'
import type { Of } from '../event-handler.ts'
import { follow } from '../follow.ts'

/**
 * A trunk calls in the place of a dialog (RFC 3891): of a call that runs over one of the connections that it may call by, where that
 * lets its far end transfer. Others learn nothing of the dialog, not even that it is there.
 */
export async function takeTrunkCall(
  trx: Trx,
  { legId, replaces = '' }: Of<'leg.incoming'>['body'],
  connections: readonly ConnectionRow[],
): Promise<void> {
  const mine = connections.filter(({ transfers }) => transfers !== 'refuse').map(({ id }) => id)
  const leg = await trx
    .selectFrom('participants')
    .select(['call_id', 'connection_id'])
    .where('id', '=', replaces)
    .where('step', 'not in', ['ended', 'hanging_up'])
    .executeTakeFirst()
  const isTheirs = leg?.connection_id != null && mine.includes(leg.connection_id)
  follow(trx, leg?.call_id ?? legId, async ({ media }) => {
    if (isTheirs) await media.request('leg.replace', { legId: replaces, byLegId: legId })
    else await media.request('leg.reject', { legId, sipCode: 403, reason: 'rejected', retryAfterS: null })
  })
}
