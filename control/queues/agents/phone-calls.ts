import { type Events, isFailure } from '../../../media/protocol.ts'
import { type AccountDeps, hasProven } from '../../calls/conductor/inbound/trunk-callers.ts'
import { endIfGone, type TakingDeps } from '../../calls/conductor/later-calls.ts'
import type { Of } from '../../calls/steps/event-handler.ts'
import { follow } from '../../calls/steps/follow.ts'
import { ERRORS } from '../../http/errors.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { isNobody, wantsPrivacy } from '../../trunks/caller-identity.ts'
import { takeMembersCall } from '../transfers/taking.ts'
import { ha1Of } from './ha1.ts'
import { type NotPlaced, type PlacingDeps, placeMembersCall } from './placed-calls.ts'
import type { SipCredentialRow } from './tables.ts'

export type PhoneCallDeps = PlacingDeps & AccountDeps & Pick<TakingDeps, 'centre'>

type Incoming = Events['leg.incoming']

/** Usernames as `credential-routes.ts` generates them. No caller from a trunk has such a name. */
const USERNAME = /^(live|test)-/
const RETRY_AFTER_S = 5

type Refused = Exclude<NotPlaced, { failure: 'elsewhere' }>

const REFUSALS = {
  not_found: { sipCode: 404, reason: 'not_found' },
  busy: { sipCode: 486, reason: 'busy' },
  capacity: { sipCode: 503, reason: 'capacity', retryAfterS: RETRY_AFTER_S },
} as const satisfies Record<Exclude<Refused['failure'], 'not_allowed'>, object>

/** 403 if trying again is useless; 480 if another call has to end first. */
const answerTo = (refused: Refused) => {
  const phrase = refused.message.replaceAll(/\p{Cc}/gu, '').slice(0, 100)
  if (refused.failure !== 'not_allowed') return { ...REFUSALS[refused.failure], phrase }
  const isForGood = ERRORS[refused.problem.problem].status === 403
  return { sipCode: isForGood ? 403 : 480, reason: 'capacity' } as const
}

/**
 * Calls placed by members' phones. A caller that names a member's account must prove it by the password. The address that the phone
 * registered from proves nothing: behind a NAT, others share it.
 */
export class PhoneCalls {
  readonly #deps: PhoneCallDeps

  constructor(deps: PhoneCallDeps) {
    this.#deps = deps
  }

  /** False: the call is from no member's account. */
  async incoming(trx: Trx, { body }: Of<'leg.incoming'>): Promise<boolean> {
    // Phones that hide their From name themselves in P-Preferred-Identity (RFC 3325 §9.2).
    const said = [body.passedOn?.proven, body.digest?.username, body.from.user]
    const names = [...said, ...(body.identity?.asserted ?? []).map(({ user }) => user)]
    for (const username of names) {
      if (username === undefined || !USERNAME.test(username)) continue
      const account = await rowBy(trx, 'sip_credentials', { username })
      // Not in the event's own transaction: like a request of the API, it waits for replies of media.
      if (account === undefined) continue
      follow(trx, body.legId, async ({ media }) => void this.#handle(body, account, media))
      return true
    }
    return false
  }

  /** Never rejects; media itself refuses what is not decided in time. */
  async #handle(call: Incoming, account: SipCredentialRow, media: MediaPort): Promise<void> {
    try {
      if (await this.#isTheirs(call, account, media)) await this.#place(call, account, media)
    } catch (error) {
      this.#deps.log.warn({ err: error, legId: call.legId }, 'a call of a phone could not be placed')
    }
  }

  /** `gone`: nodes that had the conference room. */
  async #place(call: Incoming, account: SipCredentialRow, media: MediaPort, gone: string[] = []): Promise<void> {
    const { store, log } = this.#deps
    const { legId, to, replaces, identity } = call
    const tenant = tenantOf(account)
    const user = await forTenant(store.db, tenant).find('users', account.id)
    if (user?.status !== 'active') {
      await media.request('leg.reject', { legId, sipCode: 403, reason: 'rejected' })
      return
    }
    if (replaces !== undefined) return takeMembersCall(this.#deps, media, { tenant, userId: user.id, call, replaces })
    const device = { kind: 'leg' as const, legId }
    const isAnonymous = wantsPrivacy(identity) || isNobody(call.from)
    const placing = { tenant, user, device, dialled: to.user, isAnonymous, gone }
    const refused = await placeMembersCall(this.#deps, placing)
    log.info({ legId, userId: account.id, to: to.user, refused: refused?.message }, "a phone's call")
    if (refused === null) return endIfGone(this.#deps, media, legId, this.#deps.now().toISOString())
    if (refused.failure !== 'elsewhere')
      return void (await media.request('leg.reject', { legId, ...answerTo(refused) }))
    const passed = await media.request('leg.pass_on', { legId, node: refused.sip, proven: account.username })
    if (isFailure(passed) && passed.failure === 'conflict')
      await this.#place(call, account, media, [...gone, refused.id])
  }

  /** Whether it is the account's phone, here or at the node that has passed it on; otherwise it is refused, or asked. */
  async #isTheirs(call: Incoming, account: SipCredentialRow, media: MediaPort): Promise<boolean> {
    const { legId, digest, passedOn } = call
    if (passedOn?.proven === account.username) return true
    if (digest?.username !== account.username) {
      await media.request('leg.challenge', { legId })
      return false
    }
    const ha1 = ha1Of(account, digest.algorithm, this.#deps.vault)
    return hasProven(this.#deps, call, { ha1, who: { userId: account.id } }, media)
  }
}
