import { networkInterfaces } from 'node:os'

/** An address that others can reach, for one that we listen on: that itself, or when it is "any" one of this machine's. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? (ownAddress() ?? '127.0.0.1') : host
}

/** A host as it stands in a URL. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .find(address => address.family === 'IPv4' && !address.internal)?.address
