import type { Failure, SipParty } from '../../media/protocol.ts'
import { freeWayTo, outsideProblem } from '../calls/dial.ts'
import { countryOf, DIALLED, dialledPhone, E164 } from '../kernel/phone.ts'
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

/**
 * Looks up what a member has dialled, within its organisation and mode: an extension, then the inbound routes' `to`, then a number as people dial it,
 * over the organisation's connections, or in the sandbox in test mode. Emergency numbers and SIP addresses elsewhere are refused.
 */
export async function destinationOf(
  { db, sipHost, vault }: { db: Db; sipHost: string; vault: Vault },
  tenant: Tenant,
  user: UserRow,
  { to, from, at }: { to: SipParty; from: SipParty; at: Date },
): Promise<Destination | Undialable> {
  const colleague = await colleagueAt(db, tenant, to.user)
  if (colleague !== undefined) return { kind: 'user', userId: colleague.id }
  const outside = await outsideNumber(db, tenant, user.id, to.user)
  const isNumber = 'number' in outside
  const inE164 = isNumber ? { ...to, user: outside.number } : to
  const route = await routeFor(db, tenant, { to, inE164, from, at })
  if (route !== undefined) return { kind: 'route', route }
  if (!isNumber) return outside
  const { number, own } = outside
  const refused = await outsideProblem(db, tenant, number)
  if (refused !== null) return { failure: 'not_found', message: refused.message }
  if (!tenant.livemode) return { kind: 'outside', onward: { to: number, from: own ?? from.uri, connectionId: null } }
  const way = await freeWayTo(db, tenant, { to: number, from: own }, { sipHost, vault })
  if ('problem' in way) {
    return { failure: way.problem === 'capacity_exhausted' ? 'capacity' : 'not_found', message: way.message }
  }
  return { kind: 'outside', onward: { to: number, from: way.from, connectionId: way.connection?.id ?? null } }
}

/** The active member with this extension. */
export const colleagueAt = async (db: Db, tenant: Tenant, extension: string): Promise<UserRow | undefined> =>
  EXTENSION.test(extension) ? forTenant(db, tenant).findBy('users', { extension, status: 'active' }) : undefined

/** The number (E.164) that a member dials, read in the country of the organisation, or of the number that it calls from (`own`). */
export async function outsideNumber(
  db: Db,
  tenant: Tenant,
  userId: string,
  dialled: string,
): Promise<{ number: string; own: string | undefined } | Undialable> {
  const own = await numberOf(db, tenant, userId)
  if (E164.test(dialled)) return { number: dialled, own }
  const organisation = db.selectFrom('organisations').select('country').where('id', '=', tenant.organisationId)
  const country = (await organisation.executeTakeFirst())?.country ?? (own === undefined ? null : countryOf(own))
  const number = dialledPhone(dialled, country)
  if (number !== null) return { number, own }
  const isNational = country === null && DIALLED.test(dialled)
  const need = 'National numbers need a `country` of the organisation.'
  return { failure: 'not_found', message: isNational ? need : `No person has the address ${dialled}.` }
}

/** The best matching inbound route. A number must be named in full: a prefix meant for inbound calls would capture outbound ones. */
async function routeFor(
  db: Db,
  tenant: Tenant,
  { to, inE164, from, at }: { to: SipParty; inE164: SipParty; from: SipParty; at: Date },
): Promise<InboundRouteRow | undefined> {
  const rows = await forTenant(db, tenant)
    .select('inbound_routes')
    .selectAll()
    .where('match_to', 'is not', null)
    .execute()
  const isNumber = E164.test(inE164.user)
  const named = rows.filter(row => row.match_to !== '*' && (!isNumber || !row.match_to?.endsWith('*')))
  const scored = named.flatMap(route => {
    const score = isInHours(route, at) ? (scoreOf(route, { to, from }) ?? scoreOf(route, { to: inE164, from })) : null
    return score === null ? [] : [{ route, score }]
  })
  scored.sort((a, b) => b.route.priority - a.route.priority || b.score - a.score || (a.route.id < b.route.id ? -1 : 1))
  return scored[0]?.route
}

/** A SIP party at our own host: a member, or what a member has dialled. */
export const partyAt = (user: string, host: string): SipParty => ({ uri: `sip:${user}@${host}`, user, host })

/** The number with a route to the member, otherwise the organisation's first number. */
async function numberOf(db: Db, tenant: Tenant, userId: string): Promise<string | undefined> {
  const scoped = forTenant(db, tenant)
  const numbers = (await scoped.select('phone_numbers').select('number').orderBy('id').execute()).map(row => row.number)
  const routes = await scoped
    .select('inbound_routes')
    .select('match_to')
    .where('target', '=', 'user')
    .where('target_id', '=', userId)
    .orderBy('id')
    .execute()
  const own = routes.find(row => row.match_to !== null && numbers.includes(row.match_to))
  return own?.match_to ?? numbers[0]
}
