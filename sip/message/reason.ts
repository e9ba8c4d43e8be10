import { cutTo } from './cut.ts'
import { type Headers, toText } from './message.ts'
import { paramValue, quote, unquote } from './params.ts'

/** One side's reason for the end of a call (RFC 3326); in responses too (RFC 6432). */
export interface Reason {
  /** `Q.850`: a cause of the telephone network; `SIP`: a status. */
  protocol: 'Q.850' | 'SIP'
  cause: number
  text: string | null
}

/** Maximum number of values read, and maximum length of a stored text [characters]. */
const MAX_REASONS = 5
const MAX_TEXT = 120
/** Neither has a 0, which Asterisk sends for a call that has ended without any cause. */
const LIMITS = { 'Q.850': [1, 127], SIP: [100, 699] } as const

/** The Reason headers of a message; unknown protocols are skipped. */
export function parseReasons(headers: Headers): Reason[] {
  return headers
    .list('reason')
    .slice(0, MAX_REASONS)
    .flatMap(value => parseReason(value) ?? [])
}

function parseReason(value: string): Reason | null {
  const semi = value.indexOf(';')
  if (semi < 0) return null
  const name = value.slice(0, semi).trim().toUpperCase()
  const params = value.slice(semi)
  const cause = paramValue(params, 'cause') ?? ''
  if ((name !== 'Q.850' && name !== 'SIP') || !/^[0-9]{1,3}$/.test(cause)) return null
  const [lowest, highest] = LIMITS[name]
  if (Number(cause) < lowest || Number(cause) > highest) return null
  const text = paramValue(params, 'text')
  return { protocol: name, cause: Number(cause), text: text === null ? null : printable(unquote(text)) }
}

/** In a form safe for a database and a screen. */
function printable(text: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const plain = cutTo(toText(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, ''), MAX_TEXT)
  return plain === '' ? null : plain
}

/** As header fields. */
export const reasonFields = (reasons: readonly Reason[]): (readonly [name: string, value: string])[] =>
  reasons.map(({ protocol, cause, text }) => [
    'Reason',
    `${protocol};cause=${cause}${text === null ? '' : `;text=${quote(text)}`}`,
  ])

/** Names of the causes that we send (ITU-T Q.850, table 1). */
const NAMES: Record<number, string> = {
  1: 'Unallocated number',
  16: 'Normal call clearing',
  17: 'User busy',
  18: 'No user responding',
  19: 'No answer from user',
  21: 'Call rejected',
  22: 'Number changed',
  25: 'Exchange routing error',
  26: 'Non-selected user clearing',
  28: 'Invalid number format',
  31: 'Normal, unspecified',
  34: 'No circuit available',
  38: 'Network out of order',
  41: 'Temporary failure',
  42: 'Switching equipment congestion',
  63: 'Service not available',
  79: 'Service not implemented',
  88: 'Incompatible destination',
  102: 'Recovery on timer expiry',
  127: 'Interworking',
}

export const q850 = (cause: number): Reason => ({ protocol: 'Q.850', cause, text: NAMES[cause] ?? null })

/** With this reason, a phone that rang beside the answered one shows no missed call (RFC 3326 §2). */
export const ELSEWHERE: Reason = { protocol: 'SIP', cause: 200, text: 'Call completed elsewhere' }

/** The causes for final statuses of an INVITE (RFC 3398 §8.2.6.1; 488 and 606: by their Warning; later statuses that reject: as 603). */
const OF_STATUS: Record<number, number> = {
  400: 41,
  401: 21,
  402: 21,
  403: 21,
  404: 1,
  405: 63,
  406: 79,
  407: 21,
  408: 102,
  410: 22,
  413: 127,
  414: 127,
  415: 79,
  416: 127,
  420: 127,
  421: 127,
  423: 127,
  428: 21,
  433: 21,
  436: 21,
  437: 21,
  438: 21,
  480: 18,
  481: 41,
  482: 25,
  483: 25,
  484: 28,
  485: 1,
  486: 17,
  488: 88,
  500: 41,
  501: 79,
  502: 38,
  503: 41,
  504: 102,
  505: 127,
  513: 127,
  580: 47,
  600: 17,
  603: 21,
  604: 1,
  606: 88,
  607: 21,
  608: 21,
}

/** Null: it is not the end of a call. */
export const q850OfStatus = (status: number): number | null => OF_STATUS[status] ?? null
