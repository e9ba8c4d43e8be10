import { decideAnew } from '../../calls/steps/follow.ts'
import { storedSettings } from '../../http/merge.ts'
import type { UsesOf } from '../../http/references.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, type TenantDb } from '../../kernel/tenancy.ts'
import type { QueueRow, RingRow } from '../tables.ts'
import { DEFAULT_SETTINGS, isAnsweredBy, useOf } from './queue.ts'
import { type Queue, type QueueSettings, queueSchema } from './schema.ts'

export const settingsOf = (row: QueueRow): QueueSettings => storedSettings(DEFAULT_SETTINGS, row.settings)

export const toQueue = (row: QueueRow): Queue => showRow(queueSchema, row, settingsOf(row))

export const allQueues = (db: Db, tenant: Tenant): Promise<QueueRow[]> =>
  forTenant(db, tenant).select('queues').selectAll().orderBy('id').execute()

/** Queues that use the object with this ID: an audio asset, an assistant, a user, a copilot profile, or another queue to overflow into. */
export const queuesUsing: UsesOf = async (db, tenant, id) => {
  const users = (await allQueues(db, tenant)).filter(row => useOf(settingsOf(row), id) !== null)
  return users.map(row => ({ object: 'queue', id: row.id, name: row.name }))
}

/** IDs of those queues that a user answers, directly or through the team. */
export const answeredBy = (queues: readonly QueueRow[], user: { id: string; teamId: string | null }): string[] =>
  queues.filter(row => isAnsweredBy(settingsOf(row), user)).map(row => row.id)

/** Takes a team that is being deleted out of every queue. */
export async function removeTeam(trx: Trx, tenant: Tenant, teamId: string): Promise<void> {
  for (const row of await allQueues(trx, tenant)) {
    const settings = settingsOf(row)
    if (!settings.member_team_ids.includes(teamId)) continue
    settings.member_team_ids = settings.member_team_ids.filter(id => id !== teamId)
    await saveSettings(trx, tenant, row.id, { settings: JSON.stringify(settings) })
  }
}

export async function saveSettings(
  trx: Trx,
  tenant: Tenant,
  id: string,
  change: Partial<Pick<QueueRow, 'name' | 'settings' | 'updated'>>,
): Promise<void> {
  await forTenant(trx, tenant).change('queues', id, change)
  await recallRings(trx, tenant, 'queue_id', id)
}

/** Lets rings of a queue expire whose member is away or no longer answers the queue, so that another agent is rung. */
export async function recallRings(trx: Trx, tenant: Tenant, of: 'queue_id' | 'user_id', id: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const rings = scoped.select('rings').selectAll().where(of, '=', id).where('state', '=', 'ringing')
  for (const ring of await rings.where('purpose', 'in', ['queue', 'callback']).execute()) {
    if (await isWanted(scoped, ring)) continue
    await scoped.change('rings', ring.id, { deadline: ring.started_at })
    decideAnew(trx)
  }
}

async function isWanted(scoped: TenantDb, { user_id, queue_id, callback_id }: RingRow): Promise<boolean> {
  const status = (await scoped.find('agent_statuses', user_id ?? ''))?.status
  if (status === 'away' || status === 'offline') return false
  const user = await scoped.find('users', user_id ?? '')
  const queue = await scoped.find('queues', queue_id ?? '')
  const callback = await scoped.find('callbacks', callback_id ?? '')
  if (user === undefined || queue === undefined || callback?.route === 'agent') return true
  return isAnsweredBy(settingsOf(queue), { id: user.id, teamId: user.team_id })
}

/** IDs of the calls that wait in a queue, in the order in which they are answered. */
export async function waitingIn(db: Db, tenant: Tenant, queueId: string): Promise<string[]> {
  const calls = forTenant(db, tenant).select('queue_calls').select('id').where('queue_id', '=', queueId)
  return (await calls.orderBy('joined_at').orderBy('id').execute()).map(row => row.id)
}
