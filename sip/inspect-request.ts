import { ACCEPT, ALLOW, SUPPORTED } from './agent-core.ts'
import type { HeaderFields } from './agent-types.ts'
import { mediaType } from './message/headers.ts'
import type { SipRequest } from './message/message.ts'
import { isDescription, partsOf } from './message/multipart.ts'
import { parseUri } from './message/uri.ts'

export interface Refusal {
  status: number
  headers: HeaderFields
}

const METHODS: ReadonlySet<string> = new Set(ALLOW.split(', '))
/** Of phones that register, outside of calls. */
const OF_PHONES: ReadonlySet<string> = new Set(['REGISTER', 'SUBSCRIBE', 'MESSAGE'])
/** The methods in Allow (RFC 3261 §20.5), with registrations and without. */
export const allowed = (takesRegistrations: boolean): string =>
  [...METHODS, ...(takesRegistrations ? OF_PHONES : [])].join(', ')

/** A body that is not read is harmless. */
const BODILESS: ReadonlySet<string> = new Set(['OPTIONS', 'BYE', 'REGISTER', 'REFER', 'SUBSCRIBE', 'MESSAGE'])
const EXTENSIONS: ReadonlySet<string> = new Set(SUPPORTED.split(', '))
const BODIES: Readonly<Record<string, RegExp>> = {
  INFO: /^application\/dtmf(-relay)?$/,
  NOTIFY: /^message\/sipfrag$/,
}
const ENCODINGS: ReadonlySet<string> = new Set(['', 'identity'])

/** Refusals by the general rules of RFC 3261 §8.2, in order: method, target, extensions, content; null: it may pass. */
export function inspectRequest(request: SipRequest, takesRegistrations = false): Refusal | null {
  const { method } = request
  const isKnown = OF_PHONES.has(method) ? takesRegistrations : METHODS.has(method)
  if (!isKnown) return { status: 405, headers: [['Allow', allowed(takesRegistrations)]] }
  const uri = parseUri(request.uri)
  if ('error' in uri) return { status: 400, headers: [] }
  if (uri.scheme === 'other') return { status: 416, headers: [] }
  // The meaning of `?headers` in a Request-URI is undefined (RFC 3261 §19.1.1).
  if (uri.scheme !== 'tel' && uri.headers !== null) return { status: 400, headers: [] }
  // A call alone takes the place of another (RFC 3891 §3).
  if (method !== 'INVITE' && request.headers.get('replaces') !== null) return { status: 400, headers: [] }
  const isKnownTag = (tag: string): boolean =>
    EXTENSIONS.has(tag) || (tag === 'path' && request.method === 'REGISTER' && takesRegistrations)
  const unknown = request.headers.list('require').filter(tag => !isKnownTag(tag.toLowerCase()))
  if (unknown.length > 0) return { status: 420, headers: [['Unsupported', unknown.join(', ')]] }
  // We support no Info Package (RFC 6086 §4.2.2), but many far ends send keys in one of their own.
  if (method === 'INFO' && request.headers.get('info-package') !== null && !isOfOwnType(request)) {
    return { status: 469, headers: [['Recv-Info', '']] }
  }
  return inspectContent(request)
}

/** Whether its body has a type that only its method has. */
export const isOfOwnType = ({ method, headers }: SipRequest): boolean =>
  BODIES[method]?.test(mediaType(headers.get('content-type') ?? '')) === true

/** The refusal of a body that is compressed, for example (RFC 3261 §8.2.3). */
export function encodingRefusal({ headers }: SipRequest): Refusal | null {
  const encoding = (headers.get('content-encoding') ?? '').toLowerCase()
  return ENCODINGS.has(encoding) ? null : { status: 415, headers: [['Accept-Encoding', 'identity']] }
}

function inspectContent(request: SipRequest): Refusal | null {
  if (request.body.length === 0 || BODILESS.has(request.method)) return null
  const encoded = encodingRefusal(request)
  if (encoded !== null) return encoded
  const isRead = BODIES[request.method] === undefined ? isSession(request) : isOfOwnType(request) || isOptional(request)
  return isRead ? null : { status: 415, headers: [['Accept', ACCEPT]] }
}

/** Whether its body says that who cannot read it may ignore it (RFC 3261 §8.2.3). */
const isOptional = ({ headers, body }: SipRequest): boolean => {
  const parts = partsOf(headers, body)
  return parts.length > 0 && parts.every(({ isRequired }) => isRequired === false)
}

/**
 * Whether we may ignore unreadable parts beside a description: yes, unless they say that they must be handled (RFC 5621 §4.1). If a
 * body has nothing else, it must be handled, unless it says otherwise.
 */
function isSession({ headers, body }: SipRequest): boolean {
  if (headers.get('content-type') === null) return false
  const parts = partsOf(headers, body)
  const others = parts.filter(part => !isDescription(part))
  if (others.some(({ isRequired }) => isRequired === true)) return false
  return others.length < parts.length || (parts.length > 0 && others.every(({ isRequired }) => isRequired === false))
}
