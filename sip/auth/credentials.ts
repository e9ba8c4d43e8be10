import type { AgentCore, Session } from '../agent-core.ts'
import type { HeaderFields } from '../agent-types.ts'
import { credentialsOf, type OutgoingRequest } from '../message/format.ts'
import type { SipResponse } from '../message/message.ts'
import { answerChallenge, firstAnswerable } from './digest.ts'

/** One challenge by a proxy and one by the far end, each of which may report a stale nonce. */
const MAX_CHALLENGES = 4

/**
 * The credentials with which a challenged request is sent again (RFC 3261 §22.2, §22.3): those that it had, and the answer to this
 * challenge. Null: there is no answer, or the password is wrong. `challenges`: how many were answered before.
 */
export function credentialsFor(
  core: AgentCore,
  account: Pick<Session, 'credentials' | 'nonce'>,
  request: OutgoingRequest,
  response: SipResponse,
  challenges: number,
): HeaderFields | null {
  const isProxy = response.status === 407
  if (account.credentials === null || challenges >= MAX_CHALLENGES || (response.status !== 401 && !isProxy)) return null
  const challenge = firstAnswerable(response.headers.all(isProxy ? 'proxy-authenticate' : 'www-authenticate'))
  if (challenge === null) return null
  const name = isProxy ? 'Proxy-Authorization' : 'Authorization'
  const kept = credentialsOf(request)
  const others = kept.filter(([other]) => other !== name)
  // The same challenge again means a wrong password, unless the server says that only the nonce was old (RFC 7616 §3.3).
  if (others.length < kept.length && !challenge.stale) return null
  const count = account.nonce?.value === challenge.nonce ? account.nonce.count + 1 : 1
  account.nonce = { value: challenge.nonce, count }
  return [...others, [name, answerChallenge(challenge, account.credentials, request, core.options.random(), count)]]
}
