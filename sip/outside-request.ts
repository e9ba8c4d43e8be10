import { ACCEPT, type AgentCore } from './agent-core.ts'
import type { Body, Credentials, Destination, HeaderFields, Peer, Watch } from './agent-types.ts'
import { credentialsFor } from './auth/credentials.ts'
import type { AnsweredChallenges } from './auth/digest.ts'
import { sendLocated } from './located-request.ts'
import { type OutgoingRequest, safeValue, wireUri } from './message/format.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

/** The sender of requests outside of dialogs to one far end: one Call-ID with a rising CSeq (RFC 3261 §10.2). */
export interface OutsideSender {
  readonly callId: string
  readonly tag: string
  /** All targets, the preferred one first. */
  readonly targets: readonly Destination[]
  /** The last target that worked. */
  at: number
  readonly credentials: Credentials | null
  cseq: number
  readonly answered: AnsweredChallenges
  /** The pending request, once it has been sent. */
  transaction: ClientTransaction | null
  /** A request has no final response yet. */
  isAsking: boolean
  /** Counts the requests: one that was given up is not sent when its lookup ends. */
  turn: number
}

interface OutsideRequest {
  method: 'REGISTER' | 'OPTIONS' | 'MESSAGE'
  uri: string
  /** Route values. Absent: none. */
  route?: readonly string[]
  from: string
  to: string
  /** `to`: the address that it goes to. */
  headers: (to: Peer) => HeaderFields
  body?: Body
}

export function newOutsideSender(
  core: AgentCore,
  targets: readonly Destination[],
  credentials: Credentials | null,
): OutsideSender {
  const [callId, tag] = [core.options.random(), core.options.random()]
  const known = { callId, tag, targets, at: 0, credentials, answered: new Map() }
  return { ...known, cseq: 0, transaction: null, isAsking: false, turn: 0 }
}

export const targetsOf = ({ target, others = [] }: Pick<Watch, 'target' | 'others'>): Destination[] => [
  target,
  ...others,
]

/**
 * Sends a request outside of any dialog, and answers its challenges. If a target is silent or answers 503, the next one is tried;
 * `user` gets the final response of the last, or the reason why there is none.
 */
export function sendOutside(
  core: AgentCore,
  sender: OutsideSender,
  request: OutsideRequest,
  user: ClientUser,
  now: number,
): void {
  const turn = ++sender.turn
  sender.isAsking = true
  const over = (): void => {
    sender.transaction = null
    sender.isAsking = false
  }
  const isWanted = (): boolean => sender.turn === turn
  let asked = 1
  const askNext = (when: number): boolean => {
    if (asked >= sender.targets.length || !isWanted()) return false
    asked++
    sender.at = (sender.at + 1) % sender.targets.length
    send([], 0, when)
    return true
  }
  const send = (authorization: HeaderFields, challenges: number, at: number): void => {
    let outgoing: OutgoingRequest
    const make = (to: Peer, branch: string): OutgoingRequest => {
      outgoing = {
        method: request.method,
        uri: wireUri(request.uri),
        route: (request.route ?? []).map(safeValue),
        via: core.via(to, branch),
        from: `<${wireUri(request.from)}>;tag=${sender.tag}`,
        to: `<${wireUri(request.to)}>`,
        callId: sender.callId,
        cseq: ++sender.cseq,
        headers: [...request.headers(to), ...authorization, ['User-Agent', core.options.name]],
        body: request.body ?? null,
      }
      return outgoing
    }
    const transactionUser: ClientUser = {
      response(response, when) {
        if (response.status < 200 || (response.status === 503 && askNext(when))) return
        const credentials = credentialsFor(core, sender, outgoing, response, challenges)
        if (credentials === null) {
          over()
          user.response(response, when)
        } else send(credentials, challenges + 1, when)
      },
      failed(cause, when) {
        if (askNext(when)) return
        over()
        user.failed(cause, when)
      },
    }
    const sent = (_: OutgoingRequest, transaction: ClientTransaction): void => {
      sender.transaction = transaction
    }
    sendLocated(core, { target: sender.targets[sender.at]!, make, isWanted, sent }, transactionUser, at)
  }
  send([], 0, now)
}

/** Asks a far end by OPTIONS whether it is there (RFC 3261 §11). */
export function askOptions(
  core: AgentCore,
  sender: OutsideSender,
  { uri, from, contactUser }: Pick<Watch, 'uri' | 'from' | 'contactUser'>,
  user: ClientUser,
  now: number,
): void {
  const headers = (to: Peer): HeaderFields => [
    ['Contact', core.contact(to, contactUser)],
    ['Accept', ACCEPT],
  ]
  sendOutside(core, sender, { method: 'OPTIONS', uri, from, to: uri, headers }, user, now)
}

/** Drops the pending request silently; the next request goes to the next target. */
export function giveUp(core: AgentCore, sender: OutsideSender): void {
  sender.turn++
  sender.at = (sender.at + 1) % sender.targets.length
  if (sender.transaction !== null) core.transactions.abandon(sender.transaction)
  sender.transaction = null
  sender.isAsking = false
}
