import { blocksAround, type Events } from '../../../media/protocol.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { namesOf } from '../../trunks/inbound.ts'
import type { ConnectionRow, InboundRouteRow } from '../../trunks/tables.ts'

/** The rows that decide about an incoming call. Live ones: the telephone network knows no test mode. */

type Incoming = Events['leg.incoming']

/** Patterns longer than this match nothing (`POST /inbound_routes`) [characters]. */
const MAX_PATTERN = 200

/** The connections that may let this source in: the one that it is registered with, or those with a network around it. By an index. */
export const connectionsFor = (db: Db, { source, connectionId }: Incoming): Promise<ConnectionRow[]> =>
  db
    .selectFrom('connections')
    .selectAll()
    .where('livemode', '=', 1)
    .where('enabled', '=', 1)
    .where(eb =>
      connectionId === undefined
        ? eb(
            'id',
            'in',
            eb
              .selectFrom('connection_networks')
              .select('connection_id')
              .where('livemode', '=', 1)
              .where('network', 'in', blocksAround(source.host)),
          )
        : eb('id', '=', connectionId),
    )
    .execute()

/** The routes of these organisations whose `to` fits, all of them by an index; what else they ask for is judged by `routeInbound`. */
export async function routesFor(
  db: Db,
  { to }: Incoming,
  organisationIds: readonly string[],
): Promise<InboundRouteRow[]> {
  if (organisationIds.length === 0) return []
  const names = namesOf(to).map(name => name.slice(0, MAX_PATTERN))
  const prefixes = names.flatMap(name => Array.from({ length: name.length + 1 }, (_, end) => `${name.slice(0, end)}*`))
  const patterns = [...new Set([...names, ...prefixes])]
  return db
    .selectFrom('inbound_routes')
    .selectAll()
    .where('livemode', '=', 1)
    .where('organisation_id', 'in', organisationIds)
    .where(eb => eb.or([eb('match_to', 'is', null), eb('match_to', 'in', patterns)]))
    .execute()
}

/** The organisations that have this number, the first to have it in front. */
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

/** How many legs run on each of these connections that has a limit. */
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
