import type { ExpressionBuilder } from 'kysely'
import { type Place, rowsOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { tenantsWithAvailable } from '../queues/agent-status.ts'
import { AHEAD_MS, MAX_AHEAD_MS } from './pacing.ts'
import { settingsOf } from './schema.ts'
import { type ContactStatus, ON_CALL } from './states.ts'

type Campaigns = ExpressionBuilder<Database, 'campaigns'>

/**
 * Campaigns with something to do now: a call may begin and a contact is due, or no contact is left. One indexed query, however many
 * contacts are due later, and another one if agents lead some of them. The transaction that acts checks again.
 */
export async function wakefulCampaigns(db: Db, now: Date): Promise<{ id: string; tenant: Tenant }[]> {
  const rows = await rowsOf(
    db,
    'wakeful campaigns',
    place =>
      db
        .selectFrom('campaigns')
        .select(['id', 'organisation_id', 'livemode', 'settings'])
        .select(eb => [talking(eb).as('talking'), eb.exists(due(eb, place)).as('isDue')])
        .where(eb =>
          eb.or([
            eb.and([eb('status', '=', 'stopping'), eb.not(eb.exists(contacts(eb, ON_CALL)))]),
            eb.and([
              eb('status', '=', 'running'),
              eb.or([eb('next_call_ms', '<=', place('aheadMs')), eb('next_call_ms', '>', place('farMs'))]),
              eb.or([eb.exists(due(eb, place)), eb.not(eb.exists(contacts(eb, ['pending', ...ON_CALL])))]),
            ]),
          ]),
        )
        // Campaigns that share agents take turns.
        .orderBy('next_call_ms')
        .orderBy('id'),
    { at: now.toISOString(), aheadMs: now.getTime() + AHEAD_MS, farMs: now.getTime() + MAX_AHEAD_MS },
  )
  const awake = rows.map(row => ({ row, settings: settingsOf(row) }))
  const needsAgents = awake.some(({ settings }) => settings.queue_id !== null && settings.mode !== 'preview')
  const available = needsAgents ? await tenantsWithAvailable(db) : []
  const isAnyAvailable = (row: (typeof rows)[number]): boolean =>
    available.some(one => one.organisation_id === row.organisation_id && one.livemode === row.livemode)
  return awake
    .filter(({ row, settings: { queue_id, mode, max_concurrent } }) => {
      // No contact is due: the campaign may be over, which needs no agents.
      if (!row.isDue) return true
      // In preview, agents begin the calls themselves.
      if (mode === 'preview') return false
      return Number(row.talking) < max_concurrent && (queue_id === null || isAnyAvailable(row))
    })
    .map(({ row }) => ({ id: row.id, tenant: tenantOf(row) }))
}

const contacts = (eb: Campaigns, statuses: readonly ContactStatus[]) =>
  eb
    .selectFrom('campaign_contacts')
    .select('campaign_contacts.id')
    .whereRef('campaign_contacts.campaign_id', '=', 'campaigns.id')
    .where('campaign_contacts.status', 'in', statuses)

const due = (eb: Campaigns, place: Place) =>
  contacts(eb, ['pending']).where('campaign_contacts.next_attempt_at', '<=', place('at'))

const talking = (eb: Campaigns) =>
  contacts(eb, ON_CALL)
    .clearSelect()
    .select(calls => calls.fn.countAll().as('n'))
