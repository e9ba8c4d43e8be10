import { createHash, timingSafeEqual } from 'node:crypto'
import type { Body, Credentials } from '../agent-types.ts'
import { safeValue } from '../message/format.ts'
import { toText } from '../message/message.ts'
import { endOfElement, quote, unquote } from '../message/params.ts'
import type { DigestAlgorithm } from './digest-algorithm.ts'

export type { DigestAlgorithm }

/** HTTP digest as SIP uses it (RFC 7616, RFC 8760): qop `auth` and the older form without qop; for far ends that demand it, `auth-int`. */

/** Best one first. */
const QOPS = ['auth', 'auth-int'] as const
type Qop = (typeof QOPS)[number]

interface Challenge {
  realm: string
  nonce: string
  opaque: string | null
  algorithm: DigestAlgorithm
  /** `MD5-sess`, `SHA-256-sess`…: the password is hashed with the nonces as well. */
  isSession: boolean
  /** null: the challenge is from before RFC 2617. */
  qop: Qop | null
  stale: boolean
}

/** Challenges of a far end and the proxies before it that were answered, by header field and realm; how often the nonce of each was used (RFC 7616 §3.4). */
export type AnsweredChallenges = Map<string, { challenge: Challenge; uses: number }>

/** The contents of a client's Authorization or Proxy-Authorization. */
export interface DigestResponse {
  username: string
  realm: string
  nonce: string
  uri: string
  response: string
  algorithm: DigestAlgorithm
  qop: 'auth' | null
  nc: string | null
  cnonce: string | null
  opaque: string | null
}

const HASHES: Record<DigestAlgorithm, string> = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' }
const MAX_FIELDS = 32

const NOTHING = new Uint8Array(0)

const hash = (algorithm: DigestAlgorithm, text: string | Uint8Array): string =>
  createHash(HASHES[algorithm]).update(text).digest('hex')

function algorithmOf(text: string | undefined): DigestAlgorithm | null {
  const upper = (text ?? 'MD5').toUpperCase()
  return upper in HASHES ? (upper as DigestAlgorithm) : null
}

/** The fields of `Digest name=value, …` without quotes; null for another scheme. */
function digestFields(value: string): Map<string, string> | null {
  const match = /^\s*Digest\s+/i.exec(value)
  if (match === null) return null
  const fields = new Map<string, string>()
  for (let start = match[0].length; start < value.length && fields.size < MAX_FIELDS; ) {
    const end = endOfElement(value, start)
    const part = value.slice(start, end)
    const equals = part.indexOf('=')
    if (equals > 0) fields.set(part.slice(0, equals).trim().toLowerCase(), unquote(part.slice(equals + 1).trim()))
    start = end + 1
  }
  return fields
}

/** Parses one WWW-Authenticate or Proxy-Authenticate value; null when we cannot answer it. */
export function parseChallenge(value: string): Challenge | null {
  const fields = digestFields(value)
  const realm = fields?.get('realm')
  const nonce = fields?.get('nonce')
  if (fields == null || realm === undefined || nonce === undefined) return null
  const [, name, session] = /^(.*?)(-sess)?$/i.exec(fields.get('algorithm') ?? 'MD5')!
  const algorithm = algorithmOf(name)
  const offered = fields.get('qop')?.split(',')
  const qop = QOPS.find(known => offered?.some(one => one.trim().toLowerCase() === known)) ?? null
  if (algorithm === null || (offered !== undefined && qop === null)) return null
  const stale = fields.get('stale')?.toLowerCase() === 'true'
  return { realm, nonce, opaque: fields.get('opaque') ?? null, algorithm, isSession: session !== undefined, qop, stale }
}

/** The realm of a challenge, or of an answer to one; empty: it has none. */
export const realmOf = (value: string): string => digestFields(value)?.get('realm') ?? ''

/** A challenge of ours: the value of WWW-Authenticate or Proxy-Authenticate (RFC 7616 §3.3). */
export function formatChallenge(parts: {
  realm: string
  nonce: string
  algorithm: DigestAlgorithm
  stale: boolean
}): string {
  const fields = [`realm=${quote(parts.realm)}`, `nonce="${parts.nonce}"`, `algorithm=${parts.algorithm}`, 'qop="auth"']
  if (parts.stale) fields.push('stale=true')
  return `Digest ${fields.join(', ')}`
}

/** Parses an Authorization or Proxy-Authorization value; null if it is not a digest that we can check. */
export function parseDigestResponse(value: string): DigestResponse | null {
  const fields = digestFields(value)
  if (fields === null) return null
  const [username, realm, nonce, uri, response] = ['username', 'realm', 'nonce', 'uri', 'response'].map(name =>
    fields.get(name),
  )
  const algorithm = algorithmOf(fields.get('algorithm'))
  const qop = fields.get('qop')
  if (algorithm === null || (qop !== undefined && qop.toLowerCase() !== 'auth')) return null
  if (username === undefined || realm === undefined || nonce === undefined) return null
  if (uri === undefined || response === undefined) return null
  const nc = fields.get('nc') ?? null
  const cnonce = fields.get('cnonce') ?? null
  if (qop !== undefined && (nc === null || cnonce === null || !/^[0-9a-f]{8}$/i.test(nc))) return null
  const rest = { nc, cnonce, opaque: fields.get('opaque') ?? null }
  return { username, realm, nonce, uri, response, algorithm, qop: qop === undefined ? null : 'auth', ...rest }
}

/** `H(username:realm:password)`: what a registrar stores instead of the password (RFC 7616 §3.4.2). */
export function ha1(algorithm: DigestAlgorithm, username: string, realm: string, password: string): string {
  return hash(algorithm, `${username}:${realm}:${password}`)
}

type Signed = Pick<DigestResponse, 'algorithm' | 'nonce' | 'uri' | 'nc' | 'cnonce'> & { qop: Qop | null }

/** The `response` value (RFC 7616 §3.4.1). `body`: for `auth-int` (§3.4.3). */
function digestOf(parts: Signed, ha1Hex: string, method: string, body: Uint8Array = NOTHING): string {
  const signedBody = parts.qop === 'auth-int' ? `:${hash(parts.algorithm, body)}` : ''
  const ha2 = hash(parts.algorithm, Buffer.from(`${method}:${parts.uri}${signedBody}`, 'latin1'))
  const middle = parts.qop === null ? '' : `${parts.nc}:${parts.cnonce}:${parts.qop}:`
  return hash(parts.algorithm, Buffer.from(`${ha1Hex}:${parts.nonce}:${middle}${ha2}`, 'latin1'))
}

/** Answers a challenge; `nonceCount` starts at 1 and grows with every use of the same nonce. */
export function answerChallenge(
  challenge: Challenge,
  credentials: Credentials,
  request: { method: string; uri: string; body?: Body | null },
  cnonce: string,
  nonceCount: number,
): string {
  const { realm, nonce, opaque, algorithm, isSession, qop } = challenge
  const nc = nonceCount.toString(16).padStart(8, '0')
  const signed: Signed = { algorithm, nonce, uri: request.uri, qop, nc, cnonce }
  const account = ha1(algorithm, credentials.username, toText(realm), credentials.password)
  const secret = isSession ? hash(algorithm, Buffer.from(`${account}:${nonce}:${cnonce}`, 'latin1')) : account
  const response = digestOf(signed, secret, request.method, request.body?.bytes)
  const fields = [
    `username=${quote(safeValue(credentials.username))}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(request.uri)}`,
    `response="${response}"`,
    `algorithm=${algorithm}${isSession ? '-sess' : ''}`,
  ]
  if (qop !== null || isSession) fields.push(`cnonce="${cnonce}"`)
  if (qop !== null) fields.push(`qop=${qop}`, `nc=${nc}`)
  if (opaque !== null) fields.push(`opaque=${quote(opaque)}`)
  return `Digest ${fields.join(', ')}`
}

/** Replaces the hash of an unknown user, so that the response time does not reveal which accounts exist. */
export const NO_HA1 = '0'.repeat(64)

/** The use of a nonce that an answer is. */
export const nonceUseOf = ({ nonce, nc }: DigestResponse): { value: string; count: number } => ({
  value: nonce,
  count: Number.parseInt(nc ?? '0', 16),
})

/** Whether a client's digest was made with the password behind `ha1Hex`. Nonce, realm and nc are the caller's to check. */
export function verifyDigest(given: DigestResponse, ha1Hex: string, method: string): boolean {
  const expected = Buffer.from(digestOf(given, ha1Hex, method), 'latin1')
  const actual = Buffer.from(given.response.toLowerCase(), 'latin1')
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/**
 * The first challenge of a list of header values that we can answer: the server put its favourite first (RFC 8760 §2.4). One that covers
 * the body comes last: whoever relays the audio changes that on its way.
 */
export function firstAnswerable(values: readonly string[]): Challenge | null {
  const challenges = values.flatMap(value => parseChallenge(value) ?? [])
  return challenges.find(({ qop }) => qop !== 'auth-int') ?? challenges[0] ?? null
}
