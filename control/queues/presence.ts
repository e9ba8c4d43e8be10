import type { AgentStatusRow } from '../contact-centre/tables.ts'
import type { Trx } from '../store.ts'
import { comeBack, goWithout, noteDeviceless } from './agent-status.ts'

/**
 * Presence follows devices: who has no registered phone and no open softphone, at any node, is offline after a moment, long enough for
 * a page to be loaded again and for a network to come back. Who comes back is again what he has set.
 */

export const GRACE_MS = 20_000

/** In the transaction of the duties; of all organisations. */
export async function followDevices(trx: Trx, now: Date): Promise<void> {
  const at = now.toISOString()
  const lost = new Date(now.getTime() - GRACE_MS).toISOString()
  for (const row of await without(trx, at)) {
    if (row.deviceless_since === null) await noteDeviceless(trx, row, at)
    else if (row.deviceless_since <= lost) await goWithout(trx, row, at)
  }
  for (const row of await withAgain(trx, at)) await comeBack(trx, row, at)
}

/** Signed in, in no call, and nothing to ring. */
const without = (trx: Trx, at: string): Promise<AgentStatusRow[]> =>
  trx
    .selectFrom('agent_statuses as s')
    .selectAll('s')
    .where('s.status', 'in', ['available', 'away'])
    .where(({ not, or, exists }) => not(or([exists(phonesOf(trx, at)), exists(softphonesOf(trx))])))
    .execute()

/** With a device, who had none. */
const withAgain = (trx: Trx, at: string): Promise<AgentStatusRow[]> =>
  trx
    .selectFrom('agent_statuses as s')
    .selectAll('s')
    .where('s.deviceless_since', 'is not', null)
    .where(({ or, exists }) => or([exists(phonesOf(trx, at)), exists(softphonesOf(trx))]))
    .execute()

const phonesOf = (trx: Trx, at: string) =>
  trx
    .selectFrom('sip_registrations as r')
    .select('r.user_id')
    .whereRef('r.organisation_id', '=', 's.organisation_id' as never)
    .whereRef('r.livemode', '=', 's.livemode' as never)
    .whereRef('r.user_id', '=', 's.id' as never)
    .where('r.expires_at', '>', at)

const softphonesOf = (trx: Trx) =>
  trx
    .selectFrom('browser_sessions as b')
    .select('b.user_id')
    .whereRef('b.organisation_id', '=', 's.organisation_id' as never)
    .whereRef('b.livemode', '=', 's.livemode' as never)
    .whereRef('b.user_id', '=', 's.id' as never)
