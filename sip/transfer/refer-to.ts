import type { NamedDialog } from '../agent-types.ts'
import { parseNameAddr } from '../message/headers.ts'
import type { SipRequest } from '../message/message.ts'
import { parseUri, unescapeUser, withoutHeaders } from '../message/uri.ts'
import { parseReplaces } from './replaces.ts'

/** The target of a REFER: the URI, and the dialog to be replaced there. */
export interface ReferTarget {
  uri: string
  replaces: NamedDialog | null
}

const MAX_HEADERS = 2000

/**
 * The target of a REFER (RFC 3515 §2.1, RFC 3891 §6.1): exactly one Refer-To, with a `sip:` or `tel:` URI. Null:
 * there is no usable one. Other headers in the URI are ignored: they would be our request in a stranger's words.
 */
export function referTarget(request: SipRequest): ReferTarget | null {
  const values = request.headers.list('refer-to')
  const address = values.length === 1 ? parseNameAddr(values[0]!) : null
  const uri = address === null ? null : parseUri(address.uri)
  if (address === null || uri === null || 'error' in uri || uri.scheme === 'other') return null
  if (uri.scheme === 'tel') return { uri: address.uri, replaces: null }
  const method = /;method=([^;?]*)/i.exec(uri.params)?.[1] ?? 'INVITE'
  if (method.toUpperCase() !== 'INVITE') return null
  const replaces = replacesIn(uri.headers ?? '')
  return replaces === undefined ? null : { uri: withoutHeaders(address.uri), replaces }
}

/** Undefined: it is malformed. */
function replacesIn(headers: string): NamedDialog | null | undefined {
  if (headers.length > MAX_HEADERS) return undefined
  const found = headers.split('&').filter(field => /^replaces=/i.test(field))
  if (found.length === 0) return null
  const parsed = found.length === 1 ? parseReplaces(unescapeUser(found[0]!.slice('replaces='.length))) : null
  return parsed ?? undefined
}

/** A Refer-To to `uri`, replacing a dialog there. */
export const formatReferTo = (uri: string, replaces: string | null): string =>
  replaces === null ? `<${uri}>` : `<${uri}?Replaces=${encodeURIComponent(replaces)}>`
