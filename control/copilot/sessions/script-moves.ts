import type { Graph } from '../../flows/engine/graph.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { SaidInput } from '../fast/state.ts'
import { moveScript, type ScriptMove, type ScriptState, shownStep } from '../script/script.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { apply, type RecordParts, sessionMs, stateOf } from './records.ts'

/** Moves the script of a session and writes the message with its new step, in this transaction. Null: no script, or it stays. */
export async function moveTo(
  parts: RecordParts,
  trx: Trx,
  row: CopilotSessionRow,
  move: ScriptMove,
): Promise<CopilotSessionRow | null> {
  const graph = await graphOf(trx, row)
  if (graph === null) return null
  const state = row.script === null ? null : (JSON.parse(row.script) as ScriptState)
  const moved = await moveScript(graph, state, move)
  if (moved === null) return null
  const step = shownStep(graph, moved)
  const body = { flow_id: row.flow_id, version: row.flow_version, ...(step ?? { node_key: null }) }
  const atMs = sessionMs(trx, row, parts.now())
  const told = { kind: 'told', atMs, type: 'script', path: 'fast', body, replaces: state?.seq ?? null } as const
  const next = await apply(parts, trx, row, [told])
  const script = JSON.stringify({ ...moved, seq: stateOf(next).seq })
  await forTenant(trx, tenantOf(row)).change('copilot_sessions', row.id, { script })
  return { ...next, script }
}

/** Moves the script if the customer's words lead to another step. */
export async function followScript(
  parts: RecordParts,
  trx: Trx,
  row: CopilotSessionRow,
  { party, isFinal, text }: SaidInput,
): Promise<CopilotSessionRow> {
  if (party !== 'customer' || !isFinal || text === '' || row.script === null) return row
  return (await moveTo(parts, trx, row, { kind: 'said', text })) ?? row
}

async function graphOf(db: Db, row: CopilotSessionRow): Promise<Graph | null> {
  if (row.flow_id === null || row.flow_version === null) return null
  const versions = forTenant(db, tenantOf(row)).select('flow_versions').select('graph')
  const version = await versions
    .where('flow_id', '=', row.flow_id)
    .where('version', '=', row.flow_version)
    .executeTakeFirst()
  return version === undefined ? null : (JSON.parse(version.graph) as Graph)
}
