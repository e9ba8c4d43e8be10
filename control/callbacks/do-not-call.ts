import { type Problem, problem } from '../http/errors.ts'
import type { Db } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

/** The number in a destination: a number in E.164, or a SIP URI whose user is one. */
const NUMBER = /^(?:sips?:)?(\+[1-9][0-9]{1,14})(?:[@;]|$)/

/** Whether a number (E.164) is on the do-not-call list. */
export async function isListed(db: Db, tenant: Tenant, phone: string): Promise<boolean> {
  const rows = forTenant(db, tenant).select('do_not_call').select('id').where('phone', '=', phone)
  return (await rows.executeTakeFirst()) !== undefined
}

/** 403 for a destination that must not be called (specification, "Errors": compliance block); `param` is where it stands. */
export async function doNotCallProblem(db: Db, tenant: Tenant, to: string, param = 'to'): Promise<Problem | null> {
  const phone = NUMBER.exec(to)?.[1]
  if (phone === undefined || !(await isListed(db, tenant, phone))) return null
  return problem('do_not_call', `${phone} is on the do-not-call list.`, { param })
}
