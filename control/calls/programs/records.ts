import { callerFault } from '../../flows/caller-fault.ts'
import type { FlowStep } from '../../flows/engine/steps.ts'
import { assistantOf } from '../../flows/users.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { newId } from '../../kernel/ids.ts'
import { rowOf } from '../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import type { CallTarget } from '../tables.ts'
import { redacted } from './redacted.ts'
import { type TurnTiming, toCallProgram, toCallStep } from './step-schema.ts'
import type { CallProgramRow, CallStepRow } from './tables.ts'

/** The program of a call. */
export type ProgramTarget = { flowId: string } | { assistantId: string }

/** The program that leads the calls with this target, if it is one. */
export function programOf(target: CallTarget, id: string | null): ProgramTarget | null {
  if (id === null) return null
  return target === 'flow' ? { flowId: id } : target === 'assistant' ? { assistantId: id } : null
}

/** The caller is to leave a message, and nothing else. `greeting` empty: the default. */
export interface MessageTarget {
  mailbox: { queueId: string | null; userId: string | null; maxSeconds: number }
  greeting: string
  language: string | null
}

/** A step with its time and, for a turn, the durations of its parts. */
export type TimedStep = FlowStep & { at: string; timing?: TurnTiming }

/** The version of a flow that calls run. Null: it was never published, or leads no callers. */
export async function publishedVersion(db: Db, tenant: Tenant, flowId: string): Promise<number | null> {
  const flow = await forTenant(db, tenant).find('flows', flowId)
  return flow === undefined || callerFault(flow) !== null ? null : flow.published_version
}

/** Puts a call under a program, which begins once the call is answered. */
export async function insertProgram(
  trx: Trx,
  tenant: Tenant,
  call: { callId: string; legId: string },
  target: ProgramTarget | MessageTarget,
  at: string,
): Promise<void> {
  await forTenant(trx, tenant).insert('call_programs', {
    id: call.callId,
    leg_id: call.legId,
    ...(await columnsOf(trx, tenant, target)),
    status: 'waiting',
    hops: 0,
    created: at,
  })
}

/** An assistant with a flow runs that flow, with the assistant's voice and model. */
export async function columnsOf(
  db: Db,
  tenant: Tenant,
  target: ProgramTarget | MessageTarget,
): Promise<Pick<CallProgramRow, 'kind' | 'flow_id' | 'flow_version' | 'assistant_id'>> {
  if ('mailbox' in target) return { kind: 'voicemail', flow_id: null, flow_version: null, assistant_id: null }
  const assistant =
    'assistantId' in target ? await forTenant(db, tenant).find('assistants', target.assistantId) : undefined
  const flowId = 'flowId' in target ? target.flowId : (assistant?.flow_id ?? null)
  const version = flowId === null ? null : await publishedVersion(db, tenant, flowId)
  const leads = flowId !== null && (version !== null || 'flowId' in target)
  return {
    kind: leads ? 'flow' : 'assistant',
    flow_id: leads ? flowId : null,
    flow_version: leads ? version : null,
    assistant_id: 'assistantId' in target ? target.assistantId : await assistantOf(db, tenant, target.flowId),
  }
}

/** The program that leads a leg, unless it has ended. */
export const programOfLeg = (db: Db, legId: string): Promise<CallProgramRow | undefined> =>
  rowOf(
    db,
    'program of a leg',
    place =>
      db
        .selectFrom('call_programs')
        .selectAll()
        .where('leg_id', '=', place('leg'))
        .where('status', '!=', 'ended')
        .limit(1),
    { leg: legId },
  )

/** A number is said in at most this many turns, both sides counted. */
const MAX_PIECES = 12

const EVENT_OF_STEP = { node: 'call.flow.node', turn: 'call.turn', action: 'call.flow.action' } as const

/** Stores what a program did, and emits the events. */
export async function insertSteps(trx: Trx, row: CallProgramRow, steps: readonly TimedStep[]): Promise<void> {
  const tenant = tenantOf(row)
  for (const { step: kind, entry, at, timing } of steps) {
    const stored: CallStepRow = {
      id: newId('call_step'),
      organisation_id: row.organisation_id,
      livemode: row.livemode,
      call_id: row.id,
      kind,
      entry: JSON.stringify(
        kind === 'turn' ? await redactedTurn(trx, row, entry) : await redactedEntry(trx, tenant, entry),
      ),
      timing: timing === undefined ? null : JSON.stringify(timing),
      at,
    }
    await forTenant(trx, tenant).insert('call_steps', stored)
    await appendEvent(trx, tenant, { type: EVENT_OF_STEP[kind], at, object: toCallStep(stored), callId: row.id })
  }
}

type Entry<K extends TimedStep['step']> = Extract<TimedStep, { step: K }>['entry']

/** The caller's words are stored by the organisation's redaction rules, together with the words just before. */
async function redactedTurn(trx: Trx, row: CallProgramRow, entry: Entry<'turn'>): Promise<Entry<'turn'>> {
  const tenant = tenantOf(row)
  const scoped = forTenant(trx, tenant)
  const withText = (step: string, text: string): string => JSON.stringify({ ...JSON.parse(step), text })
  const own = async (): Promise<{ id: string; entry: Entry<'turn'> }[]> => {
    const turns = scoped.select('call_steps').select(['id', 'entry']).where('call_id', '=', row.id)
    const last = await turns.where('kind', '=', 'turn').orderBy('id', 'desc').limit(MAX_PIECES).execute()
    const read = last.reverse().map(step => ({ id: step.id, entry: JSON.parse(step.entry) as Entry<'turn'> }))
    return read.filter(turn => turn.entry.role === entry.role)
  }
  const text = await redacted(trx, tenant, entry.text, {
    earlier: async () => (await own()).map(turn => ({ id: turn.id, text: turn.entry.text })),
    rewrite: async ({ id, text: next }) => {
      const step = await scoped.find('call_steps', id)
      if (step === undefined) return
      await scoped.change('call_steps', id, { entry: withText(step.entry, next) })
    },
    retell: (object, next) => ({ ...object, turn: { ...(object.turn as object), text: next } }),
  })
  return { ...entry, text }
}

/** Redacts the input and output of an action, and all other text. */
async function redactedEntry<E extends object>(trx: Trx, tenant: Tenant, entry: E): Promise<E> {
  const redact = await redactorOf(trx, tenant)
  return JSON.parse(JSON.stringify(entry), (_, value) => (typeof value === 'string' ? redact(value) : value))
}

export async function tellProgram(
  trx: Trx,
  row: CallProgramRow,
  type: 'call.flow.started' | 'call.flow.ended',
  at: string,
): Promise<void> {
  await appendEvent(trx, tenantOf(row), { type, at, object: toCallProgram(row), callId: row.id })
}

/** Ends a program in any state. Does nothing if it has ended. */
export async function endProgram(trx: Trx, row: CallProgramRow, reason: string, at: string): Promise<void> {
  if (row.status === 'ended') return
  const scoped = forTenant(trx, tenantOf(row))
  const change = { status: 'ended' as const, end_reason: row.end_reason ?? reason, ended_at: at }
  const { numUpdatedRows } = await scoped
    .update('call_programs')
    .set(change)
    .where('id', '=', row.id)
    .where('status', '!=', 'ended')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await scoped.delete('call_inputs').where('call_id', '=', row.id).execute()
  // The program of an unanswered call never led it.
  if (row.status !== 'waiting') await tellProgram(trx, { ...row, ...change }, 'call.flow.ended', at)
}
