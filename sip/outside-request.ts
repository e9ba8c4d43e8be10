import type { AgentCore } from './agent-core.ts'
import type { Credentials, HeaderFields, Peer } from './agent-types.ts'
import { authorize, isStale } from './in-dialog-request.ts'
import { type OutgoingRequest, wireUri } from './message/format.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

/** One challenge by a proxy and one by the other side, each of which may say that the nonce was stale. */
const MAX_CHALLENGES = 3

/** Who sends requests outside of dialogs to one far end: one Call-ID with a rising CSeq (RFC 3261 §10.2). */
export interface OutsideSender {
  readonly callId: string
  readonly tag: string
  readonly target: Peer
  readonly credentials: Credentials | null
  cseq: number
  nonce: { value: string; count: number } | null
  /** The request under way. */
  transaction: ClientTransaction | null
}

export interface OutsideRequest {
  method: 'REGISTER' | 'OPTIONS'
  uri: string
  from: string
  to: string
  headers: HeaderFields
}

export function newOutsideSender(core: AgentCore, target: Peer, credentials: Credentials | null): OutsideSender {
  const [callId, tag] = [core.options.random(), core.options.random()]
  return { callId, tag, target, credentials, cseq: 0, nonce: null, transaction: null }
}

/** Sends a request outside of any dialog and answers its challenges; `user` sees the final response, or why there is none. */
export function sendOutside(
  core: AgentCore,
  sender: OutsideSender,
  request: OutsideRequest,
  user: ClientUser,
  now: number,
): void {
  const send = (authorization: HeaderFields, challenges: number, at: number): void => {
    const branch = core.branch()
    const outgoing: OutgoingRequest = {
      method: request.method,
      uri: wireUri(request.uri),
      route: [],
      via: core.via(sender.target.transport, branch),
      from: `<${wireUri(request.from)}>;tag=${sender.tag}`,
      to: `<${wireUri(request.to)}>`,
      callId: sender.callId,
      cseq: ++sender.cseq,
      headers: [...request.headers, ...authorization, ['User-Agent', core.options.name]],
      body: null,
    }
    const transactionUser: ClientUser = {
      response(response, when) {
        if (response.status < 200) return
        sender.transaction = null
        const answer = challenges < MAX_CHALLENGES ? authorize(core, sender, outgoing, response) : null
        const isRepeated = answer !== null && authorization.some(([name]) => name === answer[0])
        // The same challenge again means that the password is wrong, unless the server says that only the nonce was old.
        if (answer === null || (isRepeated && !isStale(response))) user.response(response, when)
        else send([...authorization.filter(([name]) => name !== answer[0]), answer], challenges + 1, when)
      },
      failed(cause, when) {
        sender.transaction = null
        user.failed(cause, when)
      },
    }
    sender.transaction = core.transactions.start(outgoing, branch, sender.target, transactionUser, at)
  }
  send([], 0, now)
}
