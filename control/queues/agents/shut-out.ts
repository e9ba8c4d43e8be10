import { isFailure } from '../../../media/protocol.ts'
import type { FollowUp } from '../../kernel/follow-ups.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { RingRow } from '../tables.ts'
import type { BrowserSessionRow } from './tables.ts'

/**
 * Deactivating a member. The same transaction deletes the member's registrations and unused softphone tokens. The next run of the call
 * centre ends rings and supervision, and closes softphones, on every node. A conversation with a caller goes on, for the caller's sake; its
 * softphone is closed afterwards.
 */

/** WebSocket close code: policy violation (RFC 6455 §7.4.1). */
const POLICY = 1008
/** How long a device that has a row but is unknown to media may still be connecting [ms]. */
const ADMISSION_MS = 10_000

/** In the transaction that deactivates the member. After reactivation, its devices register again. */
export async function forgetDevices(trx: Trx, tenant: Tenant, userId: string): Promise<void> {
  const own = forTenant(trx, tenant)
  await own.delete('sip_registrations').where('user_id', '=', userId).execute()
  await own.delete('client_tokens').where('agent_user_id', '=', userId).where('used_at', 'is', null).execute()
}

/** Rings of this node of deactivated members that are unanswered, or that supervise a call. */
export const ringsOfShutOut = (db: Db): Promise<RingRow[]> =>
  rowsOf(
    db,
    'rings of the shut out',
    place =>
      db
        .selectFrom('rings')
        .innerJoin('users', 'users.id', 'rings.user_id')
        .selectAll('rings')
        .where('users.status', '!=', 'active')
        .where('rings.node_id', '=', place('node'))
        .where(eb => eb.or([eb('rings.state', '=', 'ringing'), eb('rings.purpose', '=', 'supervise')]))
        .orderBy('rings.id'),
    { node: nodeOf(db) },
  )

/** Closes softphones on this node whose members are deactivated and in no call. */
export async function closeSoftphones({ db, followUps }: Store, now: Date): Promise<void> {
  const settled = new Date(now.getTime() - ADMISSION_MS).toISOString()
  for (const { id, connected_at } of await softphonesToClose(db)) {
    const run: FollowUp = async ({ media }) => {
      const reply = await media.request('browser.close', { browserId: id, code: POLICY, reason: 'no longer active' })
      if (isFailure(reply) && reply.failure === 'not_found' && connected_at < settled) {
        await db.deleteFrom('browser_sessions').where('id', '=', id).execute()
      }
    }
    followUps.begin({ key: id, run })
  }
}

const softphonesToClose = (db: Db): Promise<Pick<BrowserSessionRow, 'id' | 'connected_at'>[]> =>
  rowsOf(
    db,
    'softphones to close',
    place => {
      const talking = db.selectFrom('rings').select('open_user').where('open_user', 'is not', null)
      return db
        .selectFrom('browser_sessions')
        .innerJoin('users', 'users.id', 'browser_sessions.user_id')
        .select(['browser_sessions.id', 'browser_sessions.connected_at'])
        .where('users.status', '!=', 'active')
        .where('browser_sessions.node', '=', place('node'))
        .where('browser_sessions.user_id', 'not in', talking.$castTo<{ open_user: string }>())
    },
    { node: nodeOf(db) },
  )
