import { type Problem, problem } from '../http/errors.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { ofTenant, type Tenant, valuesOf } from '../kernel/tenancy.ts'

/** The part of a destination before its host, password or parameters. */
const USER = /^(?:sips?:)?([^@:;]+)/i
const E164 = /^\+[1-9][0-9]{1,14}$/

/** The number in a destination: a number in E.164, or a SIP URI whose user is one, however it is written; null when there is none. */
function numberIn(to: string): string | null {
  const user = unescaped(USER.exec(to)?.[1] ?? '').replace(/[-.()]/g, '')
  return E164.test(user) ? user : null
}

/** `%2B1415` calls whom `+1415` calls (RFC 3261 §19.1.4). */
const unescaped = (user: string): string =>
  user.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Whether a number (E.164) is on the do-not-call list. */
export async function isListed(db: Db, tenant: Tenant, phone: string): Promise<boolean> {
  const build = (place: Place) => ofTenant(db, 'do_not_call', place).select('id').where('phone', '=', place('phone'))
  return (await rowOf(db, 'number not to be called', build, { phone, ...valuesOf(tenant) })) !== undefined
}

/** 403 for a destination that must not be called (specification, "Errors": compliance block); `param` is where it stands. */
export async function doNotCallProblem(db: Db, tenant: Tenant, to: string, param = 'to'): Promise<Problem | null> {
  const phone = numberIn(to)
  if (phone === null || !(await isListed(db, tenant, phone))) return null
  return problem('do_not_call', `${phone} is on the do-not-call list.`, { param })
}
