import type { Failure, SipParty } from '../../media/protocol.ts'
import { freeWayTo, outsideProblem } from '../calls/dial.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { UserRow } from '../organisation/tables.ts'
import { isInHours, scoreOf } from '../trunks/inbound.ts'
import type { InboundRouteRow } from '../trunks/tables.ts'
import type { Onward } from './ringing/rings.ts'

/** Where a dialled address leads a member: a colleague, the target of a route, or an outside number. */
export type Destination =
  | { kind: 'user'; userId: string }
  | { kind: 'route'; route: InboundRouteRow }
  | { kind: 'outside'; onward: Onward }

export type Undialable = Pick<Failure, 'message'> & { failure: 'not_found' | 'capacity' }

const EXTENSION = /^[0-9]{2,8}$/
const E164 = /^\+[1-9][0-9]{1,14}$/

/**
 * Looks up what a member has dialled, within its organisation and mode: an extension, then the inbound routes' `to`, then a number
 * over the organisation's connections, or of the sandbox in test mode. Emergency numbers and SIP addresses of strangers are not
 * reachable.
 */
export async function destinationOf(
  { db, sipHost, vault }: { db: Db; sipHost: string; vault: Vault },
  tenant: Tenant,
  user: UserRow,
  { to, from, at }: { to: SipParty; from: SipParty; at: Date },
): Promise<Destination | Undialable> {
  const scoped = forTenant(db, tenant)
  if (EXTENSION.test(to.user)) {
    const members = scoped.select('users').select('id').where('extension', '=', to.user)
    const member = await members.where('status', '=', 'active').executeTakeFirst()
    if (member !== undefined) return { kind: 'user', userId: member.id }
  }
  const route = await routeFor(db, tenant, { to, from, at })
  if (route !== undefined) return { kind: 'route', route }
  if (!E164.test(to.user)) return { failure: 'not_found', message: `No person has the address ${to.user}.` }
  const number = await numberOf(db, tenant, user)
  const refused = await outsideProblem(db, tenant, to.user)
  if (refused !== null) return { failure: 'not_found', message: refused.message }
  if (!tenant.livemode) {
    return { kind: 'outside', onward: { to: to.user, from: number ?? from.uri, connectionId: null } }
  }
  const way = await freeWayTo(db, tenant, { to: to.user, from: number }, { sipHost, vault })
  if ('problem' in way) {
    return { failure: way.problem === 'capacity_exhausted' ? 'capacity' : 'not_found', message: way.message }
  }
  return { kind: 'outside', onward: { to: to.user, from: way.from, connectionId: way.connection?.id ?? null } }
}

/** A number counts only where a route names it in full: a prefix that takes calls in would keep all others from going out. */
async function routeFor(
  db: Db,
  tenant: Tenant,
  { to, from, at }: { to: SipParty; from: SipParty; at: Date },
): Promise<InboundRouteRow | undefined> {
  const rows = await forTenant(db, tenant)
    .select('inbound_routes')
    .selectAll()
    .where('match_to', 'is not', null)
    .execute()
  const named = rows.filter(row => row.match_to !== '*' && (!E164.test(to.user) || !row.match_to?.endsWith('*')))
  const scored = named.flatMap(route => {
    const score = isInHours(route, at) ? scoreOf(route, { to, from }) : null
    return score === null ? [] : [{ route, score }]
  })
  scored.sort((a, b) => b.route.priority - a.route.priority || b.score - a.score || (a.route.id < b.route.id ? -1 : 1))
  return scored[0]?.route
}

/** The number that leads to the member, else the organisation's first. */
async function numberOf(db: Db, tenant: Tenant, user: UserRow): Promise<string | undefined> {
  const scoped = forTenant(db, tenant)
  const numbers = (await scoped.select('phone_numbers').select('number').orderBy('id').execute()).map(row => row.number)
  const routes = await scoped
    .select('inbound_routes')
    .select('match_to')
    .where('target', '=', 'user')
    .where('target_id', '=', user.id)
    .orderBy('id')
    .execute()
  const own = routes.find(row => row.match_to !== null && numbers.includes(row.match_to))
  return own?.match_to ?? numbers[0]
}
