import ipaddr from 'ipaddr.js'

/** Which addresses may be dialled for a customer's URL. */
export interface AddressPolicy {
  /** Refuse private, loopback, link-local and other special addresses, but for `allowed`. */
  publicOnly: boolean
  /** CIDR blocks that an operator lets through. */
  allowed: string[]
}

/**
 * Whether a policy lets us dial an IP address, as text; both processes ask here, control when a URL is given and media
 * again for the address that is actually dialled. What is no address is refused by every policy that refuses anything.
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
