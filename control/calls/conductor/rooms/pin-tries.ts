import { sha256 } from '../../../kernel/secrets.ts'
import type { Trx } from '../../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../../kernel/tenancy.ts'

const MINUTE_MS = 60_000

/** Whose wrong PINs are counted together: so many, and nothing more until so long after the last of them. */
interface Limit {
  /** A hash: who called from where is nobody's to read. */
  guesser: string
  max: number
  lockedMs: number
}

const limit = (what: string, max: number, lockedMs: number): Limit => ({ guesser: sha256(what), max, lockedMs })

/** What the tries at a room are limited by, the narrowest first. Four digits are not to be guessed, whoever takes turns. */
const limitsOf = (own: Limit, roomId: string): Limit[] => [
  own,
  limit(`room ${roomId}`, 30, 60 * MINUTE_MS),
  limit('organisation', 300, 60 * MINUTE_MS),
]

/** Of somebody who calls: two calls of three tries each. */
export const callerLimits = (roomId: string, from: string): Limit[] =>
  limitsOf(limit(`caller ${roomId} ${from}`, 6, 10 * MINUTE_MS), roomId)

/** Of a guest: three tries of one client's network at one link. */
export const guestLimits = (roomId: string, link: string, network: string): Limit[] =>
  limitsOf(limit(`guest ${link} ${network}`, 3, 10 * MINUTE_MS), roomId)

/**
 * Counts a try; `lockedS`: it is not to be judged, and these are the seconds to wait; else 0, and `left` is how many the guesser has
 * after it. In the database, so that neither another call nor another node begins anew.
 */
export async function beginTry(
  trx: Trx,
  tenant: Tenant,
  limits: readonly Limit[],
  at: Date,
): Promise<{ lockedS: number; left: number }> {
  const tries = forTenant(trx, tenant)
  const now = at.toISOString()
  await tries.delete('pin_tries').where('until', '<=', now).execute()
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
 * It was right, and counts for nobody. `forgives`: what the guesser tried before is forgiven too; not while a higher PIN may be being
 * guessed.
 */
export async function wasRight(
  trx: Trx,
  tenant: Tenant,
  limits: readonly Limit[],
  { forgives }: { forgives: boolean },
): Promise<void> {
  const tries = forTenant(trx, tenant)
  for (const [index, { guesser }] of limits.entries()) {
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
}

const secondsUntil = (until: string, at: Date): number =>
  Math.max(1, Math.ceil((Date.parse(until) - at.getTime()) / 1000))
