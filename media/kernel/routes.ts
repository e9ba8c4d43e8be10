import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** Routes change while we run: what was found holds this long [ms]. */
const TTL_MS = 10_000
const MAX_HOSTS = 4096
/** Any will do: nothing is sent there. */
const DISCARD = 9

/** From which address of ours the system sends to a host; null: it knows no way. */
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
  // Without a way to that host it is told by an event.
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
