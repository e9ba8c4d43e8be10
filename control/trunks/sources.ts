import { canonicalBlock, isPublicAddress, type Request } from '../../media/protocol.ts'
import { rowOf, rowsOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { hasInboundAccounts } from './inbound-auth.ts'

/** Maximum number of networks for which media reserves capacity; all of them fit into one message. */
const MAX_NETWORKS = 60_000
/** Wider public blocks get no reserved capacity: a connection that accepts everybody does not make everybody known [bits]. */
const WIDEST_PUBLIC = { ipv4: 16, ipv6: 32 }
const WIDEST_PRIVATE = 7

type Sources = Request<'sources.set'>

/** The networks of all enabled connections. */
export async function trunkNetworks(db: Db): Promise<string[]> {
  const rows = await rowsOf(
    db,
    'networks of connections',
    () =>
      db
        .selectFrom('connection_networks')
        .innerJoin('connections', 'connections.id', 'connection_networks.connection_id')
        .select('connection_networks.network')
        .distinct()
        .where('connections.livemode', '=', 1)
        .where('connections.enabled', '=', 1)
        .orderBy('connection_networks.network')
        .limit(MAX_NETWORKS),
    {},
  )
  return rows.map(({ network }) => network)
}

/** These networks and the hosts of registered phones. A flood of SIP from strangers must not take their capacity. */
export async function knownSources(db: Db, at: Date, networks: readonly string[]): Promise<Sources> {
  const phones = await rowsOf(
    db,
    'hosts of phones',
    place =>
      db
        .selectFrom('sip_registrations')
        .select('host')
        .distinct()
        .where('expires_at', '>', place('at'))
        .orderBy('host')
        .limit(MAX_NETWORKS),
    { at: at.toISOString() },
  )
  const all = new Set([...networks.filter(isNarrow), ...phones.flatMap(({ host }) => canonicalBlock(host) ?? [])])
  const isWhole = networks.every(isNarrow) && all.size < MAX_NETWORKS && networks.length < MAX_NETWORKS
  const strangers = !isWhole ? 'asked' : (await hasAccounts(db)) ? 'challenged' : 'refused'
  return { networks: [...all].slice(0, MAX_NETWORKS), strangers }
}

/** Whether anybody authenticates by a password: callers of a connection, or members' phones. */
const hasAccounts = async (db: Db): Promise<boolean> =>
  (await hasInboundAccounts(db)) ||
  (await rowOf(db, 'any account of a phone', () => db.selectFrom('sip_credentials').select('id').limit(1), {})) !==
    undefined

function isNarrow(network: string): boolean {
  const [address = '', length = ''] = network.split('/')
  const widest = !isPublicAddress(address) ? WIDEST_PRIVATE : WIDEST_PUBLIC[address.includes(':') ? 'ipv6' : 'ipv4']
  return Number(length) >= widest
}
