import ipaddr from 'ipaddr.js'

/** Which addresses may be dialled for a customer's URL. */
export interface AddressPolicy {
  /** Refuse private, loopback, link-local and other special addresses, but for `allowed`. */
  publicOnly: boolean
  /** CIDR blocks that an operator lets through. */
  allowed: string[]
}

/**
 * Whether a policy lets us dial an IP address, given as text. Control asks when a URL is given, and media again for the
 * address that is actually dialled. Text that is no address is refused by every policy that refuses anything.
 */
export function isAllowedAddress(address: string, policy: AddressPolicy): boolean {
  if (!policy.publicOnly) return true
  if (!ipaddr.isValid(address)) return false
  return isInNetworks(address, policy.allowed) || ipaddr.process(address).range() === 'unicast'
}

/** Whether an IP address is one of the Internet, and neither private nor otherwise special. */
export const isPublicAddress = (address: string): boolean =>
  isAllowedAddress(address, { publicOnly: true, allowed: [] })

/** Whether an IP address lies in one of the blocks (CIDR, or a bare address). IPv4 in IPv6 form counts as IPv4. */
export function isInNetworks(address: string, blocks: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return blocks.some(block => {
    const cidr = parseBlock(block)
    return cidr !== null && cidr[0].kind() === parsed.kind() && parsed.match(cidr)
  })
}

/** A CIDR block or a bare address, parsed; null when it is neither. */
export function parseBlock(block: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  if (ipaddr.isValidCIDR(block)) return ipaddr.parseCIDR(block)
  if (!ipaddr.isValid(block)) return null
  const address = ipaddr.process(block)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/**
 * The client of a request: the address of the connection, or the one that trusted proxies name in X-Forwarded-For. Each proxy appends
 * its sender on the right, so the rightmost entry that is no proxy of ours is the client. Entries left of it prove nothing.
 */
export function clientAddress(direct: string, forwardedFor: string | undefined, trusted: readonly string[]): string {
  const said = (forwardedFor ?? '').split(',').map(part => part.trim())
  let client = direct
  while (isInNetworks(client, trusted)) {
    const before = said.pop()
    if (before === undefined || !ipaddr.isValid(before)) break
    client = before
  }
  return client
}

/**
 * A block as the canonical text of its network: `10.1.2.3/8` is `10.0.0.0/8`, a bare address a block of all its bits; null: not valid.
 */
export function canonicalBlock(block: string): string | null {
  const parsed = parseBlock(block)
  return parsed === null ? null : blockOf(parsed[0], parsed[1])
}

/** All canonical blocks that hold an address, the widest first: what an index is asked for. `lengths`: these only [bits]. */
export function blocksAround(address: string, lengths?: readonly number[]): string[] {
  if (!ipaddr.isValid(address)) return []
  const parsed = ipaddr.process(address)
  const bits = parsed.kind() === 'ipv4' ? 32 : 128
  const wanted = lengths ?? Array.from({ length: bits + 1 }, (_, length) => length)
  return wanted.filter(length => length <= bits).map(length => blockOf(parsed, length))
}

function blockOf(address: ipaddr.IPv4 | ipaddr.IPv6, length: number): string {
  const bytes = address.toByteArray().map((byte, at) => {
    const kept = Math.min(8, Math.max(0, length - at * 8))
    return byte & ~(0xff >> kept) & 0xff
  })
  return `${ipaddr.fromByteArray(bytes)}/${length}`
}

const HOST_BITS = 64

/** The unit of limits per client: an IPv4 address, or an IPv6 /64, all of which belongs to one client. */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/${HOST_BITS}`)}/${HOST_BITS}`
}
