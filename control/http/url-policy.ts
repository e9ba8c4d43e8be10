import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type AddressPolicy, isAllowedAddress } from '../../media/protocol.ts'
import { type Problem, problem } from './errors.ts'

/** Addresses of a host name; empty when it has none. */
export type Resolve = (host: string) => Promise<string[]>

export const resolveHost: Resolve = async host => {
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.map(({ address }) => address)
}

/**
 * Checks a customer's URL: one of `protocols`, without credentials, and no address of its host forbidden by the policy.
 * A name that does not resolve passes: it is checked again against the address that is dialled.
 */
export async function urlProblem(
  text: string,
  protocols: readonly string[],
  policy: AddressPolicy,
  resolve: Resolve,
  param: string,
): Promise<Problem | null> {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') {
    const allowed = protocols.map(protocol => `${protocol}//`).join(' or ')
    return problem('parameter_invalid', `${param} must be a ${allowed} URL.`, { param })
  }
  if (url.username !== '' || url.password !== '') {
    return problem('parameter_invalid', `${param} must not hold a user name or password.`, { param })
  }
  if (!policy.publicOnly) return null
  const host = bare(url.hostname)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  return addresses.every(address => isAllowedAddress(address, policy)) ? null : special(param)
}

/** Checks the host of a SIP address. A name passes: it is judged when it is dialled, by the address that is dialled. */
export function hostProblem(host: string, policy: AddressPolicy, param: string): Problem | null {
  return isIP(bare(host)) === 0 || isAllowedAddress(bare(host), policy) ? null : special(param)
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '')

const special = (param: string): Problem =>
  problem('parameter_invalid', `${param} leads to a private, loopback or otherwise special address.`, { param })
