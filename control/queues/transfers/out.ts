import { isFailure, isUndecided } from '../../../media/protocol.ts'
import { isPaused } from '../../calls/pci.ts'
import { follow } from '../../calls/steps/follow.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { conflict, type Problem } from '../../http/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { uriAt } from '../../trunks/outbound.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import { findTransfer, insertTransfer, planOf, transferBegun, transferOver } from './records.ts'
import type { CallTransferRow } from './tables.ts'

/** The connection of a leg whose far end may be asked to call somebody else itself; null: it may not. */
export async function followedBy(trx: Trx, tenant: Tenant, leg: ParticipantRow): Promise<ConnectionRow | null> {
  if (leg.connection_id === null) return null
  const connection = await forTenant(trx, tenant).find('connections', leg.connection_id)
  return connection?.transfers === 'follow' ? connection : null
}

interface Asking {
  callId: string
  leg: ParticipantRow
  connection: ConnectionRow
  /** A number, or a SIP URI. */
  to: string
  /** The leg whose dialog the target replaces; null: none. */
  inPlaceOf: string | null
  at: string
}

/** Asks the far end of a leg by REFER to call the target. The call stays as it is until the far end reports success. */
export async function askFarEnd(
  { store }: { store: Store },
  trx: Trx,
  tenant: Tenant,
  { callId, leg, connection, to, inPlaceOf, at }: Asking,
): Promise<Problem | null> {
  if (await isPaused(trx, tenant, callId)) {
    return conflict('already_paused', 'A card payment is in progress: the call cannot leave before it is over.')
  }
  const row: CallTransferRow = {
    ...ownedBy(tenant),
    id: newId('transfer'),
    call_id: callId,
    leg_id: leg.id,
    direction: 'out',
    to_address: to,
    plan: JSON.stringify({ kind: 'pass', legId: leg.id, to: uriAt(connection, to), inPlaceOf }),
    status: 'trying',
    ring_id: null,
    node_id: leg.node_id,
    created: at,
  }
  if (!(await insertTransfer(trx, row))) {
    return conflict('already_transferring', 'A transfer of this call is already in progress.')
  }
  await transferBegun(trx, row, null, at)
  follow(trx, callId, ({ media }) => pass(store, media, row.id, at))
  return null
}

/** Sends the REFER. It may be repeated after a lost command: media sends none twice. */
export async function pass(store: Store, media: MediaPort, id: string, at: string): Promise<void> {
  const row = await findTransfer(store.db, id)
  const plan = row === undefined ? null : planOf(row)
  if (row === undefined || plan?.kind !== 'pass') return
  const { legId, to, inPlaceOf } = plan
  const reply = await media.request('leg.refer', { legId, referId: id, to, inPlaceOf })
  if (!isFailure(reply) || isUndecided(reply)) return
  await store.transaction(async trx => {
    const still = await findTransfer(trx, id)
    if (still !== undefined) await transferOver(trx, still, reply.failure === 'not_found' ? 481 : 503, at)
  })
}
