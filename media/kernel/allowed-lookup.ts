import { lookup as resolve } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { type AddressPolicy, isAllowedAddress } from '../protocol.ts'

/**
 * A DNS lookup that returns only permitted addresses to a socket. The checked answer is the one that is used, so a name
 * cannot change its address in between.
 */
export const allowedLookup =
  (addresses: AddressPolicy): LookupFunction =>
  (hostname, options, callback) =>
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const allowed = found.filter(({ address }) => isAllowedAddress(address, addresses))
      const first = allowed[0]
      if (first === undefined) callback(new Error(`${hostname} has no address that may be dialled`), [])
      else if (options.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
