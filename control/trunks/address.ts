import { isIPv6 } from 'node:net'
import { ANONYMOUS, type SipParty } from '../../media/protocol.ts'
import { urlHost } from '../kernel/addresses.ts'

/** A host as an address to dial, and as written in a URI. */
interface SipHost {
  bare: string
  inUri: string
}

const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?$/

/** A name or an address, IPv6 with brackets or without; null when it is neither. */
export function sipHost(text: string): SipHost | null {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (isIPv6(bare)) return { bare, inUri: `[${bare}]` }
  return NAME.test(text) ? { bare: text, inUri: text } : null
}

/** The address of record of an account: `ann` at its registrar's host, `ann@example.com` as it is; null: it cannot be written as a URI. */
export function addressOfRecord(username: string, host: SipHost): string | null {
  const at = username.lastIndexOf('@')
  const user = at <= 0 ? username : username.slice(0, at)
  const domain = at <= 0 ? host : sipHost(username.slice(at + 1))
  return domain === null ? null : `sip:${escapeUser(user)}@${domain.inUri}`
}

const UNRESERVED = /[A-Za-z0-9\-_.!~*'()&=+$,;?/]/

/** RFC 3261 §25.1 `user`: everything else as `%XX`. */
const escapeUser = (user: string): string =>
  [...Buffer.from(user, 'utf8')]
    .map(byte => {
      const char = String.fromCharCode(byte)
      return UNRESERVED.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')

/** An address as calls show it in `to` and `from`: a number in E.164 unchanged, one without a host as a `tel:` URI, anything else as a SIP URI. */
export function addressOf({ user, host }: Pick<SipParty, 'user' | 'host'>): string {
  if (/^\+[1-9][0-9]{1,14}$/.test(user)) return user
  if (host === '') return user === '' ? ANONYMOUS : `tel:${user}`
  return `sip:${user === '' ? '' : `${escapeUser(user)}@`}${urlHost(host)}`
}
