import { knownTargets } from '../flows/targets.ts'
import { invalid, type Problem } from '../http/errors.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { HandOver } from './schema.ts'

const NUMBER = /^\+[1-9][0-9]{1,14}$/
const SIP_URI = /^sip:[^\s<>"]+$/

/** 400 for the first target to which an assistant cannot transfer calls. Checked when it is stored, not when a caller waits. */
export async function handOverProblem(
  db: Db,
  tenant: Tenant,
  handOvers: readonly Pick<HandOver, 'target'>[],
  paramOf = (index: number) => `hand_overs[${index}].target.id`,
): Promise<Problem | null> {
  for (const [index, { target }] of handOvers.entries()) {
    const param = paramOf(index)
    if (target.type === 'number') {
      if (NUMBER.test(target.id) || SIP_URI.test(target.id)) continue
      return invalid(param, `${target.id} is neither a number in E.164 nor a SIP URI.`)
    }
    if ((await knownTargets(db, tenant, [target])).size > 0) continue
    return invalid(param, `No such ${target.type}, or it takes no calls now: ${target.id}`)
  }
  return null
}
