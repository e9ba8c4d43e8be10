import type { HeaderFields, NamedDialog } from '../agent-types.ts'
import { parseNameAddr } from '../message/headers.ts'
import type { SipRequest } from '../message/message.ts'
import { parseUri, unescapeUser, withoutHeaders } from '../message/uri.ts'
import { parseReplaces } from './replaces.ts'

/** The target of a REFER: the URI, the dialog to be replaced there, and user-to-user information for who is called. */
interface ReferTarget {
  uri: string
  replaces: NamedDialog | null
  userToUser: string | null
}

const MAX_HEADERS = 2000

/**
 * The target of a REFER (RFC 3515 §2.1, RFC 3891 §6.1): exactly one Refer-To, with a `sip:` or `tel:` URI. Null:
 * there is no usable one. Of the headers in the URI, Replaces and User-to-User (RFC 7433 §3.3) count; others are ignored: they would be our
 * request in a stranger's words.
 */
export function referTarget(request: SipRequest): ReferTarget | null {
  const values = request.headers.list('refer-to')
  const address = values.length === 1 ? parseNameAddr(values[0]!) : null
  const uri = address === null ? null : parseUri(address.uri)
  if (address === null || uri === null || 'error' in uri || uri.scheme === 'other') return null
  if (uri.scheme === 'tel') return { uri: address.uri, replaces: null, userToUser: null }
  const method = /;method=([^;?]*)/i.exec(uri.params)?.[1] ?? 'INVITE'
  if (method.toUpperCase() !== 'INVITE') return null
  const headers = uri.headers ?? ''
  const replaces = headers.length > MAX_HEADERS ? undefined : replacesIn(headers)
  if (replaces === undefined) return null
  return { uri: withoutHeaders(address.uri), replaces, userToUser: valuesIn(headers, 'user-to-user')[0] ?? null }
}

/** Undefined: it is malformed. */
function replacesIn(headers: string): NamedDialog | null | undefined {
  const found = valuesIn(headers, 'replaces')
  if (found.length === 0) return null
  const parsed = found.length === 1 ? parseReplaces(found[0]!) : null
  return parsed ?? undefined
}

/** The values of a header in a URI. @param name in lower case */
const valuesIn = (headers: string, name: string): string[] =>
  headers
    .split('&')
    .filter(field => field.toLowerCase().startsWith(`${name}=`))
    .map(field => unescapeUser(field.slice(name.length + 1)))

/** A Refer-To to `uri`, with headers for the request that it asks for. */
export function formatReferTo(uri: string, headers: HeaderFields): string {
  const fields = headers.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return fields.length === 0 ? `<${uri}>` : `<${uri}?${fields.join('&')}>`
}
