import type { AgentCore, Session } from '../agent-core.ts'
import type { HeaderFields } from '../agent-types.ts'
import { credentialsOf, type OutgoingRequest } from '../message/format.ts'
import type { SipResponse } from '../message/message.ts'
import { answerChallenge, firstAnswerable, realmOf } from './digest.ts'

/** One challenge by each of two proxies and one by the far end, each of which may report a stale nonce. */
const MAX_CHALLENGES = 6
/** Challenges of one account that are remembered: the oldest is forgotten first. */
const MAX_ANSWERED = 8

type Account = Pick<Session, 'credentials' | 'answered'>

/**
 * The credentials with which a challenged request is sent again (RFC 3261 §22.2, §22.3): those that it had, and the answer to this
 * challenge. Null: there is no answer, or the password is wrong. `challenges`: how many were answered before.
 */
export function credentialsFor(
  core: AgentCore,
  account: Account,
  request: OutgoingRequest,
  response: SipResponse,
  challenges: number,
): HeaderFields | null {
  const isProxy = response.status === 407
  if (account.credentials === null || challenges >= MAX_CHALLENGES || (response.status !== 401 && !isProxy)) return null
  const challenge = firstAnswerable(response.headers.all(isProxy ? 'proxy-authenticate' : 'www-authenticate'))
  if (challenge === null) return null
  const key = keyOf(isProxy ? 'Proxy-Authorization' : 'Authorization', challenge.realm)
  const given = keysOf(request)
  // The same challenge again means a wrong password, unless the server says that only the nonce was old (RFC 7616 §3.3).
  if (given.includes(key) && !challenge.stale) return null
  const { answered } = account
  const before = answered.get(key)
  const uses = before?.challenge.nonce === challenge.nonce ? before.uses : 0
  answered.delete(key)
  if (answered.size === MAX_ANSWERED) answered.delete(answered.keys().next().value!)
  answered.set(key, { challenge, uses })
  return answersTo(core, account, request, [...new Set([...given, key])])
}

/** The credentials of a request for another one like it: no use of a nonce counts twice. */
export const credentialsAgain = (core: AgentCore, account: Account, request: OutgoingRequest): HeaderFields =>
  answersTo(core, account, request, keysOf(request))

function answersTo(core: AgentCore, account: Account, request: OutgoingRequest, keys: readonly string[]): HeaderFields {
  return keys.flatMap(key => {
    const known = account.answered.get(key)
    if (known === undefined || account.credentials === null) return []
    const value = answerChallenge(known.challenge, account.credentials, request, core.options.random(), ++known.uses)
    return [[key.slice(0, key.indexOf(' ')), value] as const]
  })
}

const keyOf = (name: string, realm: string): string => `${name} ${realm}`
const keysOf = (request: OutgoingRequest): string[] =>
  credentialsOf(request).map(([name, value]) => keyOf(name, realmOf(value)))
