import { RateLimits } from '../../media/protocol.ts'
import { appendEvent } from '../kernel/events/log.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { devicesOf } from '../queues/agents/devices.ts'
import type { TakeText } from '../queues/agents/phone-asks.ts'
import { destinationOf, partyAt } from '../queues/destinations.ts'
import { suspensionOf } from '../usage/allowance.ts'
import { insertText, MAX_PHONES, type PhoneDevice } from './delivery.ts'
import { toMessage } from './schema.ts'

/** Rate limit of texts from one member's phones. */
const RATE = { burst: 20, perSecond: 1 }
/** User part of the sender's address if the organisation writes. */
const PRODUCT = 'tandem'

export interface MessageDeps {
  store: Store
  vault: Vault
  now: () => Date
  sipHost: string
}

/** The phones of a member to which this node can send a text. */
export async function phonesOf(
  store: Pick<Store, 'db'>,
  tenant: Tenant,
  userId: string,
  at: Date,
): Promise<PhoneDevice[]> {
  const devices = await devicesOf(store.db, tenant, userId, at)
  return devices.filter(device => device.kind === 'sip').slice(0, MAX_PHONES)
}

/** The sender's URI, to which replies go: a member by extension or account, or the organisation. */
export async function senderUri(
  { store, sipHost }: Pick<MessageDeps, 'store' | 'sipHost'>,
  tenant: Tenant,
  userId: string | null,
): Promise<string> {
  const scoped = forTenant(store.db, tenant)
  const user = userId === null ? undefined : await scoped.find('users', userId)
  const account = userId === null ? undefined : await scoped.find('sip_credentials', userId)
  return `sip:${user?.extension ?? account?.username ?? PRODUCT}@${sipHost}`
}

/** Handles a text from a member's phone, to a colleague's phones (202) or to the organisation (200), whose webhooks receive it. */
export function textsOfPhones(deps: MessageDeps): TakeText {
  const limits = new RateLimits(RATE)
  return async ({ account, to, text }) => {
    const { store, now } = deps
    const at = now()
    const tenant = tenantOf(account)
    if (!limits.allow(account.id, at.getTime())) return 503
    if ((await suspensionOf(store.db, tenant)) !== null) return 403
    const target = await targetOf(deps, tenant, account.id, to)
    if (target === null) return 404
    const phones = target.userId === null ? [] : await phonesOf(store, tenant, target.userId, at)
    if (target.userId !== null && phones.length === 0) return 480
    const from = await senderUri(deps, tenant, account.id)
    await store.transaction(async trx => {
      const parties = { from_user_id: account.id, to_user_id: target.userId, to_address: to }
      const row = await insertText(trx, tenant, { ...parties, text, from, phones, at })
      await appendEvent(trx, tenant, { type: 'message.received', at: row.created, object: toMessage(row) })
    })
    return target.userId === null ? 200 : 202
  }
}

/**
 * The recipient: a colleague by account or extension, or the organisation if the address leads to no person; null: neither. Texts are never sent outside.
 */
async function targetOf(
  { store, vault, now, sipHost }: MessageDeps,
  tenant: Tenant,
  senderId: string,
  to: string,
): Promise<{ userId: string | null } | null> {
  if (to === PRODUCT) return { userId: null }
  const scoped = forTenant(store.db, tenant)
  const named = await scoped.select('sip_credentials').select('id').where('username', '=', to).executeTakeFirst()
  if (named !== undefined) return { userId: named.id }
  const user = await scoped.find('users', senderId)
  if (user === undefined) return null
  const [at, from] = [now(), partyAt(user.extension ?? PRODUCT, sipHost)]
  const found = await destinationOf({ db: store.db, sipHost, vault }, tenant, user, {
    to: partyAt(to, sipHost),
    from,
    at,
  })
  if ('failure' in found || found.kind === 'outside') return null
  return { userId: found.kind === 'user' ? found.userId : null }
}
