import type { Trx } from '../../../kernel/store/store.ts'
import type { ConnectionRow } from '../../../trunks/tables.ts'
import type { Of } from '../../steps/event-handler.ts'
import { follow } from '../../steps/follow.ts'

/**
 * A trunk calls to replace a dialog (RFC 3891): a dialog of a call over a connection that this trunk may use, if the connection lets its
 * far end transfer. Others learn nothing about the dialog, not even that it exists.
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
    else await media.request('leg.reject', { legId, sipCode: 403, reason: 'rejected' })
  })
}
