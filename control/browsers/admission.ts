import type { Insertable } from 'kysely'
import { isFailure } from '../../media/protocol.ts'
import { elsewhere } from '../calls/conductor/rooms/sessions.ts'
import { insertProgram } from '../calls/programs/records.ts'
import { endLeg, insertParty, loadLeg, type NewParty } from '../calls/records.ts'
import type { Of } from '../calls/steps/event-handler.ts'
import { decideAnew, follow } from '../calls/steps/follow.ts'
import { conflict, ERRORS, envelope, isProblem, type Problem, storeUnavailable } from '../http/errors.ts'
import type { Outside } from '../kernel/follow-ups.ts'
import { newId } from '../kernel/ids.ts'
import { nodeOf } from '../kernel/store/node.ts'
import { isOutage } from '../kernel/store/outage.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { BrowserSessionRow, DeviceTables } from '../queues/agents/tables.ts'
import type { CallCentre } from '../queues/call-centre.ts'
import { noteLost } from '../queues/lost-devices.ts'
import { joinRing } from '../queues/ringing/late-devices.ts'
import { callProblem } from '../usage/allowance.ts'
import {
  clientTokenKey,
  type Redemption,
  type TokenClaims,
  type TokenUse,
  useClientToken,
  verifyClientToken,
} from './client-token.ts'

export interface AdmissionDeps {
  store: Store
  vault: Vault
  now: () => Date
  log: { info(fields: object, message: string): void }
  /** For `doc_url`; no trailing slash. */
  publicUrl: string
  centre: Pick<CallCentre, 'run'>
}

type Connecting = Of<'browser.connecting'>['body']

const USES: Record<Connecting['use'], TokenUse> = { call: 'call', phone: 'softphone' }

/** Admits pages that connect to the call WebSocket. A client token opens its call, or an agent's softphone, once. */
export class BrowserAdmission {
  readonly #deps: AdmissionDeps
  #key: Promise<Uint8Array> | null = null

  constructor(deps: AdmissionDeps) {
    this.#deps = deps
  }

  /** Nothing is written with the event. If this process dies, media tells the page to reconnect, and its token is still unused. */
  connecting(trx: Trx, { body }: Of<'browser.connecting'>): void {
    follow(trx, body.browserId, async outside => {
      const { media } = outside
      try {
        await this.#judge(body, outside)
      } catch (error) {
        if (isOutage(error)) {
          await media.request('browser.refuse', refusal(body.browserId, storeUnavailable(), this.#deps.publicUrl))
        }
        throw error
      }
    })
  }

  /** A member who is rung while its softphone connects is rung there too, unless the softphone resumes a ringing call. */
  async connected(trx: Trx, { body, at }: Of<'browser.connected'>): Promise<void> {
    const { browserId, goesOn } = body
    const session = await sessionOf(trx, browserId)
    if (session === undefined) return
    if (goesOn === null) await joinRing(trx, tenantOf(session), session.user_id, { kind: 'browser', browserId }, at)
    decideAnew(trx)
  }

  async closed(trx: Trx, { body, at }: Of<'browser.closed'>): Promise<void> {
    const session = await sessionOf(trx, body.browserId)
    if (session === undefined) return
    await trx.deleteFrom('browser_sessions').where('id', '=', body.browserId).execute()
    if (!body.forGood) await noteLost(trx, tenantOf(session), session.user_id, at)
    decideAnew(trx)
  }

  /** After a reconnect: softphones that are gone no longer ring. */
  async reconcile(browserIds: readonly string[]): Promise<void> {
    const { store, now } = this.#deps
    const { db } = store
    const rows = await db.selectFrom('browser_sessions').selectAll().where('node', '=', nodeOf(db)).execute()
    const here = new Set(browserIds)
    const at = now().toISOString()
    for (const { id, ...session } of rows.filter(row => !here.has(row.id))) {
      await store.transaction(async trx => {
        await trx.deleteFrom('browser_sessions').where('id', '=', id).execute()
        await noteLost(trx, tenantOf(session), session.user_id, at)
      })
    }
  }

  async #judge(page: Connecting, { media, conducting }: Outside): Promise<void> {
    const { store, vault, now, log } = this.#deps
    // If the key could not be read, the next page reads it again.
    this.#key ??= clientTokenKey(store, vault).catch((error: unknown) => {
      this.#key = null
      throw error
    })
    const asked = { token: page.token, origin: page.origin, use: USES[page.use], now: now() }
    const claims = await verifyClientToken(await this.#key, asked)
    const legId = page.use === 'call' ? newId('participant') : null
    const admitted = await store.transaction(async trx => {
      if (isProblem(claims)) return claims
      // The token stays unused until the organisation may have calls again. Softphones are admitted: a running call may continue there.
      const refused = legId === null ? null : await problemOf(trx, claims, asked.now.toISOString())
      if (refused !== null) return refused
      const used = await useClientToken(trx, claims, asked)
      if (!isProblem(used)) await this.#register(trx, page, used, legId)
      return used
    })
    const { browserId } = page
    if (isProblem(admitted)) {
      log.info({ browserId, host: page.host, code: admitted.problem }, 'a browser was refused')
      await media.request('browser.refuse', refusal(browserId, admitted, this.#deps.publicUrl))
      return
    }
    const { token, tenant } = admitted
    log.info({ browserId, callId: token.id, host: page.host, use: page.use }, 'a browser was admitted')
    const reply = await media.request('browser.admit', {
      browserId,
      as: page.use,
      legId,
      accountSid: tenant.organisationId,
      phone: phoneOf(admitted, browserId),
    })
    if (isFailure(reply)) await this.#gone(browserId, legId)
    else if (legId !== null) await conducting.drive(legId, media)
  }

  async #register(trx: Trx, page: Connecting, { tenant, token }: Redemption, legId: string | null): Promise<void> {
    const at = this.#deps.now().toISOString()
    if (legId !== null) {
      const guest = await forTenant(trx, tenant).find('browser_guests', token.id)
      await insertParty(trx, tenant, partyOf(token, guest ?? null, legId), at)
      const { id, assistant_id, origin } = token
      const made = { id, assistant_id, origin: origin ?? page.origin, name: guest?.name ?? '', created: at }
      await forTenant(trx, tenant).insert('web_calls', made)
      if (token.assistant_id !== null) {
        await insertProgram(trx, tenant, { callId: token.id, legId }, { assistantId: token.assistant_id }, at)
      }
      return
    }
    const row: Omit<Insertable<DeviceTables['browser_sessions']>, 'organisation_id' | 'livemode'> = {
      id: page.browserId,
      user_id: token.agent_user_id ?? '',
      node: nodeOf(trx),
      origin: token.origin,
      device: token.device,
      metadata: token.metadata,
      connected_at: at,
    }
    await forTenant(trx, tenant).insert('browser_sessions', row)
    await forTenant(trx, tenant).change('users', row.user_id, { last_login: at })
  }

  /** The page has left before it was admitted. */
  async #gone(browserId: string, legId: string | null): Promise<void> {
    const at = this.#deps.now().toISOString()
    await this.#deps.store.transaction(async trx => {
      await trx.deleteFrom('browser_sessions').where('id', '=', browserId).execute()
      const rows = legId === null ? null : await loadLeg(trx, legId)
      if (rows !== null) await endLeg(trx, rows, { reason: 'caller_hangup', sipCode: null, quality: null }, at)
    })
  }
}

const sessionOf = (trx: Trx, browserId: string): Promise<BrowserSessionRow | undefined> =>
  trx.selectFrom('browser_sessions').selectAll().where('id', '=', browserId).executeTakeFirst()

/** Why the call of a token cannot begin: a guest whose room is at another node would be alone here. */
async function problemOf(trx: Trx, { id, tenant }: TokenClaims, at: string): Promise<Problem | null> {
  const target_id = (await forTenant(trx, tenant).find('browser_guests', id))?.room_id ?? null
  const other = await elsewhere(trx, { target: 'room', target_id, ...ownedBy(tenant) }, at)
  if (other === undefined) return callProblem(trx, tenant, at)
  return conflict('other_node', 'Another node has this conference room, and pages cannot be led there.')
}

/** The owner of the running call that it may resume. */
const phoneOf = ({ tenant, token }: Redemption, browserId: string) =>
  token.agent_user_id === null
    ? null
    : {
        agent: `${tenant.organisationId}:${tenant.livemode}:${token.agent_user_id}`,
        device: token.device ?? browserId,
      }

const refusal = (browserId: string, problem: Problem, publicUrl: string) => ({
  browserId,
  status: ERRORS[problem.problem].status,
  body: envelope(problem, browserId, publicUrl) as Record<string, unknown>,
})

type Guest = { room_id: string; name: string; role: 'member' | 'moderator' }

/** The call that a token opens: for a guest to a room, for an assistant, or for neither: then the API leads it. */
const partyOf = (token: Redemption['token'], guest: Guest | null, legId: string): NewParty => ({
  callId: token.id,
  legId,
  direction: 'inbound',
  to: guest?.room_id ?? token.assistant_id ?? 'browser',
  from: guest?.name ?? 'browser',
  target: guest !== null ? 'room' : token.assistant_id !== null ? 'assistant' : 'park',
  roomId: guest?.room_id ?? null,
  connectionId: null,
  program: token.assistant_id === null ? {} : { assistantId: token.assistant_id },
  metadata: JSON.parse(token.metadata) as Record<string, string>,
  role: guest?.role ?? 'member',
  muted: false,
  ...(guest !== null && { admitted: 'pin_proved' as const }),
})
