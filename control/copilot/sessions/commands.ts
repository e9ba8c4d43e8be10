import type { Static } from 'typebox'
import { isPaused } from '../../calls/pci.ts'
import { conflict, invalid, isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { canDismiss } from '../fast/reduce.ts'
import type { CopilotInput } from '../fast/state.ts'
import { accepts } from '../fields/values.ts'
import type { ProfileSettings } from '../schema.ts'
import type { CopilotSessionRow } from '../tables.ts'
import type { dismissBody, itemBody, nextBody } from './command-schema.ts'
import { seqOf } from './message-schema.ts'
import { apply, findSession, type RecordParts, sessionMs, settingsOfSession, stateOf } from './records.ts'
import { moveTo } from './script-moves.ts'
import { type CopilotSession, toSession } from './session-schema.ts'

export interface CommandParts extends RecordParts {
  store: Store
}

/** A session that accepts commands: it is running, and its call has no card-payment pause. */
export async function usableSession(db: Db, tenant: Tenant, id: string): Promise<CopilotSessionRow | Problem> {
  const row = await findSession(db, tenant, id)
  if (row === undefined) return missing('copilot_session', id)
  if (row.status !== 'running') return conflict('not_running', 'The session has ended.')
  if (await isPaused(db, tenant, row.call_id)) {
    return conflict(
      'capture_paused',
      'A card payment is in progress: nothing said or typed during it reaches the copilot.',
    )
  }
  return row
}

/** A command of a person to a usable session. Returns the session afterwards. */
export type Command<Answer = CopilotSession> = (
  row: CopilotSessionRow,
  at: { parts: CommandParts; trx: Trx; tenant: Tenant },
) => Promise<Answer | Problem>

/** Runs a command in the transaction of the request. Its messages are sent with the commit. */
export async function carryOut<Answer>(
  parts: CommandParts,
  trx: Trx,
  tenant: Tenant,
  id: string,
  command: Command<Answer>,
): Promise<Answer | Problem> {
  const row = await usableSession(trx, tenant, id)
  return isProblem(row) ? row : command(row, { parts, trx, tenant })
}

type Decide = (row: CopilotSessionRow, settings: ProfileSettings, atMs: number) => CopilotInput | Problem

/** A command that needs only the session's own data. */
const input =
  (decide: Decide): Command =>
  async (row, { parts, trx }) => {
    const decided = decide(row, settingsOfSession(row), sessionMs(trx, row, parts.now()))
    return isProblem(decided) ? decided : toSession(await apply(parts, trx, row, [decided]))
  }

/** Checks or unchecks an item of a checklist by its key. If several stages have it: the item of `stage`, otherwise of the current stage. */
export const checkItem = (key: string, { done, stage }: Static<typeof itemBody>): Command =>
  input((row, { stages }, atMs) => {
    const having = stages.filter(one => one.checklist.some(item => item.key === key))
    const current = toSession(row).stage
    const chosen =
      stage === undefined
        ? (having.find(one => one.key === current) ?? having[0])
        : having.find(one => one.key === stage)
    if (chosen === undefined) return problem('resource_missing', `No such item: ${key}`, { param: 'key' })
    return { kind: 'check', atMs, item: `${chosen.key}/${key}`, done }
  })

/** Sets a field to a person's value, redacted; null: what is heard counts again. */
export const setField =
  ({ key, value }: { key: string; value: string | null }): Command =>
  async (row, at) => {
    const text = value === null ? null : await redactedText(at.trx, at.tenant, value)
    return fieldIs(key, text)(row, at)
  }

const fieldIs = (key: string, value: string | null): Command =>
  input((_row, { fields }, atMs) => {
    const field = fields.find(one => one.key === key)
    if (field === undefined) return problem('resource_missing', `No such field: ${key}`, { param: 'key' })
    if (value !== null && !accepts(field, value)) {
      return invalid('value', "The value is not one of the field's options, or does not match its pattern.")
    }
    return { kind: 'field', atMs, key, value }
  })

export const dismiss = ({ message_id }: Static<typeof dismissBody>): Command =>
  input((row, _settings, atMs) => {
    const seq = seqOf(row.id, message_id)
    if (seq === null || !canDismiss(stateOf(row), seq)) {
      return invalid('message_id', 'No current message with this ID can be dismissed.')
    }
    return { kind: 'dismiss', atMs, seq }
  })

/** Goes to the next step of the script or, without one, to the next stage. */
export const nextStep =
  ({ back = false, choice, stage }: Static<typeof nextBody>): Command =>
  async (row, { parts, trx }) => {
    if (row.flow_id === null) return nextStage(parts, trx, row, { back, stage })
    if (stage !== undefined) return invalid('stage', 'The call follows a script.')
    const move = back ? ({ kind: 'back' } as const) : ({ kind: 'choice', key: choice ?? null } as const)
    const moved = await moveTo(parts, trx, row, move)
    return moved === null
      ? conflict('not_possible', 'The script has no such transition from this step.')
      : toSession(moved)
  }

async function nextStage(
  parts: CommandParts,
  trx: Trx,
  row: CopilotSessionRow,
  { back, stage }: { back: boolean; stage: string | undefined },
): Promise<CopilotSession | Problem> {
  const { stages } = settingsOfSession(row)
  const current = stages.findIndex(({ key }) => key === toSession(row).stage)
  const next = stage === undefined ? stages[current + (back ? -1 : 1)] : stages.find(({ key }) => key === stage)
  if (stage !== undefined && next === undefined) return invalid('stage', `No such stage: ${stage}`)
  if (next === undefined) return conflict('not_possible', 'There is no later stage.')
  const input: CopilotInput = { kind: 'stage', atMs: sessionMs(trx, row, parts.now()), key: next.key }
  return toSession(await apply(parts, trx, row, [input]))
}

/** Moves the session to another member's desktop. */
export const assign =
  (userId: string): Command =>
  async (row, { parts: { feed }, trx, tenant }) => {
    const user = await forTenant(trx, tenant).find('users', userId)
    if (user?.status !== 'active') return invalid('user_id', `No such active member: ${userId}`)
    await forTenant(trx, tenant).change('copilot_sessions', row.id, { user_id: userId })
    const assigned = { ...row, user_id: userId }
    // The desktop of the member before is told too.
    afterCommit(trx, () => {
      feed.told(row, [])
      feed.told(assigned, [])
    })
    return toSession(assigned)
  }

/** A person's words, redacted by the organisation's rules. */
export const redactedText = async (db: Db, tenant: Tenant, text: string): Promise<string> =>
  (await redactorOf(db, tenant))(text)
