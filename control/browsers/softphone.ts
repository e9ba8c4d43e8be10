import { cutTo, type Events, isFailure, RateLimits } from '../../media/protocol.ts'
import type { BookingDeps } from '../callbacks/booking.ts'
import { mainLeg } from '../calls/legs.ts'
import type { CallingDeps } from '../campaigns/calling.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
import type { Feed } from '../copilot/sessions/feed.ts'
import { conflict, invalid, isProblem, type Problem, problem } from '../http/errors.ts'
import { contentProblem } from '../http/wire/content.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { PassageSearch } from '../knowledge/search.ts'
import type { MediaPort } from '../media-link/events.ts'
import { agentStatusOf, setWish } from '../queues/agent-status.ts'
import { type PlacingDeps, placeMembersCall } from '../queues/agents/placed-calls.ts'
import type { BrowserSessionRow } from '../queues/agents/tables.ts'
import type { CallCentre } from '../queues/call-centre.ts'
import { type Handling, hold, transferBlind } from '../queues/call-handling.ts'
import { colleagueAt, outsideNumber } from '../queues/destinations.ts'
import { isCaller } from '../queues/ringing/rings.ts'
import { answererOf, type Side } from '../queues/ringing/sides.ts'
import type { AgentWish, RingRow } from '../queues/tables.ts'
import type { RungParty } from '../queues/targets.ts'
import { bookForAgent } from './agent-callback.ts'
import { clientTokenKey, insertClientToken, signClientToken } from './client-token.ts'
import { actOnCopilot } from './copilot-desktop.ts'
import { type Floor, type FloorDeps, floorOf, floorProblem, superviseFrom } from './floor.ts'
import { actOnPreview, type PreviewSaid } from './preview-desktop.ts'

export interface SoftphoneDeps extends PlacingDeps, FloorDeps, ModelParts, CallingDeps {
  store: Store
  vault: Vault
  log: { warn(fields: object, message: string): void }
  centre: Pick<CallCentre, 'beginUnanswered' | 'changeSupervision' | 'handle' | 'run'>
  booking: BookingDeps
  /** Notified of agents' decisions on their desktops. */
  feed: Feed
  search: PassageSearch
}

/** How long a lost softphone may reconnect by itself [s]. */
const RENEWED_S = 3600
/** Rate limit of tokens for one member: each connection asks for one, and for the next every five minutes. */
const RENEWALS = { burst: 20, perSecond: 1 / 15 }
/** Maximum length of a callback's note [characters]. */
const MAX_NOTE = 500
const WISHES: readonly unknown[] = ['available', 'away', 'offline'] satisfies AgentWish[]
/** Possible targets of a dialled call: a number, an extension, or the name of a route. */
const DIALLED = /^\+?[A-Za-z0-9._-]{1,64}$/

type Wish = Record<string, unknown>

/** Messages to the page: its agent's status, hold, confirmations, and refusals. */
type Said =
  | { type: 'status'; status: string; held: boolean }
  | { type: 'hold'; held: boolean }
  | { type: 'token'; token: string }
  | ({ type: 'floor' } & Floor)
  | { type: 'listening'; call_id: string; mode: string }
  | PreviewSaid
  | { type: 'done' | 'refused'; message: string }

/** Requests of the softphone besides accepting and hanging up: status, hold, transfer, callback. */
export class Softphones {
  readonly #deps: SoftphoneDeps
  readonly #renewals = new RateLimits(RENEWALS)

  constructor(deps: SoftphoneDeps) {
    this.#deps = deps
  }

  /** Never rejects. */
  async handle({ browserId, body }: Events['browser.message'], media: MediaPort): Promise<void> {
    const { store, log } = this.#deps
    try {
      const query = store.db.selectFrom('browser_sessions').selectAll().where('id', '=', browserId)
      const session = await query.executeTakeFirst()
      if (session === undefined) return
      const said = await this.#act(session, body, media)
      if (said === null) return
      const answer: Said = isProblem(said) ? { type: 'refused', message: said.message } : said
      await media.request('browser.send', { browserId, body: { ...answer } })
    } catch (error) {
      log.warn({ err: error, browserId }, 'what a softphone asked for could not be done')
    }
  }

  async #act(session: BrowserSessionRow, body: Wish, media: MediaPort): Promise<Said | Problem | null> {
    const unfit = contentProblem(body)
    if (unfit !== null) return unfit
    switch (body.type) {
      case 'status':
        return this.#status(session, body.status)
      case 'renew':
        return this.#renew(session)
      case 'hold':
      case 'unhold': {
        const held = body.type === 'hold'
        const refused = await this.#withCall(session, (handling, side) => hold(handling, held, side))
        return refused ?? { type: 'hold', held }
      }
      case 'dial':
        return this.#dial(session, String(body.to ?? '').trim(), media)
      case 'callback':
        return this.#callback(session, body)
      case 'copilot':
        return actOnCopilot(this.#deps, media, session, body)
      case 'preview':
        return actOnPreview(this.#deps, session, body)
      case 'floor':
        return this.#floor(session)
      case 'supervise':
        return this.#supervise(session, body, media)
      case 'transfer':
        return this.#transfer(session, String(body.to ?? ''))
      default:
        return invalid('type', 'The softphone has no such message.')
    }
  }

  /** Issues a token that opens this softphone again, after a reload or a network loss. */
  async #renew({ user_id: agent_user_id, origin, ...session }: BrowserSessionRow): Promise<Said | Problem> {
    const { store, vault, now } = this.#deps
    const key = await clientTokenKey(store, vault)
    if (this.#renewals.take(agent_user_id, now().getTime()) > 0) {
      return problem('rate_limited', 'Too many tokens; wait a little.')
    }
    const { metadata } = session
    const device = session.device ?? session.id
    const fields = { assistant_id: null, agent_user_id, origin, metadata, device, ttlS: RENEWED_S }
    const row = await store.transaction(trx => insertClientToken(trx, tenantOf(session), fields, now()))
    return { type: 'token', token: await signClientToken(row, key) }
  }

  /** Sets the status, if one is given that can be set; returns the current one, and whether the member has the other party on hold. */
  async #status(session: BrowserSessionRow, wish: unknown): Promise<Said | Problem> {
    const { store, now } = this.#deps
    const tenant = tenantOf(session)
    const isSet = WISHES.includes(wish)
    const status = await store.transaction(async trx => {
      const user = await forTenant(trx, tenant).find('users', session.user_id)
      if (user === undefined || user.status !== 'active') return null
      if (isSet) await setWish(trx, tenant, user.id, { wish: wish as AgentWish, at: now().toISOString() })
      return (await agentStatusOf(trx, tenant, user)).status
    })
    if (status === null) return problem('resource_missing', 'The member is no longer active.')
    return { type: 'status', status, held: await this.#holds(session) }
  }

  /** A supervisor's view, polled by the page. */
  async #floor(session: BrowserSessionRow): Promise<Said | Problem> {
    const { db } = this.#deps.store
    const tenant = tenantOf(session)
    const refused = await floorProblem(db, tenant, session.user_id)
    return refused ?? { type: 'floor', ...(await floorOf(this.#deps, db, tenant)) }
  }

  async #supervise(session: BrowserSessionRow, wish: Wish, media: MediaPort): Promise<Said | Problem> {
    const tenant = tenantOf(session)
    const refused =
      (await floorProblem(this.#deps.store.db, tenant, session.user_id)) ??
      (await superviseFrom(this.#deps, media, session, wish))
    return refused ?? { type: 'listening', call_id: String(wish.call_id), mode: String(wish.mode) }
  }

  /** Places a call: the page is rung for what it has dialled, and answers at once. */
  async #dial(session: BrowserSessionRow, to: string, media: MediaPort): Promise<Said | Problem> {
    const tenant = tenantOf(session)
    const user = await forTenant(this.#deps.store.db, tenant).find('users', session.user_id)
    if (user?.status !== 'active') return problem('resource_missing', 'The member is no longer active.')
    if (!DIALLED.test(to)) return invalid('to', 'That is not a number or extension.')
    // Otherwise its page would only not be rung.
    const place = await media.request('leg.reserve', { legId: session.id })
    if (isFailure(place)) return problem('capacity_exhausted', 'No call capacity right now.')
    await media.request('leg.release', { legId: session.id })
    const device = { kind: 'browser' as const, browserId: session.id }
    const metadata = JSON.parse(session.metadata) as Record<string, string>
    const refused = await placeMembersCall(this.#deps, { tenant, user, device, dialled: to, metadata })
    if (refused === null) return { type: 'done', message: `Calling ${to}.` }
    const { failure, message } = refused
    if (failure === 'not_allowed') return refused.problem
    if (failure === 'elsewhere') return conflict('other_node', message)
    if (failure === 'busy') return problem('resource_conflict', message, { details: { reason: 'agent_busy' } })
    return problem(failure === 'capacity' ? 'capacity_exhausted' : 'parameter_invalid', message, { param: 'to' })
  }

  async #transfer(session: BrowserSessionRow, to: string): Promise<Said | Problem> {
    const target = await this.#target(session, to)
    if (isProblem(target)) return target
    const refused = await this.#withCall(session, (handling, side) => transferBlind(handling, target, side))
    return refused ?? { type: 'done', message: `Transferred to ${to}.` }
  }

  /** Books a callback for the party that the agent talks with. */
  async #callback(session: BrowserSessionRow, { note }: Wish): Promise<Said | Problem> {
    const ring = await this.#talking(session)
    if (isProblem(ring)) return ring
    const { store, booking } = this.#deps
    const text = typeof note === 'string' ? cutTo(note.trim(), MAX_NOTE) : ''
    const wish = { tenant: tenantOf(session), userId: session.user_id, callId: ring.call_id, note: text }
    const booked = await store.transaction(trx => bookForAgent(booking, trx, wish))
    return isProblem(booked) ? booked : { type: 'done', message: `A callback to ${booked.phone} is booked.` }
  }

  /** The target of a transfer: a number, or a member's extension. As in dialling, other SIP addresses are refused. */
  async #target(session: BrowserSessionRow, to: string): Promise<RungParty | Problem> {
    const { db } = this.#deps.store
    const tenant = tenantOf(session)
    const colleague = await colleagueAt(db, tenant, to)
    if (colleague !== undefined) return { type: 'user', id: colleague.id }
    const outside = await outsideNumber(db, tenant, session.user_id, to)
    if ('number' in outside) return { type: 'number', to: outside.number }
    return invalid('to', outside.message)
  }

  /** Acts on the call in which the agent talks. */
  async #withCall(
    session: BrowserSessionRow,
    act: (handling: Handling, side: Side) => Promise<Problem | null>,
  ): Promise<Problem | null> {
    const ring = await this.#talking(session)
    if (isProblem(ring)) return ring
    const side = isCaller(ring) ? 'caller' : 'answerer'
    const call = { tenant: tenantOf(session), callId: ring.call_id }
    return this.#deps.centre.handle(call, handling => act(handling, side))
  }

  async #holds(session: BrowserSessionRow): Promise<boolean> {
    const ring = await this.#talking(session)
    if (isProblem(ring)) return false
    const find = isCaller(ring) ? answererOf : mainLeg
    const other = await find(this.#deps.store.db, tenantOf(session), ring.call_id)
    return other !== undefined && !('problem' in other) && other.on_hold === 1
  }

  /** The ring by which the agent is a party of a call. */
  async #talking(session: BrowserSessionRow): Promise<RingRow | Problem> {
    const talking = { open_user: session.user_id, state: 'talking' as const }
    const ring = await forTenant(this.#deps.store.db, tenantOf(session)).findBy('rings', talking)
    // Supervisors and consulted parties cannot do this.
    const isParty = ring !== undefined && (ring.open_call !== null || isCaller(ring))
    return isParty ? ring : conflict('not_running', 'You are not in a call.')
  }
}
