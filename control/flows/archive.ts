import type { Context } from '../http/context.ts'
import { conflict, type Problem } from '../http/errors.ts'
import { usedProblem } from '../http/references.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { archivedProblem, type FlowDeps, shown } from './flow.ts'
import type { FlowObject } from './flow-schema.ts'
import type { FlowRow } from './tables.ts'

/** Archives a flow that nothing uses. It stays readable, but nothing can refer to it any more. */
export async function archiveFlow(deps: FlowDeps, context: Context, id: string): Promise<FlowObject | Problem> {
  return setStatus(deps, context, id, {
    type: 'flow.archived',
    refusal: async (trx, row) => archivedProblem(row) ?? usedProblem('flow', await deps.usesOf(trx, context, id)),
    status: () => 'archived',
  })
}

/** Restores an archived flow with its former status. */
export async function unarchiveFlow(deps: FlowDeps, context: Context, id: string): Promise<FlowObject | Problem> {
  return setStatus(deps, context, id, {
    type: 'flow.unarchived',
    refusal: async (_trx, row) =>
      row.status === 'archived' ? null : conflict('not_archived', 'The flow is not archived.'),
    status: row => (row.published_version === null ? 'draft' : 'published'),
  })
}

interface Move {
  type: 'flow.archived' | 'flow.unarchived'
  refusal(trx: Parameters<FlowDeps['usesOf']>[0], row: FlowRow): Promise<Problem | null>
  status(row: FlowRow): FlowRow['status']
}

function setStatus(deps: FlowDeps, context: Context, id: string, move: Move): Promise<FlowObject | Problem> {
  return context.withRow('flows', 'flow', id, async (trx, row) => {
    const refused = await move.refusal(trx, row)
    if (refused !== null) return refused
    const at = deps.now().toISOString()
    const change = { status: move.status(row), updated: at }
    await forTenant(trx, context).change('flows', id, change)
    const object = await shown(trx, context, { ...row, ...change })
    const before = await shown(trx, context, row)
    await appendEvent(trx, context, { type: move.type, at, object, before })
    return object
  })
}
