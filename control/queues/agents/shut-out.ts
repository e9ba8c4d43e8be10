import { isFailure, MAX_KEPT_PHONES } from '../../../media/protocol.ts'
import { hangUpLeg } from '../../calls/legs.ts'
import type { FollowUp } from '../../kernel/follow-ups.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { GRACE_MS } from '../presence.ts'
import { targetOf } from '../ringing/late-devices.ts'
import { legsOfRing } from '../ringing/rings.ts'
import type { RingRow } from '../tables.ts'
import type { BrowserSessionRow } from './tables.ts'

/**
 * Deactivating a member. The same transaction ends the member's registrations and unused softphone tokens. The next run of the call
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
  await endRegistrations(trx, tenant, userId)
  await own.delete('client_tokens').where('agent_user_id', '=', userId).where('used_at', 'is', null).execute()
}

/** Of a registration that ended before its time: nobody waits for its phone, as for one that is only late (`mayComeBack`). */
const LONG_AGO = new Date(0).toISOString()

/**
 * In the transaction that ends a member's account: its phones stop ringing, since whoever has them may be somebody else by now. The rows remain
 * for the nodes that keep the ways to the phones open (`forgetPhones`).
 */
export async function endRegistrations(trx: Trx, tenant: Tenant, userId: string): Promise<void> {
  const own = forTenant(trx, tenant)
  await own.update('sip_registrations').set({ expires_at: LONG_AGO }).where('user_id', '=', userId).execute()
  const ringing = own.select('rings').select('id').where('user_id', '=', userId).where('state', '=', 'ringing')
  for (const { id } of await ringing.execute()) {
    const phones = (await legsOfRing(trx, tenant, id)).filter(leg => targetOf(leg).kind === 'sip')
    for (const leg of phones) await hangUpLeg(trx, tenant, leg.id, 'api_hangup')
  }
}

/** Tells media which phones of this node are registered no more. Called periodically. */
export async function forgetPhones({ db }: Pick<Store, 'db'>, media: MediaPort, now: Date): Promise<void> {
  const over = new Date(now.getTime() - GRACE_MS).toISOString()
  const gone = db.deleteFrom('sip_registrations').where('node', '=', nodeOf(db)).where('expires_at', '<=', over)
  const rows = await gone.returning(['contact as uri', 'transport', 'host', 'port']).execute()
  const phones = rows.slice(0, MAX_KEPT_PHONES).map(phone => ({ ...phone, expiresS: 0 }))
  if (phones.length > 0) await media.request('sip.keep_open', { phones })
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
