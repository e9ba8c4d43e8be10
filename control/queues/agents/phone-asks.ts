import { type Events, isFailure } from '../../../media/protocol.ts'
import type { AccountDeps } from '../../calls/conductor/inbound/trunk-callers.ts'
import { noteUse } from '../../kernel/nodes/digest-uses.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { ha1Of } from './ha1.ts'
import { type PhoneSubscriptions, watchedBy } from './subscriptions.ts'
import type { SipCredentialRow } from './tables.ts'

type Ask = Events['sip.ask']

/** Handles a text that a member's phone sends by MESSAGE; returns the SIP status of the answer. */
export type TakeText = (
  text: { account: SipCredentialRow; to: string; text: string },
  media: MediaPort,
) => Promise<number>

export interface PhoneAskDeps extends AccountDeps {
  subscriptions: PhoneSubscriptions
  takeText: TakeText
}

/** Requests of members' phones outside calls: SUBSCRIBE and MESSAGE. The phone proves its account by digest, as for a REGISTER. */
export class PhoneAsks {
  readonly #deps: PhoneAskDeps

  constructor(deps: PhoneAskDeps) {
    this.#deps = deps
  }

  /** Never rejects; media itself answers what is not answered in time. */
  async handle(ask: Ask, media: MediaPort): Promise<void> {
    try {
      const account = await this.#accountOf(ask, media)
      if (account === null) return
      if (ask.what.method === 'MESSAGE') await this.#text(ask, account, ask.what.text, media)
      else await this.#subscribe(ask, account, ask.what, media)
    } catch (error) {
      this.#deps.log.warn({ err: error, method: ask.what.method }, 'what a phone asked could not be done')
    }
  }

  /** The account that the request proves; null: it proves none, and has been answered. */
  async #accountOf(
    { askId, username, algorithm, nonce, source }: Ask,
    media: MediaPort,
  ): Promise<SipCredentialRow | null> {
    const { store, vault, now, log } = this.#deps
    const account = await rowBy(store.db, 'sip_credentials', { username })
    const ha1 = account === undefined ? null : ha1Of(account, algorithm, vault)
    const checked = await media.request('sip.ask_check', { askId, ha1 })
    if (isFailure(checked) || account === undefined) return null
    if (!checked.isRight) {
      log.info({ userId: account.id, source: source.host }, "a phone's request was refused")
      return null
    }
    const isFirst = await noteUse(store, nonce, now())
    const user = await forTenant(store.db, tenantOf(account)).find('users', account.id)
    if (isFirst && user?.status === 'active') return account
    await refuse(media, askId, isFirst ? 403 : 401)
    return null
  }

  async #text({ askId, to }: Ask, account: SipCredentialRow, text: string, media: MediaPort): Promise<void> {
    const sipCode = await this.#deps.takeText({ account, to, text }, media)
    await refuse(media, askId, sipCode)
  }

  async #subscribe(
    { askId, to }: Ask,
    account: SipCredentialRow,
    what: Extract<Ask['what'], { method: 'SUBSCRIBE' }>,
    media: MediaPort,
  ): Promise<void> {
    const { store, subscriptions } = this.#deps
    const { subscriptionId } = what
    const known = subscriptionId === null ? null : subscriptions.ownLamp(subscriptionId, account.id)
    const lamp = known ?? (await watchedBy(store, account, to, what.package))
    // Only the member who began a subscription may refresh or end it.
    if (lamp === 'forbidden' || (subscriptionId !== null && known === null)) return refuse(media, askId, 403)
    if (lamp === null) return refuse(media, askId, 404)
    if (subscriptionId === null && !what.isEnd && subscriptions.isFull(account.id)) return refuse(media, askId, 403)
    const { about, state } = await subscriptions.first(account, lamp)
    const reply = await media.request('sip.ask_reply', { askId, sipCode: 200, about, state })
    if (isFailure(reply)) return
    if (reply.subscriptionId !== null) subscriptions.begin(reply.subscriptionId, about, state)
    else if (subscriptionId !== null) subscriptions.ended(subscriptionId)
  }
}

const refuse = async (media: MediaPort, askId: string, sipCode: number): Promise<void> => {
  await media.request('sip.ask_reply', { askId, sipCode, about: null, state: null })
}
