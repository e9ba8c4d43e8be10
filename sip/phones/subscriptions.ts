import type { AgentCore } from '../agent-core.ts'
import type { HeaderFields, Peer } from '../agent-types.ts'
import type { AnsweredChallenges } from '../auth/digest.ts'
import { advanceRemoteSeq, type Dialog, dialogOfRequest, followPhone, refreshTarget } from '../dialog.ts'
import { sendInDialog } from '../in-dialog-request.ts'
import { safeValue } from '../message/format.ts'
import type { SipRequest, SipResponse } from '../message/message.ts'
import { toText } from '../message/message.ts'
import { paramValue } from '../message/params.ts'
import type { Deadline } from '../transaction/deadlines.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import { bodyOfState, type EventPackage, type PackageState, packageOf } from './packages.ts'
import type { SubscriptionBook } from './phone-state.ts'

/** All of them. */
const MAX_SUBSCRIPTIONS = 20_000
/** A phone asks us for no password. */
const NO_CHALLENGES: AnsweredChallenges = new Map()

/** A phone's subscription (RFC 6665 §4.2), from our 200 to its SUBSCRIBE on. */
interface Subscription {
  readonly id: string
  readonly package: EventPackage
  /** From its Event header; the phone distinguishes its subscriptions by it. */
  readonly eventId: string | null
  /** The subject, as the phone named it. */
  readonly entity: string
  readonly dialog: Dialog
  readonly credentials: null
  readonly answered: AnsweredChallenges
  /** `terminated`: its last NOTIFY is to be sent, or pending. */
  phase: 'active' | 'terminated'
  /** What that one says: its time is over, or it is not wanted any more and must not be asked for again (RFC 6665 §4.1.3). */
  endReason: 'timeout' | 'rejected'
  expiresAt: number
  expiry: Deadline | null
  version: number
  /** The last state sent; null: none yet. */
  told: string | null
  isNotifying: boolean
  /** The latest state while a NOTIFY is pending. */
  next: PackageState | null
}

/** The subscriptions of phones: their dialogs, their expiry, and one NOTIFY after the other. */
export class Subscriptions implements SubscriptionBook {
  readonly #core: AgentCore
  readonly #byId = new Map<string, Subscription>()
  readonly #byDialog = new Map<string, Subscription>()

  constructor(core: AgentCore) {
    this.#core = core
  }

  get isFull(): boolean {
    return this.#byId.size >= MAX_SUBSCRIPTIONS
  }

  get ids(): string[] {
    return [...this.#byId.values()].filter(({ phase }) => phase === 'active').map(({ id }) => id)
  }

  find(request: SipRequest): string | null {
    const one = this.#byDialog.get(`${request.callId}\n${request.to.tag}`)
    if (one === undefined || one.phase !== 'active' || one.dialog.remoteTag !== request.from.tag) return null
    // For another package it refreshes nothing.
    return (packageOf(request) ?? one.package) === one.package ? one.id : null
  }

  begin(
    { transaction, peer, eventPackage }: { transaction: ServerTransaction; peer: Peer; eventPackage: EventPackage },
    { expiresS, state }: { expiresS: number; state: PackageState },
    now: number,
  ): string | null {
    const { request } = transaction
    const localTag = this.#core.options.random()
    const dialog = dialogOfRequest(request, localTag, peer)
    if (dialog === null) {
      this.#core.refuse(transaction, 400, now)
      return null
    }
    const one: Subscription = {
      id: this.#core.options.random(),
      package: eventPackage,
      eventId: eventIdOf(request),
      entity: toText(request.to.uri),
      dialog,
      credentials: null,
      answered: NO_CHALLENGES,
      phase: 'active',
      endReason: 'timeout',
      expiresAt: now,
      expiry: null,
      version: 0,
      told: null,
      isNotifying: false,
      next: null,
    }
    this.#byId.set(one.id, one)
    this.#byDialog.set(`${dialog.callId}\n${localTag}`, one)
    this.#accept(one, transaction, { expiresS, state }, now)
    return one.id
  }

  refresh(
    id: string,
    transaction: ServerTransaction,
    given: { expiresS: number; state: PackageState },
    now: number,
  ): boolean {
    const one = this.#byId.get(id)
    if (one === undefined || one.phase !== 'active') return false
    if (!advanceRemoteSeq(one.dialog, transaction.request.cseq.number)) {
      this.#core.respond(transaction, { status: 500, headers: [['Retry-After', '0']] }, now)
      return true
    }
    refreshTarget(one.dialog, transaction.request.headers)
    this.#accept(one, transaction, given, now)
    return true
  }

  #accept(
    one: Subscription,
    transaction: ServerTransaction,
    { expiresS, state }: { expiresS: number; state: PackageState },
    now: number,
  ): void {
    const { dialog } = one
    const { deadlines } = this.#core
    const recordRoute = transaction.request.headers.all('record-route').map(value => ['Record-Route', value] as const)
    const headers: HeaderFields = [
      ...recordRoute,
      ['Contact', this.#core.contactIn(dialog, '')],
      ['Expires', String(expiresS)],
    ]
    this.#core.respond(transaction, { status: 200, toTag: dialog.localTag, headers }, now)
    deadlines.cancel(one.expiry)
    one.expiresAt = now + expiresS * 1000
    one.told = null
    if (expiresS === 0) one.phase = 'terminated'
    else one.expiry = deadlines.set(one.expiresAt, at => this.#expired(one, at))
    this.#tell(one, state, now)
  }

  #expired(one: Subscription, now: number): void {
    one.phase = 'terminated'
    this.#core.unsubscribed(one.id)
    if (one.isNotifying) one.next = null
    else this.#send(one, null, now)
  }

  notify(id: string, state: PackageState, now: number): boolean {
    const one = this.#byId.get(id)
    if (one === undefined || one.phase !== 'active' || state.package !== one.package) return false
    this.#tell(one, state, now)
    return true
  }

  end(id: string, now: number): boolean {
    const one = this.#byId.get(id)
    if (one === undefined || one.phase !== 'active') return false
    this.#core.deadlines.cancel(one.expiry)
    one.phase = 'terminated'
    one.endReason = 'rejected'
    one.next = null
    if (!one.isNotifying) this.#send(one, null, now)
    return true
  }

  phoneMoved(from: Peer, to: Peer): void {
    for (const { dialog } of this.#byId.values()) followPhone(dialog, from, to)
  }

  #tell(one: Subscription, state: PackageState, now: number): void {
    if (one.isNotifying) {
      one.next = state
      return
    }
    const said = JSON.stringify(state)
    if (said === one.told) return
    one.told = said
    this.#send(one, state, now)
  }

  #send(one: Subscription, state: PackageState | null, now: number): void {
    const { dialog } = one
    const isLast = one.phase === 'terminated'
    one.isNotifying = true
    const leftS = Math.max(0, Math.round((one.expiresAt - now) / 1000))
    const event = one.eventId === null ? one.package : `${one.package};id=${one.eventId}`
    const headers: HeaderFields = [
      ['Event', event],
      ['Subscription-State', isLast ? `terminated;reason=${one.endReason}` : `active;expires=${leftS}`],
      ['Contact', this.#core.contactIn(dialog, '')],
    ]
    const body = state === null ? null : bodyOfState(state, one.entity, one.version++)
    const user = {
      response: (response: SipResponse, at: number): void => {
        if (response.status >= 200) this.#answered(one, isLast, isGone(response), at)
      },
      failed: (_cause: unknown, at: number): void => this.#answered(one, isLast, true, at),
    }
    sendInDialog(this.#core, one, dialog, { method: 'NOTIFY', headers, body }, user, now)
  }

  #answered(one: Subscription, wasLast: boolean, gone: boolean, now: number): void {
    one.isNotifying = false
    if (wasLast || gone) {
      if (one.phase === 'active') this.#core.unsubscribed(one.id)
      this.#forget(one)
      return
    }
    const { next } = one
    one.next = null
    if (one.phase === 'terminated') this.#send(one, next, now)
    else if (next !== null) this.#tell(one, next, now)
  }

  #forget(one: Subscription): void {
    one.phase = 'terminated'
    this.#core.deadlines.cancel(one.expiry)
    this.#byId.delete(one.id)
    this.#byDialog.delete(`${one.dialog.callId}\n${one.dialog.localTag}`)
  }
}

/** A failed NOTIFY ends the subscription, unless it has a Retry-After (RFC 6665 §4.2.2). */
const isGone = ({ status, headers }: SipResponse): boolean =>
  status >= 300 && (status === 481 || headers.get('retry-after') === null)

function eventIdOf(request: SipRequest): string | null {
  const value = request.headers.get('event') ?? ''
  const semi = value.indexOf(';')
  const id = semi < 0 ? null : paramValue(value.slice(semi), 'id')
  return id === null || !/^[\w.!%*+`'~-]{1,64}$/.test(id) ? null : safeValue(id)
}
