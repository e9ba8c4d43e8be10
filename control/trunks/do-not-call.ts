import { type Problem, problem } from '../http/errors.ts'
import { E164 } from '../kernel/phone.ts'
import { inList, type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { ofTenant, type Tenant, valuesOf } from '../kernel/tenancy.ts'
import type { DoNotCallRow } from './tables.ts'

/** The user part of a destination, before password, host or parameters. */
const USER = /^(?:sips?:)?([^@:;]+)/i

/** The number in a destination: a number in E.164, or a SIP URI whose user is one, in any spelling; null: none. */
export function numberIn(to: string): string | null {
  const user = userIn(to)
  return E164.test(user) ? user : null
}

/** The user part of a destination without escapes and visual separators. */
export const userIn = (to: string): string => unescaped(USER.exec(to)?.[1] ?? '').replace(/[-.()\s]/g, '')

/** `%2B1415` is the same as `+1415` (RFC 3261 §19.1.4). */
const unescaped = (user: string): string =>
  user.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** All entries that would cover a number (E.164): the number itself, or a prefix of it with `*`. */
const covering = (phone: string): string[] => [
  phone,
  ...Array.from({ length: phone.length - 1 }, (_, i) => `${phone.slice(0, i + 2)}*`),
]

/** The entry that forbids calls to a number (E.164): its own, otherwise a pattern's; undefined: none. */
export async function listedAs(db: Db, tenant: Tenant, phone: string): Promise<DoNotCallRow | undefined> {
  const { length, places, values } = inList('phone', covering(phone))
  const build = (place: Place) =>
    ofTenant(db, 'do_not_call', place).selectAll().where('phone', 'in', places(place)).orderBy('phone', 'desc').limit(1)
  return rowOf(db, `number not to be called ${length}`, build, { ...values, ...valuesOf(tenant) })
}

/** Whether a number (E.164) is not to be called. */
export const isListed = async (db: Db, tenant: Tenant, phone: string): Promise<boolean> =>
  (await listedAs(db, tenant, phone)) !== undefined

/** 403 for a destination that must not be called (specification, "Errors": compliance block); `param` is where it stands. */
export async function doNotCallProblem(db: Db, tenant: Tenant, to: string, param = 'to'): Promise<Problem | null> {
  const phone = numberIn(to)
  if (phone === null || !(await isListed(db, tenant, phone))) return null
  return problem('do_not_call', `${phone} is on the do-not-call list.`, { param })
}
