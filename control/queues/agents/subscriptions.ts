import { isFailure, type PackageState } from '../../../media/protocol.ts'
import type { Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { type Lamp, lampStates } from './lamps.ts'
import type { SipCredentialRow } from './tables.ts'

/** Maximum number of subscriptions of all phones of one member. */
const MAX_OF_MEMBER = 200

interface Subscription extends Lamp {
  tenant: Tenant
  /** The member whose phone it is. */
  memberId: string
  /** The account by which it has subscribed: a new one has new phones. */
  username: string
  /** The state last sent, as JSON; null: unknown. */
  told: string | null
}

/**
 * Subscriptions of phones (RFC 6665) on this node. Media keeps the dialogs and their expiry. The map here holds what each is about; media
 * stores that too (`about`) and returns it to a new control process.
 */
export class PhoneSubscriptions {
  readonly #store: Store
  readonly #byId = new Map<string, Subscription>()
  #looking = false

  constructor(store: Store) {
    this.#store = store
  }

  get size(): number {
    return this.#byId.size
  }

  isFull(memberId: string): boolean {
    let count = 0
    for (const one of this.#byId.values()) if (one.memberId === memberId) count++
    return count >= MAX_OF_MEMBER
  }

  /** The first state of a subscription; `about` is stored by media for us. */
  async first(account: SipCredentialRow, lamp: Lamp): Promise<{ about: string; state: PackageState }> {
    const [state] = await lampStates(this.#store.db, tenantOf(account), [lamp])
    return { about: aboutOf(account, lamp), state: state! }
  }

  /** Adds a subscription that media has accepted. */
  begin(id: string, about: string, state: PackageState): void {
    const read = readAbout(about)
    if (read !== null) this.#byId.set(id, { ...read, told: JSON.stringify(state) })
  }

  /** What a subscription of this member's phone is about; null: it belongs to somebody else. */
  ownLamp(id: string, memberId: string): Lamp | null {
    const one = this.#byId.get(id)
    return one === undefined || one.memberId !== memberId ? null : { package: one.package, userId: one.userId }
  }

  ended(id: string): void {
    this.#byId.delete(id)
  }

  /** After a restart of either process: media knows which subscriptions exist. */
  async recover(media: MediaPort): Promise<void> {
    const reply = await media.request('sip.subscriptions', {})
    if (isFailure(reply)) return
    this.#byId.clear()
    for (const { subscriptionId, about } of reply.subscriptions) {
      const read = readAbout(about)
      if (read !== null) this.#byId.set(subscriptionId, { ...read, told: null })
    }
  }

  /** Sends changes to each subscription; called periodically. Subscriptions by former accounts, or of members who are inactive, end. */
  async look(media: MediaPort): Promise<void> {
    if (this.#byId.size === 0 || this.#looking) return
    this.#looking = true
    try {
      const groups = new Map<string, [string, Subscription][]>()
      for (const entry of this.#byId) {
        const { organisationId, livemode } = entry[1].tenant
        const key = `${organisationId} ${livemode}`
        groups.set(key, [...(groups.get(key) ?? []), entry])
      }
      for (const entries of groups.values()) await this.#lookAt(entries, media)
    } finally {
      this.#looking = false
    }
  }

  async #lookAt(entries: readonly [string, Subscription][], media: MediaPort): Promise<void> {
    const { db } = this.#store
    const { tenant } = entries[0]![1]
    const ids = [...new Set(entries.flatMap(([, { memberId, userId }]) => [memberId, userId]))]
    const scoped = forTenant(db, tenant)
    const users = await scoped.select('users').select(['id', 'status']).where('id', 'in', ids).execute()
    const active = new Set(users.filter(({ status }) => status === 'active').map(({ id }) => id))
    const accounts = await scoped.select('sip_credentials').select('username').where('id', 'in', ids).execute()
    const usernames = new Set(accounts.map(({ username }) => username))
    const may = ({ memberId, userId, username }: Subscription) =>
      active.has(memberId) && active.has(userId) && usernames.has(username)
    const states = await lampStates(
      db,
      tenant,
      entries.map(([, one]) => one),
    )
    for (const [n, [id, one]] of entries.entries()) {
      if (!may(one)) await this.#tell(id, null, media)
      else if (JSON.stringify(states[n]) !== one.told) await this.#tell(id, states[n]!, media)
    }
  }

  async #tell(id: string, state: PackageState | null, media: MediaPort): Promise<void> {
    const reply = await media.request('sip.notify', { subscriptionId: id, state })
    const one = this.#byId.get(id)
    if (one === undefined) return
    if (state === null || (isFailure(reply) && reply.failure === 'not_found')) this.#byId.delete(id)
    else if (!isFailure(reply)) one.told = JSON.stringify(state)
  }
}

const aboutOf = ({ organisation_id, livemode, id, username }: SipCredentialRow, lamp: Lamp): string =>
  [organisation_id, livemode === 1 ? 'live' : 'test', id, lamp.package, lamp.userId, username].join(' ')

function readAbout(about: string): Omit<Subscription, 'told'> | null {
  const [organisationId, mode, memberId, wanted, userId, username] = about.split(' ')
  if (userId === undefined || username === undefined || (wanted !== 'dialog' && wanted !== 'message-summary'))
    return null
  return {
    tenant: { organisationId: organisationId!, livemode: mode === 'live' },
    memberId: memberId!,
    package: wanted,
    userId,
    username,
  }
}

/** The member that a phone asks about: itself, or a colleague of its organisation and mode, by extension or account; null: nobody. */
export async function watchedBy(
  store: Pick<Store, 'db'>,
  account: SipCredentialRow,
  to: string,
  wanted: Lamp['package'],
): Promise<Lamp | 'forbidden' | null> {
  const tenant = tenantOf(account)
  const scoped = forTenant(store.db, tenant)
  const named = await scoped.select('sip_credentials').select('id').where('username', '=', to).executeTakeFirst()
  const extension = /^[0-9]{2,8}$/.test(to)
    ? await scoped.select('users').select('id').where('extension', '=', to).executeTakeFirst()
    : undefined
  const userId = named?.id ?? extension?.id
  if (userId === undefined) return null
  const user = await scoped.find('users', userId)
  if (user?.status !== 'active') return null
  // Only the member itself may see its waiting messages.
  if (wanted === 'message-summary' && userId !== account.id) return 'forbidden'
  return { package: wanted, userId }
}
