import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** How long a result is cached, since routes may change [ms]. */
const TTL_MS = 10_000
const MAX_HOSTS = 4096
/** Any port will do, since nothing is sent there. */
const DISCARD = 9

/** Our address from which the system sends to a host; null: there is no route. */
export type Route = (host: string) => string | null

/** @param now monotonic [ms] */
export function keptRoutes(now: () => number, find: Route = routeOf): Route {
  const known = new Map<string, { local: string | null; until: number }>()
  return host => {
    const at = now()
    const kept = known.get(host)
    if (kept !== undefined && kept.until > at) return kept.local
    if (known.size >= MAX_HOSTS) known.clear()
    const local = find(host)
    known.set(host, { local, until: at + TTL_MS })
    return local
  }
}

/** Asks the system by a connected UDP socket. For addresses, which need no resolver, Node has done that when `connect` returns. */
export function routeOf(host: string): string | null {
  const family = isIPv6(host) ? 6 : 4
  const socket = createSocket({
    type: `udp${family}`,
    lookup: (address, _options, done) => done(null, address, family),
  })
  // Without a route, an error event is raised.
  socket.on('error', () => {})
  try {
    socket.connect(DISCARD, host)
    const { address } = socket.address()
    return address === '0.0.0.0' || address === '::' ? null : address
  } catch {
    return null
  } finally {
    socket.close()
  }
}
