import type { HeaderFields } from '../agent-types.ts'
import type { Headers } from './message.ts'

/** Permission for audio before the answer (RFC 5009): networks that gate it want to be asked, and tell. */
const NAME = 'P-Early-Media'

/** For an INVITE: we support the header. */
export const EARLY_MEDIA_SUPPORTED: HeaderFields = [[NAME, 'supported']]

/**
 * What a response says about audio towards us. A direction is that of its sender, as in SDP: `sendonly` and `sendrecv` allow it. Of several
 * streams the first counts; null: nothing.
 */
export function earlyMediaOf(headers: Headers): 'allowed' | 'denied' | null {
  for (const value of headers.list('p-early-media')) {
    const said = value.trim().toLowerCase()
    if (said === 'sendrecv' || said === 'sendonly') return 'allowed'
    if (said === 'recvonly' || said === 'inactive') return 'denied'
  }
  return null
}

/** For our provisional response with a description, where the caller's INVITE asks for it: we are heard, and hear nobody. */
export const earlyMediaFields = (invite: Headers, isHeard: boolean): HeaderFields =>
  isHeard && invite.hasToken('p-early-media', 'supported') ? [[NAME, 'sendonly']] : []
