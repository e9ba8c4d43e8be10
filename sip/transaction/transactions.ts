import type { Counters, Peer } from '../agent-types.ts'
import {
  credentialsOf,
  formatRequest,
  formatResponse,
  type OutgoingRequest,
  type ResponseParts,
} from '../message/format.ts'
import { type ByteString, bytesOf, ownCopy, type SipRequest, type SipResponse } from '../message/message.ts'
import type { Deadline, Deadlines } from './deadlines.ts'
import { INVITE_CLIENT } from './invite-client.ts'
import { INVITE_SERVER } from './invite-server.ts'
import type { ClientEffect, Machine, ServerEffect } from './machine.ts'
import { REQUEST_CLIENT } from './request-client.ts'
import { REQUEST_SERVER } from './request-server.ts'
import { type Timers, timerMs } from './timers.ts'

/** Whoever sent a request. */
export interface ClientUser {
  response(response: SipResponse, now: number): void
  /** No final response: by time-out (treated as 408) or because it could not be sent (503), RFC 3261 §8.1.3.1. */
  failed(cause: 'timeout' | 'unreachable', now: number): void
  /** Called when its far end is reached over another connection. Absent: the request is repeated there. */
  moved?(now: number): void
}

type AnyMachine<Effect extends string> = Machine<string, string, Effect>

interface Running<Effect extends string> {
  readonly key: string
  readonly machine: AnyMachine<Effect>
  state: string
  reliable: boolean
  retransmit: Deadline | null
  intervalMs: number
  limit: Deadline | null
}

export interface ClientTransaction extends Running<ClientEffect> {
  readonly side: 'client'
  readonly request: OutgoingRequest
  readonly bytes: Uint8Array
  to: Peer
  readonly user: ClientUser
  /** The response being delivered, which an ACK would answer. */
  response: SipResponse | null
}

interface Absorbing extends Running<ServerEffect> {
  readonly side: 'server'
  readonly replyTo: Peer
  /** Called once when the transaction is over; set by whoever needs to know. */
  terminated: (() => void) | null
}

export interface ServerTransaction extends Absorbing {
  readonly request: SipRequest
  /** Our annotated copy of the topmost Via (RFC 3581 §4). */
  readonly topVia: string
  last: Uint8Array | null
}

/**
 * What remains of a server transaction after its final response. Retransmissions may arrive for up to 64*T1, and on a busy switch all
 * transactions of that time, with their requests and calls, would be most of the process's memory.
 */
interface SettledTransaction extends Absorbing {
  /** The final response, if retransmissions get it again. A string is cheaper to keep than bytes, which share memory with other messages. */
  readonly final: ByteString | null
  /** To tag of the final response. */
  readonly toTag: string | undefined
}

type AnyTransaction = ClientTransaction | ServerTransaction | SettledTransaction

/** Services that transactions need from their owner. */
interface TransactionHost {
  readonly timers: Timers
  readonly deadlines: Deadlines
  readonly counters: Counters
  send(bytes: Uint8Array, to: Peer): void
}

const COOKIE = 'z9hG4bK'

/** Reserves in addition to the maximum number of transactions. */
const EXTRA_ROOM = { stranger: 0, known: 1 / 8, inside: 1 / 4 }

/** Matches messages to transactions (RFC 3261 §17.1.3, §17.2.3) and runs their tables. */
export class Transactions {
  readonly #clients = new Map<string, ClientTransaction>()
  readonly #servers = new Map<string, ServerTransaction | SettledTransaction>()
  readonly #host: TransactionHost
  readonly #max: number

  constructor(host: TransactionHost, max: number) {
    this.#host = host
    this.#max = max
  }

  get size(): number {
    return this.#clients.size + this.#servers.size
  }

  /**
   * Known peers get an eighth more capacity than strangers, and requests inside calls a quarter more. So a flood of new calls
   * prevents neither trunks from calling nor running calls from ending.
   */
  isFull(whose: 'stranger' | 'known' | 'inside'): boolean {
    return this.size >= this.#max + Math.ceil(this.#max * EXTRA_ROOM[whose])
  }

  /** Sends a request in a new transaction; `branch` is the one in its Via. */
  start(request: OutgoingRequest, branch: string, to: Peer, user: ClientUser, now: number): ClientTransaction {
    const machine: AnyMachine<ClientEffect> = request.method === 'INVITE' ? INVITE_CLIENT : REQUEST_CLIENT
    const transaction: ClientTransaction = {
      side: 'client',
      ...running(`${branch}|${request.method}`, machine, to.transport !== 'udp'),
      request,
      bytes: formatRequest(request),
      to,
      user,
      response: null,
    }
    this.#clients.set(transaction.key, transaction)
    this.#host.send(transaction.bytes, to)
    this.#arm(transaction, null, now)
    return transaction
  }

  /** Passes a response to its transaction; false if there is none. */
  response(response: SipResponse, now: number): boolean {
    const transaction = this.#clients.get(`${response.via.branch ?? ''}|${response.cseq.method}`)
    if (transaction === undefined) return false
    const { status } = response
    transaction.response = response
    if (transaction.state === 'completed' || transaction.state === 'accepted') {
      this.#host.counters.retransmissionsReceived++
    }
    this.#input(transaction, status < 200 ? 'provisional' : status < 300 ? 'success' : 'failure', now)
    return true
  }

  /** Absorbs a repeated request or the ACK of a failure; true when nobody else needs to see it. */
  absorb(request: SipRequest, now: number): boolean {
    const transaction = this.#servers.get(serverKey(request, request.method === 'ACK' ? 'INVITE' : request.method))
    if (transaction === undefined) return false
    if (request.method === 'ACK') {
      if (transaction.state === 'accepted') return false
      this.#input(transaction, 'ack', now)
      return true
    }
    this.#host.counters.retransmissionsReceived++
    this.#input(transaction, 'request', now)
    return true
  }

  /** Opens the server transaction of a new request. */
  open(request: SipRequest, topVia: string, replyTo: Peer): ServerTransaction {
    const machine: AnyMachine<ServerEffect> = request.method === 'INVITE' ? INVITE_SERVER : REQUEST_SERVER
    const transaction: ServerTransaction = {
      side: 'server',
      ...running(ownCopy(serverKey(request, request.method)), machine, replyTo.transport !== 'udp'),
      request,
      topVia,
      replyTo,
      last: null,
      terminated: null,
    }
    this.#servers.set(transaction.key, transaction)
    return transaction
  }

  /** The INVITE that a CANCEL is for (RFC 3261 §9.2), or null. */
  cancelled(cancel: SipRequest): ServerTransaction | SettledTransaction | null {
    return this.#servers.get(serverKey(cancel, 'INVITE')) ?? null
  }

  /** Sends a response; returns its bytes, or null when the transaction has its final response already. */
  respond(transaction: ServerTransaction, parts: ResponseParts, now: number): Buffer | null {
    const { status } = parts
    const input = status < 200 ? 'provisional' : status < 300 ? 'success' : 'failure'
    if (this.#servers.get(transaction.key) !== transaction) return null
    const bytes = formatResponse(transaction.request, transaction.topVia, parts)
    transaction.last = bytes
    this.#host.send(bytes, transaction.replyTo)
    this.#input(status < 200 ? transaction : this.#settle(transaction, bytes, parts), input, now)
    return bytes
  }

  #settle(transaction: ServerTransaction, bytes: Buffer, { status, toTag }: ResponseParts): SettledTransaction {
    const { request, topVia: _, last: __, ...absorbing } = transaction
    // A 2xx to an INVITE is retransmitted by the call (RFC 6026 §7.1).
    const isRepeated = request.method !== 'INVITE' || status >= 300
    const final = isRepeated ? bytes.toString('latin1') : null
    const settled = { final, toTag: request.to.tag ?? toTag, ...absorbing }
    this.#servers.set(settled.key, settled)
    return settled
  }

  /** Stops retransmitting a request, but still accepts responses. */
  stopRepeating(transaction: ClientTransaction): void {
    this.#host.deadlines.cancel(transaction.retransmit)
    transaction.retransmit = null
  }

  /** Retransmits a request. A far end that has it already ignores it. */
  repeat({ bytes, to }: ClientTransaction): void {
    this.#again(bytes, to)
  }

  /**
   * Transactions without a final response continue at the other peer, since the former one may not have received the request, or its
   * response may be lost. `other` null: at the address of each, over another connection.
   */
  moved(from: Peer, other: Peer | null, now: number): void {
    for (const transaction of [...this.#clients.values()]) {
      if (!UNANSWERED.has(transaction.state) || !isAt(transaction.to, from)) continue
      const to = other ?? { ...transaction.to, connectionId: undefined, isTheirs: undefined }
      const { transport, host, port, connectionId, local, isTheirs } = to
      transaction.to = { ...transaction.to, ...{ transport, host, port, connectionId, local, isTheirs } }
      if (transaction.user.moved === undefined) this.repeat(transaction)
      else transaction.user.moved(now)
    }
  }

  /** Forgets a transaction whose answer is no longer needed, or comes from elsewhere. */
  abandon(transaction: ClientTransaction | ServerTransaction): void {
    transaction.state = 'terminated'
    this.#remove(transaction)
  }

  /** Ends all transactions to a peer as unreachable. Peers limited to public addresses are separate from others at the same address. */
  transportFailed(to: Peer, now: number): void {
    for (const transaction of [...this.#clients.values()]) {
      const other = transaction.to
      if (other.transport !== to.transport || other.host !== to.host || other.port !== to.port) continue
      if ((other.publicOnly === true) !== (to.publicOnly === true)) continue
      this.#input(transaction, 'transportError', now)
    }
  }

  #input(transaction: AnyTransaction, input: string, now: number): void {
    const step = transaction.machine.table[transaction.state]?.[input]
    if (step === undefined) return
    const before = transaction.state
    transaction.state = step.to
    if (before !== step.to) this.#arm(transaction, before, now)
    if (step.to === 'terminated') this.#remove(transaction)
    for (const effect of step.do) {
      if (transaction.side === 'client') this.#clientEffect(transaction, effect as ClientEffect, now)
      else this.#again('final' in transaction ? finalOf(transaction) : transaction.last, transaction.replyTo)
    }
  }

  #clientEffect(transaction: ClientTransaction, effect: ClientEffect, now: number): void {
    if (effect === 'retransmit') this.#again(transaction.bytes, transaction.to)
    else if (effect === 'ack') this.#host.send(failureAck(transaction), transaction.to)
    else if (effect === 'deliver') transaction.user.response(transaction.response!, now)
    else transaction.user.failed(effect, now)
  }

  #again(bytes: Uint8Array | null, to: Peer): void {
    if (bytes === null) return
    this.#host.counters.retransmissionsSent++
    this.#host.send(bytes, to)
  }

  /** Starts the timers of the new state and stops those of the previous one. */
  #arm(transaction: AnyTransaction, before: string | null, now: number): void {
    const { deadlines, timers } = this.#host
    const { machine, state } = transaction
    const retransmit = machine.retransmit[state]
    if (before === null || retransmit !== machine.retransmit[before]) {
      deadlines.cancel(transaction.retransmit)
      transaction.retransmit = null
      if (retransmit !== undefined && !transaction.reliable) {
        transaction.intervalMs = timerMs(retransmit, timers, false)
        this.#armRetransmit(transaction, retransmit, now)
      }
    }
    const limit = machine.limit[state]
    if (before !== null && limit === machine.limit[before]) return
    deadlines.cancel(transaction.limit)
    transaction.limit = null
    if (limit === undefined) return
    const waitMs = timerMs(limit, timers, transaction.reliable)
    // A wait of zero is still a deadline, so that the current response is delivered first.
    transaction.limit = deadlines.set(now + waitMs, at => this.#input(transaction, limit, at))
  }

  #armRetransmit(transaction: AnyTransaction, name: 'A' | 'E' | 'G', from: number): void {
    const due = from + transaction.intervalMs
    transaction.retransmit = this.#host.deadlines.set(due, now => {
      const { t2 } = this.#host.timers
      const doubled = 2 * transaction.intervalMs
      // A doubles without bound; E stays at T2 once a provisional response has arrived (RFC 3261 §17.1.2.2).
      const capped = transaction.state === 'proceeding' ? t2 : Math.min(doubled, t2)
      transaction.intervalMs = name === 'A' ? doubled : capped
      // The next one counts from the deadline of this one, not from when it was processed.
      this.#armRetransmit(transaction, name, Math.max(due, now - t2))
      this.#input(transaction, name, now)
    })
  }

  #remove(transaction: AnyTransaction): void {
    this.#host.deadlines.cancel(transaction.retransmit)
    this.#host.deadlines.cancel(transaction.limit)
    if (transaction.side === 'client') this.#clients.delete(transaction.key)
    else {
      this.#servers.delete(transaction.key)
      transaction.terminated?.()
    }
  }
}

const UNANSWERED: ReadonlySet<string> = new Set(['calling', 'trying', 'proceeding'])

const isAt = (to: Peer, { transport, host, port, connectionId }: Peer): boolean =>
  to.transport === transport &&
  (to.connectionId === undefined ? to.host === host && to.port === port : to.connectionId === connectionId)

const finalOf = ({ final }: SettledTransaction): Buffer | null => (final === null ? null : bytesOf(final))

function running<Effect extends string>(key: string, machine: AnyMachine<Effect>, reliable: boolean): Running<Effect> {
  return { key, machine, state: machine.initial, reliable, retransmit: null, intervalMs: 0, limit: null }
}

/** Branch, sent-by and method; for an old-style branch, what RFC 2543 compares (RFC 3261 §17.2.3). */
function serverKey(request: SipRequest, method: string): string {
  const { via } = request
  if (via.branch?.startsWith(COOKIE) && via.branch.length > COOKIE.length) {
    return `${via.branch}|${via.host.toLowerCase()}:${via.port ?? ''}|${method}`
  }
  const { from, callId, cseq, headers, uri } = request
  return `2543|${uri}|${from.tag ?? ''}|${callId}|${cseq.number}|${headers.get('via')}|${method}`
}

/** The ACK for a failure response goes where the INVITE went, in its transaction (RFC 3261 §17.1.1.3). */
function failureAck(transaction: ClientTransaction): Uint8Array {
  const { request, response } = transaction
  return formatRequest({
    ...request,
    method: 'ACK',
    to: response!.headers.get('to')!,
    headers: credentialsOf(request),
    body: null,
  })
}
