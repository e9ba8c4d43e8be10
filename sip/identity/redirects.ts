import { parseNameAddr } from '../message/headers.ts'
import { type Headers, toText } from '../message/message.ts'
import { paramValue, quote, unquote } from '../message/params.ts'
import { parseUri, type Uri, uriParam, withoutHeaders } from '../message/uri.ts'

/** The reason of a redirection (RFC 5806 §4.1). */
export const REDIRECT_REASONS = [
  'unknown',
  'user-busy',
  'no-answer',
  'unavailable',
  'unconditional',
  'time-of-day',
  'do-not-disturb',
  'deflection',
  'follow-me',
  'out-of-service',
  'away',
] as const
export type RedirectReason = (typeof REDIRECT_REASONS)[number]

/** Whom a call was for before it was redirected. */
export interface Redirect {
  uri: string
  reason: RedirectReason
  /** How often it was redirected there. */
  count: number
  /** The party requests privacy. */
  isPrivate: boolean
}

/** Maximum number of entries for one call; a loop through many switches would write more. */
const MAX_REDIRECTS = 10
const MAX_COUNT = 100
/** Values of Privacy for the whole of History-Info in a request, and for one entry in its URI (RFC 7044 §10.1). */
const OF_HISTORY = /\b(history|header|session)\b/i

/** The latest first: from Diversion if present, else from History-Info. */
export function readRedirects(headers: Headers): Redirect[] {
  const diversions = headers.list('diversion')
  if (diversions.length > 0) return diversions.flatMap(value => diversionOf(value) ?? []).slice(0, MAX_REDIRECTS)
  const isPrivate = headers.all('privacy').some(value => OF_HISTORY.test(value))
  return readHistory(headers.list('history-info')).map(one => (isPrivate ? { ...one, isPrivate } : one))
}

/** RFC 5806 §4.1. */
function diversionOf(value: string): Redirect | null {
  const address = parseNameAddr(value)
  if (address === null) return null
  const { params } = address
  const uri = toText(withoutHeaders(address.uri))
  const reason = unquote(paramValue(params, 'reason') ?? '').toLowerCase()
  const privacy = unquote(paramValue(params, 'privacy') ?? 'off').toLowerCase()
  return {
    uri,
    reason: REDIRECT_REASONS.find(known => known === reason) ?? 'unknown',
    count: Math.min(Math.max(1, Number(paramValue(params, 'counter')) || 1), MAX_COUNT),
    isPrivate: privacy === 'full' || privacy === 'uri',
  }
}

/** RFC 7544 §7.3: reasons as causes of RFC 4458. Of several reasons with a cause, the first is used in reading. */
const CAUSES: readonly (readonly [RedirectReason, number])[] = [
  ['unconditional', 302],
  ['user-busy', 486],
  ['no-answer', 408],
  ['deflection', 480],
  ['deflection', 487],
  ['unavailable', 503],
  ['unknown', 404],
]

const causeOf = (reason: RedirectReason): number => CAUSES.find(([known]) => known === reason)?.[1] ?? 404

/** One entry of History-Info (RFC 7044 §5). */
interface Entry {
  uri: Uri
  text: string
  index: string
  /** From the entry that led to this one. */
  from: string | null
  cause: number | null
  isPrivate: boolean
}

/**
 * Former targets of the call: each entry that led to another one with a cause. The cause is at the new target
 * (RFC 4458 §4), or in a Reason of the old one (RFC 7044 §10.2).
 */
function readHistory(values: readonly string[]): Redirect[] {
  const entries = values.flatMap(value => entryOf(value) ?? []).slice(0, MAX_REDIRECTS * 3)
  const redirects = entries.flatMap(entry => {
    const next = entries.find(other => other.from === entry.index)
    const cause = next === undefined ? null : (targetCause(next) ?? entry.cause)
    if (cause === null) return []
    const reason = CAUSES.find(([, code]) => code === cause)?.[0] ?? 'unknown'
    return [{ uri: entry.text, reason, count: 1, isPrivate: entry.isPrivate }]
  })
  return redirects.reverse().slice(0, MAX_REDIRECTS)
}

const targetCause = ({ uri }: Entry): number | null => Number(uriParam(uri, 'cause')) || null

function entryOf(value: string): Entry | null {
  const address = parseNameAddr(value)
  const uri = address === null ? null : parseUri(address.uri)
  if (address === null || uri === null || 'error' in uri) return null
  const fields = new URLSearchParams('headers' in uri && uri.headers !== null ? uri.headers : '')
  const field = (name: string): string | null => [...fields].find(([own]) => own.toLowerCase() === name)?.[1] ?? null
  const index = paramValue(address.params, 'index') ?? ''
  const made = paramValue(address.params, 'rc') ?? paramValue(address.params, 'mp') ?? ''
  return {
    uri,
    text: toText(withoutHeaders(address.uri)),
    index,
    from: made !== '' ? made : index.includes('.') ? index.slice(0, index.lastIndexOf('.')) : null,
    cause: Number(/cause\s*=\s*([0-9]{3})/i.exec(field('reason') ?? '')?.[1]) || null,
    isPrivate: OF_HISTORY.test(field('privacy') ?? ''),
  }
}

type Field = readonly [name: string, value: string]

/** Diversion, the latest on top (RFC 5806 §4.1). */
export const diversionFields = (redirects: readonly Redirect[]): Field[] =>
  redirects.map(({ uri, reason, count, isPrivate }) => {
    const privacy = isPrivate ? 'full' : 'off'
    return ['Diversion', `<${uri}>;reason=${token(reason)};counter=${count};privacy=${privacy}`]
  })

/** Some switches accept reasons with a dash only in quotes; all accept quotes. */
const token = (reason: RedirectReason): string => (reason.includes('-') ? quote(reason) : reason)

/** History-Info from the first target to the present one, each made from the one before (RFC 7044 §9). */
export function historyFields(redirects: readonly Redirect[], target: string): Field[] {
  if (redirects.length === 0) return []
  const first = [...redirects].reverse()
  const entries = first.map(({ uri, isPrivate }, n): string => {
    const before = first[n - 1]
    return `<${caused(uri, before)}${isPrivate ? '?Privacy=history' : ''}>;index=${indexOf(n)}${madeFrom(n)}`
  })
  entries.push(`<${caused(target, first.at(-1))}>;index=${indexOf(first.length)}${madeFrom(first.length)}`)
  return [['History-Info', entries.join(', ')]]
}

const indexOf = (n: number): string => ['1', ...Array.from({ length: n }, () => '1')].join('.')
const madeFrom = (n: number): string => (n === 0 ? '' : `;mp=${indexOf(n - 1)}`)
const caused = (uri: string, before: Redirect | undefined): string =>
  before === undefined ? uri : `${uri};cause=${causeOf(before.reason)}`
