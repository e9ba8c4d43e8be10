import { conflict, type Problem, problem } from '../http/errors.ts'
import { newId } from '../kernel/ids.ts'
import { forgetOld } from '../kernel/jobs/forget.ts'
import { seal, sha256, unseal } from '../kernel/secrets.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Graph } from './engine/graph.ts'
import type { FlowState } from './engine/state.ts'

/** How long a simulation can be continued after its last turn (specification, "Limits"). */
const LIFETIME_MS = 15 * 60 * 1000

/** A request that has not finished by then has died with its process, and the simulation is free again [ms]. */
const MAX_RUN_MS = 5 * 60 * 1000

/** A simulation that is reserved for this request. */
export interface Simulation {
  id: string
  version: number | null
  /** The graph when the simulation began, so that later changes of the draft do not affect it. */
  graph: Graph
  state: FlowState
}

const after = (now: Date, ms: number): string => new Date(now.getTime() + ms).toISOString()

/** Stores a new simulation, so that its ID is valid from the first event on. */
export async function beginSimulation(
  store: Store,
  tenant: Tenant,
  flowId: string,
  simulation: Omit<Simulation, 'id'>,
  now: Date,
): Promise<Simulation> {
  const id = newId('flow_simulation')
  await forTenant(store.db, tenant).insert('flow_simulations', {
    id: sha256(id),
    flow_id: flowId,
    version: simulation.version,
    graph: JSON.stringify(simulation.graph),
    state: seal(JSON.stringify(simulation.state), id),
    ended: 0,
    busy_until: after(now, MAX_RUN_MS),
    expires_at: after(now, LIFETIME_MS),
  })
  return { id, ...simulation }
}

/** Deletes expired simulations. To be called regularly. */
export const sweepSimulations = (store: Store, now: Date): Promise<void> =>
  forgetOld(store, 'flow_simulations', 'expires_at', now.toISOString())

/** Reserves a simulation of this flow, or says why not. */
export async function resumeSimulation(
  store: Store,
  tenant: Tenant,
  flowId: string,
  id: string,
  now: Date,
): Promise<Simulation | Problem> {
  const rows = forTenant(store.db, tenant)
  const row = await rows.find('flow_simulations', sha256(id))
  if (row === undefined || row.flow_id !== flowId || row.expires_at <= now.toISOString()) {
    return problem('resource_missing', `No such simulation of this flow, or it has expired: ${id}`, { param: 'sim_id' })
  }
  if (row.ended === 1) return conflict('not_running', 'The simulated call has ended.')
  const claim = rows
    .update('flow_simulations')
    .set({ busy_until: after(now, MAX_RUN_MS) })
    .where('id', '=', row.id)
    .where('ended', '=', 0)
    .where(where => where.or([where('busy_until', 'is', null), where('busy_until', '<=', now.toISOString())]))
  if ((await claim.executeTakeFirst()).numUpdatedRows === 0n) {
    return conflict('simulation_busy', 'Another request is running this simulation.')
  }
  // Read again, since the row read before the claim may be outdated.
  const claimed = (await rows.find('flow_simulations', row.id)) ?? row
  return {
    id,
    version: claimed.version,
    graph: JSON.parse(claimed.graph),
    state: JSON.parse(unseal(claimed.state, id)),
  }
}

/** Stores the progress; the next request has 15 minutes from now. */
export async function keepSimulation(db: Db, tenant: Tenant, { id, state }: Simulation, now: Date): Promise<void> {
  const change = {
    state: seal(JSON.stringify(state), id),
    ended: state.phase === 'ended' ? 1 : 0,
    busy_until: null,
    expires_at: after(now, LIFETIME_MS),
  }
  await forTenant(db, tenant).update('flow_simulations').set(change).where('id', '=', sha256(id)).execute()
}

/** Releases a simulation unchanged, after a failed request. */
export async function releaseSimulation(store: Store, tenant: Tenant, id: string): Promise<void> {
  const change = { busy_until: null }
  await forTenant(store.db, tenant).update('flow_simulations').set(change).where('id', '=', sha256(id)).execute()
}
