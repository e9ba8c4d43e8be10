import type { Events } from '../../../media/protocol.ts'
import { isFailure } from '../../../media/protocol.ts'
import type { Of } from '../../calls/steps/event-handler.ts'
import { follow } from '../../calls/steps/follow.ts'
import { ERRORS } from '../../http/errors.ts'
import { noteUse } from '../../kernel/nodes/digest-uses.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { isNobody, wantsPrivacy } from '../../trunks/caller-identity.ts'
import { takeMembersCall } from '../transfers/taking.ts'
import { type NotPlaced, type PlacingDeps, placeMembersCall } from './placed-calls.ts'
import type { SipCredentialRow } from './tables.ts'

export interface PhoneCallDeps extends PlacingDeps {
  vault: Vault
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

type Incoming = Events['leg.incoming']

/** Usernames as `credential-routes.ts` generates them. No caller from a trunk has such a name. */
const USERNAME = /^(live|test)-/
const RETRY_AFTER_S = 5

const REFUSALS = {
  not_found: { sipCode: 404, reason: 'not_found' },
  busy: { sipCode: 486, reason: 'busy' },
  capacity: { sipCode: 503, reason: 'capacity', retryAfterS: RETRY_AFTER_S },
} as const satisfies Record<Exclude<NotPlaced['failure'], 'not_allowed'>, object>

/** 403 if trying again is useless; 480 if another call has to end first. */
const answerTo = (refused: NotPlaced) => {
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
    const said = [body.digest?.username, body.from.user, ...(body.identity?.asserted ?? []).map(({ user }) => user)]
    const names = said.filter(name => name !== undefined && USERNAME.test(name))
    for (const username of names) {
      const account = await rowBy(trx, 'sip_credentials', { username: username ?? '' })
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
      await this.#judge(call, account, media)
    } catch (error) {
      this.#deps.log.warn({ err: error, legId: call.legId }, 'a call of a phone could not be placed')
    }
  }

  async #judge(
    { legId, digest, source, from, to, replaces, identity, isProxied }: Incoming,
    account: SipCredentialRow,
    media: MediaPort,
  ): Promise<void> {
    const { store, vault, now, log } = this.#deps
    if (digest?.username !== account.username) {
      await media.request('leg.challenge', { legId })
      return
    }
    const sealed = digest.algorithm === 'MD5' ? account.ha1_md5 : account.ha1_sha256
    const checked = await media.request('leg.check_caller', { legId, ha1: vault.open(sealed, account.id) })
    const fields = { legId, userId: account.id, source: source.host }
    if (isFailure(checked)) return
    if (!checked.isRight) return log.info(fields, "a phone's call was refused")
    if (!(await noteUse(store, digest.nonce, now()))) {
      await media.request('leg.challenge', { legId, isStale: true })
      return
    }
    const tenant = tenantOf(account)
    const user = await forTenant(store.db, tenant).find('users', account.id)
    if (user?.status !== 'active') {
      await media.request('leg.reject', { legId, sipCode: 403, reason: 'rejected' })
      return
    }
    if (replaces !== undefined) return takeMembersCall(this.#deps, media, { tenant, userId: user.id, legId, replaces })
    const device = { kind: 'leg' as const, legId }
    const isAnonymous = wantsPrivacy(identity) || isNobody(from)
    const placing = { tenant, user, device, dialled: to.user, isAnonymous, isProxied }
    const refused = await placeMembersCall(this.#deps, placing)
    log.info({ ...fields, to: to.user, refused: refused?.message }, "a phone's call")
    if (refused !== null) await media.request('leg.reject', { legId, ...answerTo(refused) })
  }
}
