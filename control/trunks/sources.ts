import { canonicalBlock, isPublicAddress } from '../../media/protocol.ts'
import type { Db } from '../kernel/store/store.ts'

/** What media keeps room for at most. */
const MAX_NETWORKS = 100_000
/** A public block that is wider is no trunk's: whoever lets "everybody" in makes nobody known [bits]. */
const WIDEST_PUBLIC = { ipv4: 16, ipv6: 32 }
const WIDEST_PRIVATE = 7

/** The networks of all enabled connections and of registered phones: a flood of strangers' SIP must not take their room. */
export async function knownNetworks(db: Db, at: Date): Promise<string[]> {
  const connections = await db
    .selectFrom('connection_networks')
    .innerJoin('connections', 'connections.id', 'connection_networks.connection_id')
    .select('connection_networks.network')
    .distinct()
    .where('connections.livemode', '=', 1)
    .where('connections.enabled', '=', 1)
    .orderBy('connection_networks.network')
    .limit(MAX_NETWORKS)
    .execute()
  const phones = await db
    .selectFrom('sip_registrations')
    .select('host')
    .distinct()
    .where('expires_at', '>', at.toISOString())
    .orderBy('host')
    .limit(MAX_NETWORKS)
    .execute()
  const networks = connections.map(({ network }) => network).filter(isNarrow)
  const all = new Set([...networks, ...phones.flatMap(({ host }) => canonicalBlock(host) ?? [])])
  return [...all].slice(0, MAX_NETWORKS)
}

function isNarrow(network: string): boolean {
  const [address = '', length = ''] = network.split('/')
  const widest = !isPublicAddress(address) ? WIDEST_PRIVATE : WIDEST_PUBLIC[address.includes(':') ? 'ipv6' : 'ipv4']
  return Number(length) >= widest
}
