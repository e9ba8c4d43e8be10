import type { AgentCore } from './agent-core.ts'
import type { Destination, Peer } from './agent-types.ts'
import { formatRequest, type OutgoingRequest } from './message/format.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

/** A larger request uses TCP unless a transport is prescribed (RFC 3261 §18.1.1) [bytes]. */
const MAX_DATAGRAM = 1300

interface LocatedRequest {
  target: Destination
  /** The next hop if that cannot be resolved. */
  otherwise?: Peer | undefined
  /** The request for one address; `branch` is for its Via. */
  make: (to: Peer, branch: string) => OutgoingRequest
  /** Asked after each lookup: false if the request is no longer wanted. It is then dropped silently. */
  isWanted?: () => boolean
  /** Called with each form in which it is sent. */
  sent?: (request: OutgoingRequest, transaction: ClientTransaction) => void
}

/**
 * Sends a request to its destination (RFC 3263 §4). If one of several addresses cannot be reached, says nothing at all, or 503, the next
 * one is tried; `user` hears of the last.
 */
export function sendLocated(core: AgentCore, request: LocatedRequest, user: ClientUser, now: number): void {
  core.locate(
    request.target,
    (ways, at) => {
      const found = ways.length === 0 && request.otherwise !== undefined ? [request.otherwise] : ways
      if (request.isWanted?.() !== false) sendTo(core, request, found, user, at)
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
    // A peer that does not listen on TCP gets it as a datagram after all.
    sendTo(core, request, [stream!, datagram!, ...others], user, now)
    return
  }
  // What has taken it, or kept silent, is not asked again by another transport.
  const elsewhere = others.filter(({ host, port }) => host !== first.host || port !== first.port)
  let isHeard = false
  const goOn = (next: readonly Peer[], at: number): void => {
    if (request.isWanted?.() !== false) sendTo(core, request, next, user, at)
  }
  const transactionUser: ClientUser = {
    ...user,
    response: (response, at) => {
      isHeard = true
      if (response.status === 503 && elsewhere.length > 0) goOn(elsewhere, at)
      else user.response(response, at)
    },
    failed: (cause, at) => {
      const next = cause === 'unreachable' ? others : isHeard ? [] : elsewhere
      if (next.length === 0) user.failed(cause, at)
      else goOn(next, at)
    },
  }
  const transaction = core.transactions.start(outgoing, branch, first, transactionUser, now)
  request.sent?.(outgoing, transaction)
}

const sizeOf = (request: OutgoingRequest): number => formatRequest(request).length
