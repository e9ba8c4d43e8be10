import { ACCEPT, ALLOW } from './agent-core.ts'
import type { HeaderFields } from './agent-types.ts'
import { mediaType } from './message/headers.ts'
import type { SipRequest } from './message/message.ts'
import { parseUri } from './message/uri.ts'

export interface Refusal {
  status: number
  headers: HeaderFields
}

const METHODS: ReadonlySet<string> = new Set(ALLOW.split(', '))
/** A body that we do not look at does no harm. */
const BODILESS: ReadonlySet<string> = new Set(['OPTIONS', 'BYE', 'REGISTER'])
const EXTENSIONS: ReadonlySet<string> = new Set(['timer'])
const ENCODINGS: ReadonlySet<string> = new Set(['', 'identity'])

/** What the general rules of RFC 3261 §8.2 refuse, in their order: method, target, extensions, content; null when it may pass. */
export function inspectRequest(request: SipRequest, takesRegistrations = false): Refusal | null {
  const isKnown = METHODS.has(request.method) || (takesRegistrations && request.method === 'REGISTER')
  if (!isKnown) return { status: 405, headers: [['Allow', ALLOW]] }
  const uri = parseUri(request.uri)
  if ('error' in uri) return { status: 400, headers: [] }
  if (uri.scheme === 'other') return { status: 416, headers: [] }
  // What a sip URI's `?headers` would mean for the Request-URI nobody has said (RFC 3261 §19.1.1).
  if (uri.scheme !== 'tel' && uri.headers !== null) return { status: 400, headers: [] }
  const unknown = request.headers.list('require').filter(tag => !EXTENSIONS.has(tag.toLowerCase()))
  if (unknown.length > 0) return { status: 420, headers: [['Unsupported', unknown.join(', ')]] }
  return inspectContent(request)
}

function inspectContent(request: SipRequest): Refusal | null {
  if (request.body.length === 0 || BODILESS.has(request.method)) return null
  const encoding = (request.headers.get('content-encoding') ?? '').toLowerCase()
  if (!ENCODINGS.has(encoding)) return { status: 415, headers: [['Accept-Encoding', 'identity']] }
  const type = mediaType(request.headers.get('content-type') ?? '')
  const known = request.method === 'INFO' ? /^application\/dtmf(-relay)?$/ : /^application\/sdp$/
  return known.test(type) ? null : { status: 415, headers: [['Accept', ACCEPT]] }
}
