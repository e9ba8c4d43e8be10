import { blocksAround, type Events } from '../../../media/protocol.ts'
import { remembered } from '../../kernel/remembered.ts'
import { inList, rowsOf } from '../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { type Caller, namesOf } from '../../trunks/inbound.ts'
import type { ConnectionRow, InboundRouteRow } from '../../trunks/tables.ts'

/** The rows that decide about an inbound call. Live ones: the telephone network has no test mode. */

type Incoming = Events['leg.incoming']

/** Patterns longer than this match nothing (`POST /inbound_routes`) [characters]. */
const MAX_PATTERN = 200

/** The same trunks and phones call again and again. */
const networksAround = remembered(1000, blocksAround)

/**
 * The connections that may accept this caller: the one that it is registered with, or whose password it has proven, or those with a
 * network that contains it. Uses an index.
 */
export const connectionsFor = (
  db: Db,
  { source, connectionId, proven = connectionId }: Caller,
): Promise<ConnectionRow[]> => {
  const enabled = () => db.selectFrom('connections').selectAll().where('livemode', '=', 1).where('enabled', '=', 1)
  if (proven !== undefined) {
    return rowsOf(db, 'enabled connection', place => enabled().where('id', '=', place('id')), { id: proven })
  }
  const around = networksAround(source.host)
  if (around.length === 0) return Promise.resolve([])
  const networks = inList('network', around)
  return rowsOf(
    db,
    `connections around ${networks.length}`,
    place =>
      enabled().where('id', 'in', eb =>
        eb
          .selectFrom('connection_networks')
          .select('connection_id')
          .where('livemode', '=', 1)
          .where('network', 'in', networks.places(place)),
      ),
    networks.values,
  )
}

/** The connection that a caller claims to belong to; not verified yet. */
export async function connectionOfAccount(db: Db, username: string): Promise<ConnectionRow | undefined> {
  return db
    .selectFrom('connections')
    .selectAll()
    .where('inbound_username', '=', username)
    .where('livemode', '=', 1)
    .where('enabled', '=', 1)
    .executeTakeFirst()
}

/** What matches one of these names; the same numbers are called again and again. */
const patternsOf = remembered(500, asked => {
  const names = JSON.parse(asked) as string[]
  const prefixes = names.flatMap(name => Array.from({ length: name.length + 1 }, (_, end) => `${name.slice(0, end)}*`))
  return inList('pattern', [...new Set([...names, ...prefixes])])
})

/** The routes of these organisations whose `to` matches, by an index. `routeInbound` checks their other conditions. */
export async function routesFor(
  db: Db,
  { to }: Incoming,
  organisationIds: readonly string[],
): Promise<InboundRouteRow[]> {
  if (organisationIds.length === 0) return []
  const patterns = patternsOf(JSON.stringify(namesOf(to).map(name => name.slice(0, MAX_PATTERN))))
  const organisations = inList('organisation', organisationIds)
  return rowsOf(
    db,
    `routes of ${organisations.length} by ${patterns.length}`,
    place =>
      db
        .selectFrom('inbound_routes')
        .selectAll()
        .where('livemode', '=', 1)
        .where('organisation_id', 'in', organisations.places(place))
        .where(eb => eb.or([eb('match_to', 'is', null), eb('match_to', 'in', patterns.places(place))])),
    Object.assign({}, organisations.values, patterns.values),
  )
}

/** Limit of routes that a few digits may lead to; after so few, most of the number is still to come [rows]. */
const MAX_BEGUN = 200

/** The routes for longer numbers that begin with the dialled digits, by an index. They do not match: the number is incomplete. */
export function routesBegunBy(
  db: Db,
  { to }: Incoming,
  organisationIds: readonly string[],
): Promise<InboundRouteRow[]> {
  if (organisationIds.length === 0 || !/^\+?\d+$/.test(to.user)) return Promise.resolve([])
  return (
    db
      .selectFrom('inbound_routes')
      .selectAll()
      .where('livemode', '=', 1)
      .where('organisation_id', 'in', organisationIds)
      .where('match_to', '>', to.user)
      // The colon follows the 9: longer patterns continue with a digit.
      .where('match_to', '<', `${to.user}:`)
      .orderBy('match_to')
      .limit(MAX_BEGUN)
      .execute()
  )
}

/** The organisations that have this number, the first owner first. */
export async function ownersOf(db: Db, { to }: Incoming): Promise<string[]> {
  if (!/^\+?[1-9][0-9]{1,14}$/.test(to.user)) return []
  const rows = await db
    .selectFrom('phone_numbers')
    .select('organisation_id')
    .where('number', '=', `+${to.user.replace('+', '')}`)
    .where('livemode', '=', 1)
    .orderBy('created')
    .orderBy('id')
    .execute()
  return rows.map(row => row.organisation_id)
}

/** The number of running legs on each of these connections that has a limit. */
export async function runningOn(trx: Trx, connections: readonly ConnectionRow[]): Promise<ReadonlyMap<string, number>> {
  const ids = connections.flatMap(({ id, max_calls }) => (max_calls === null ? [] : [id]))
  if (ids.length === 0) return new Map()
  const counts = await trx
    .selectFrom('participants')
    .select(({ fn }) => ['connection_id', fn.countAll<number>().as('count')])
    .where('step', '!=', 'ended')
    .where('connection_id', 'in', ids)
    .groupBy('connection_id')
    .execute()
  return new Map(counts.map(({ connection_id, count }) => [connection_id ?? '', Number(count)]))
}
