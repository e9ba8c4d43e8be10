import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AddressPolicy, isAllowedAddress } from '../../media/protocol.ts'
import { invalid, type Problem } from './errors.ts'

/** Where a customer's URL or host may lead, with a live key and a test key alike. Only the operator opens private networks. */
export const customerAddresses = (allowedNetworks: string[]): AddressPolicy => ({
  publicOnly: true,
  allowed: allowedNetworks,
})

/** Resolves a host name; empty if it has no address. */
export type Resolve = (host: string) => Promise<string[]>

/** A request does not wait longer for name servers that are silent: the system asks them for many seconds [ms]. */
const PATIENCE_MS = 2000

export const resolveHost = async (host: string, look: typeof lookup = lookup): Promise<string[]> => {
  const asked = look(host, { all: true }).catch(() => [])
  const found = await Promise.race([asked, sleep(PATIENCE_MS, [], { ref: false })])
  return found.map(({ address }) => address)
}

/**
 * Checks a customer's URL: one of `protocols`, no credentials, and no address of its host that the policy forbids.
 * A name that does not resolve passes: the address is checked again when it is dialled.
 */
export async function urlProblem(
  text: string,
  protocols: readonly string[],
  policy: AddressPolicy,
  resolve: Resolve,
  param: string,
): Promise<Problem | null> {
  const refused = (must: string): Problem => invalid(param, `${param} must ${must}.`)
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') {
    const allowed = protocols.map(protocol => `${protocol}//`).join(' or ')
    return refused(`be a ${allowed} URL`)
  }
  if (url.username !== '' || url.password !== '') return refused('not contain a user name or password')
  if (protocols.includes('ws:') && text.includes('#')) return refused('not contain a fragment, `#` (RFC 6455 §3)')
  if (!policy.publicOnly) return null
  const host = bare(url.hostname)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  return addresses.every(address => isAllowedAddress(address, policy)) ? null : special(param)
}

/** What is wrong with the URL of a customer's server that is called by POST; `param` is its parameter. */
export type ServerUrlProblem = (url: string, param: string) => Promise<Problem | null>

export const serverUrlProblem =
  (allowedNetworks: string[], resolve: Resolve): ServerUrlProblem =>
  (url, param) =>
    urlProblem(url, ['http:', 'https:'], customerAddresses(allowedNetworks), resolve, param)

/** The problem of the first refused URL. */
export async function firstUrlProblem(
  check: ServerUrlProblem,
  urls: readonly { url: string; param: string }[],
): Promise<Problem | null> {
  for (const { url, param } of urls) {
    const refused = await check(url, param)
    if (refused !== null) return refused
  }
  return null
}

/** Checks the host of a SIP address. A name passes: its address is checked when it is dialled. */
export function hostProblem(host: string, policy: AddressPolicy, param: string): Problem | null {
  return isIP(bare(host)) === 0 || isAllowedAddress(bare(host), policy) ? null : special(param)
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '')

const special = (param: string): Problem =>
  invalid(
    param,
    `${param} leads to a private, loopback or otherwise special address. The operator can allow such networks with TANDEM_ALLOW_PRIVATE_URLS.`,
  )
