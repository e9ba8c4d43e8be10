import { sha256 } from '../../../kernel/secrets.ts'
import type { Trx } from '../../../kernel/store/store.ts'
import { forTenant, type Tenant, type TenantDb } from '../../../kernel/tenancy.ts'

const MINUTE_MS = 60_000

/** A limit of wrong PINs: a count per guesser, and how long it is blocked after the last of them. */
interface Limit {
  /** A hash, so that nobody can read who called from where. */
  guesser: string
  max: number
  lockedMs: number
}

const limit = (what: string, max: number, lockedMs: number): Limit => ({ guesser: sha256(what), max, lockedMs })

/** How long somebody who was right is told from strangers. */
const KNOWN_MS = 30 * 24 * 60 * MINUTE_MS

/** The limits of guesses at a room, the narrowest first. Four digits must not be guessable, whoever takes turns. */
const limitsOf = (own: Limit, room: string): Limit[] => [
  own,
  limit(room, 30, 60 * MINUTE_MS),
  limit('organisation', 300, 60 * MINUTE_MS),
]

const knownAs = ({ guesser }: Limit): string => sha256(`known ${guesser}`)

/** Those who were right before share limits of their own: strangers, who can be anybody, lock the room for strangers alone. */
async function limitsNow(tries: TenantDb, limits: readonly Limit[]): Promise<Limit[]> {
  const known = await tries.findBy('pin_tries', { guesser: knownAs(limits[0]!) })
  return limits.map((one, at) => (at === 0 || known === undefined ? one : { ...one, guesser: knownAs(one) }))
}

/** For a caller: two calls with three tries each. */
export const callerLimits = (roomId: string, from: string): Limit[] =>
  limitsOf(limit(`caller ${roomId} ${from}`, 6, 10 * MINUTE_MS), `room ${roomId}`)

/** For a guest: three tries from one client's network at one link, which strangers do not know. */
export const guestLimits = (roomId: string, link: string, network: string): Limit[] =>
  limitsOf(limit(`guest ${link} ${network}`, 3, 10 * MINUTE_MS), `guests ${roomId}`)

/**
 * Counts a try. `lockedS`: seconds to wait, in which case the try must not be checked; otherwise 0, and `left` is the number of remaining
 * tries of the guesser. Kept in the database, so that another call or another node does not start from zero.
 */
export async function beginTry(
  trx: Trx,
  tenant: Tenant,
  usual: readonly Limit[],
  at: Date,
): Promise<{ lockedS: number; left: number }> {
  const tries = forTenant(trx, tenant)
  const now = at.toISOString()
  await tries.delete('pin_tries').where('until', '<=', now).execute()
  const limits = await limitsNow(tries, usual)
  const guessers = limits.map(({ guesser }) => guesser)
  const rows = await tries.select('pin_tries').selectAll().where('guesser', 'in', guessers).execute()
  const known = new Map(rows.map(row => [row.guesser, row]))
  for (const { guesser, max } of limits) {
    const row = known.get(guesser)
    if (row !== undefined && row.count >= max) return { lockedS: secondsUntil(row.until, at), left: 0 }
  }
  for (const { guesser, lockedMs } of limits) {
    const until = new Date(at.getTime() + lockedMs).toISOString()
    const count = (known.get(guesser)?.count ?? 0) + 1
    if (!known.has(guesser)) await tries.insert('pin_tries', { guesser, count, until })
    else await tries.update('pin_tries').set({ count, until }).where('guesser', '=', guesser).execute()
  }
  const [own] = limits
  return { lockedS: 0, left: own === undefined ? 0 : own.max - (known.get(own.guesser)?.count ?? 0) - 1 }
}

/**
 * The PIN was right, so the try does not count. `forgives`: earlier tries of the guesser are forgiven too; not while a higher PIN may be
 * the one being guessed.
 */
export async function wasRight(
  trx: Trx,
  tenant: Tenant,
  limits: readonly Limit[],
  { forgives, at }: { forgives: boolean; at: Date },
): Promise<void> {
  const tries = forTenant(trx, tenant)
  for (const [index, { guesser }] of (await limitsNow(tries, limits)).entries()) {
    if (index === 0 && forgives) await tries.delete('pin_tries').where('guesser', '=', guesser).execute()
    else {
      await tries
        .update('pin_tries')
        .set(eb => ({ count: eb('count', '-', 1) }))
        .where('guesser', '=', guesser)
        .where('count', '>', 0)
        .execute()
    }
  }
  const guesser = knownAs(limits[0]!)
  await tries.delete('pin_tries').where('guesser', '=', guesser).execute()
  await tries.insert('pin_tries', { guesser, count: 0, until: new Date(at.getTime() + KNOWN_MS).toISOString() })
}

const secondsUntil = (until: string, at: Date): number =>
  Math.max(1, Math.ceil((Date.parse(until) - at.getTime()) / 1000))
