import type { AgentCore } from './agent-core.ts'
import type { Destination, Peer } from './agent-types.ts'
import { formatRequest, type OutgoingRequest } from './message/format.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

/** A request larger than this goes over TCP where nobody has said otherwise (RFC 3261 §18.1.1) [bytes]. */
const MAX_DATAGRAM = 1300

export interface LocatedRequest {
  target: Destination
  /** The request as it goes to one address; `branch` stands in its Via. */
  make: (to: Peer, branch: string) => OutgoingRequest
  /** Asked after each look-up: false when nobody wants it any more. Nothing is told of it then. */
  isWanted?: () => boolean
  /** Told of each form in which it goes out. */
  sent?: (request: OutgoingRequest, transaction: ClientTransaction) => void
}

/**
 * Sends a request where its destination leads (RFC 3263 §4). Of several addresses the next one is tried when one cannot be reached;
 * `user` hears of the last.
 */
export function sendLocated(core: AgentCore, request: LocatedRequest, user: ClientUser, now: number): void {
  core.locate(
    request.target,
    (ways, at) => {
      if (request.isWanted?.() !== false) sendTo(core, request, ways, user, at)
    },
    now,
  )
}

function sendTo(core: AgentCore, request: LocatedRequest, ways: readonly Peer[], user: ClientUser, now: number): void {
  const [first, ...others] = ways
  if (first === undefined) {
    user.failed('unreachable', now)
    return
  }
  const branch = core.branch()
  const outgoing = request.make(first, branch)
  if (first.isTransportOpen === true && first.transport === 'udp' && sizeOf(outgoing) > MAX_DATAGRAM) {
    const [stream, datagram]: Peer[] = [
      { ...first, transport: 'tcp' },
      { ...first, isTransportOpen: false },
    ]
    // Whoever does not listen for TCP gets it as a datagram all the same.
    sendTo(core, request, [stream!, datagram!, ...others], user, now)
    return
  }
  const transactionUser: ClientUser = {
    response: user.response,
    failed: (cause, at) => {
      if (cause === 'timeout' || others.length === 0) user.failed(cause, at)
      else if (request.isWanted?.() !== false) sendTo(core, request, others, user, at)
    },
  }
  const transaction = core.transactions.start(outgoing, branch, first, transactionUser, now)
  request.sent?.(outgoing, transaction)
}

const sizeOf = (request: OutgoingRequest): number => formatRequest(request).length
