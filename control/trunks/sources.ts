import { canonicalBlock, isPublicAddress, type Request } from '../../media/protocol.ts'
import { rowOf, rowsOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { hasInboundAccounts } from './inbound-auth.ts'

/** The maximum for which media keeps capacity; all of them fit into one message. */
const MAX_NETWORKS = 60_000
/** A public block that is wider is no trunk's: whoever lets "everybody" in makes nobody known [bits]. */
const WIDEST_PUBLIC = { ipv4: 16, ipv6: 32 }
const WIDEST_PRIVATE = 7

export type Sources = Request<'sources.set'>

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

/** Those, and registered phones: a flood of strangers' SIP must not take their room. */
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

/** Whether anybody calls by a password: over a connection, or a member's phone. */
const hasAccounts = async (db: Db): Promise<boolean> =>
  (await hasInboundAccounts(db)) ||
  (await rowOf(db, 'any account of a phone', () => db.selectFrom('sip_credentials').select('id').limit(1), {})) !==
    undefined

function isNarrow(network: string): boolean {
  const [address = '', length = ''] = network.split('/')
  const widest = !isPublicAddress(address) ? WIDEST_PRIVATE : WIDEST_PUBLIC[address.includes(':') ? 'ipv6' : 'ipv4']
  return Number(length) >= widest
}
