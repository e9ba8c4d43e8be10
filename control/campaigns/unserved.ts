import { mainLeg, setLeg } from '../calls/legs.ts'
import { namedPhrase } from '../kernel/phrases.ts'
import { rowsOf } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { leaveQueue } from '../queues/waiting-calls.ts'

/** Maximum time that an answered contact waits for an agent [ms]. */
const MOST_WAIT_MS = 2000

/** Answered calls of campaigns on this node that have waited too long in a queue with no agent being rung, since the free agent did not take them. */
export async function unservedCalls(db: Db, now: Date): Promise<{ callId: string; tenant: Tenant }[]> {
  const rows = await rowsOf(
    db,
    'unserved calls of campaigns',
    place =>
      db
        .selectFrom('queue_calls')
        .innerJoin('participants', 'participants.id', 'leg_id')
        .select(['queue_calls.id', 'queue_calls.organisation_id', 'queue_calls.livemode'])
        .where('offered_to', 'is', null)
        .where('node_id', '=', place('node'))
        // As a join, SQLite would read all attempts that ever were.
        .where(eb =>
          eb.exists(
            eb
              .selectFrom('campaign_attempts')
              .select('id')
              .whereRef('call_id', '=', 'queue_calls.id')
              .where('ended_at', 'is', null)
              // With detection, the wait begins with its result.
              .where(ofAttempt => ofAttempt.fn.coalesce('found_out_at', 'answered_at'), '<=', place('since')),
          ),
        ),
    { node: nodeOf(db), since: new Date(now.getTime() - MOST_WAIT_MS).toISOString() },
  )
  return rows.map(row => ({ callId: row.id, tenant: tenantOf(row) }))
}

/** Takes a call out of its queue, plays an apology, and hangs up. */
export async function sendAway(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void> {
  if ((await leaveQueue(trx, tenant, callId, { outcome: 'no_agents', at })) !== null)
    await apologise(trx, tenant, callId)
}

export async function apologise(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  const leg = await mainLeg(trx, tenant, callId)
  if (leg === undefined) return
  const leave_prompt = namedPhrase('apology', null)
  await setLeg(trx, tenant, leg.id, { step: 'leaving', leave_prompt, leave_reason: 'capacity' })
}
