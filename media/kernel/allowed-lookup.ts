import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { type AddressPolicy, isAllowedAddress } from '../protocol.ts'

type Found = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void
/** All addresses of a name. */
export type Resolve = (hostname: string, done: Found) => void

/**
 * A DNS lookup that returns only permitted addresses to a socket. The checked answer is the one that is used, so a name
 * cannot change its address in between.
 */
export const allowedLookup =
  (addresses: AddressPolicy, resolve: Resolve = resolveOnce): LookupFunction =>
  (hostname, options, callback) =>
    resolve(hostname, (error, found) => {
      if (error !== null) return callback(error, [])
      const allowed = found.filter(({ address }) => isAllowedAddress(address, addresses))
      const first = allowed[0]
      if (first === undefined) callback(new Error(`${hostname} has no address that may be dialled`), [])
      else if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })

/** A name is asked for once at a time: while its name servers are silent, each question keeps a thread for many seconds. */
export function shared(resolve: Resolve): Resolve {
  const running = new Map<string, Found[]>()
  return (hostname, done) => {
    const waiting = running.get(hostname)
    if (waiting !== undefined) return void waiting.push(done)
    const all = [done]
    running.set(hostname, all)
    resolve(hostname, (error, found) => {
      running.delete(hostname)
      for (const one of all) one(error, found)
    })
  }
}

const resolveOnce = shared((hostname, done) => lookup(hostname, { all: true }, done))
