import { type Exists, existsIn } from '../http/references.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { FlowNode } from './engine/graph.ts'
import { targetKey } from './engine/validation.ts'
import { publishedFlow } from './users.ts'

/** Whether a member may be rung, now or after accepting the invitation. */
const memberHere: Exists = async (db, tenant, id) => {
  const user = await forTenant(db, tenant).find('users', id)
  return user !== undefined && (user.status !== 'deactivated' || 'is deactivated')
}

/** How the objects that a call can be led to are looked up. */
export const CALL_TARGETS = {
  user: memberHere,
  queue: existsIn('queues'),
  assistant: existsIn('assistants'),
  flow: publishedFlow,
  room: existsIn('conference_rooms'),
} as const

type Target = NonNullable<FlowNode['target']>
type Find = (db: Db, tenant: Tenant, ids: readonly string[]) => Promise<{ id: string }[]>

/** Queries for the existing and enabled objects that a call can be led to. Numbers and SIP URIs are not objects. */
const FIND: Partial<Record<Target['type'], Find>> = {
  queue: (db, tenant, ids) => forTenant(db, tenant).select('queues').select('id').where('id', 'in', ids).execute(),
  assistant: (db, tenant, ids) =>
    forTenant(db, tenant).select('assistants').select('id').where('id', 'in', ids).execute(),
  user: (db, tenant, ids) =>
    forTenant(db, tenant).select('users').select('id').where('id', 'in', ids).where('status', '=', 'active').execute(),
  room: (db, tenant, ids) =>
    forTenant(db, tenant)
      .select('conference_rooms')
      .select('id')
      .where('id', 'in', ids)
      .where('active', '=', 1)
      .execute(),
  flow: (db, tenant, ids) =>
    forTenant(db, tenant)
      .select('flows')
      .select('id')
      .where('id', 'in', ids)
      .where('published_version', 'is not', null)
      .where('status', '!=', 'archived')
      .where('kind', '!=', 'agent_script')
      .execute(),
}

/** Which of these targets a call can be led to now, as `targetKey`s. */
export async function knownTargets(db: Db, tenant: Tenant, targets: readonly Target[]): Promise<Set<string>> {
  const known = new Set<string>()
  for (const [type, find] of Object.entries(FIND) as [Target['type'], Find][]) {
    const ids = [...new Set(targets.flatMap(target => (target.type === type ? [target.id] : [])))]
    const rows = ids.length === 0 ? [] : await find(db, tenant, ids)
    for (const { id } of rows) known.add(targetKey({ type, id }))
  }
  return known
}
