import { appendEvent } from '../../kernel/events/log.ts'
import { remembered } from '../../kernel/remembered.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { elapsedMs } from '../../kernel/store/node.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { reduce } from '../fast/reduce.ts'
import type { CopilotInput, CopilotState, Notice, Outgoing } from '../fast/state.ts'
import { profileSettings } from '../profile.ts'
import type { ProfileSettings } from '../schema.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import type { CopilotAlert } from './alert-schema.ts'
import type { Feed } from './feed.ts'
import { messageId } from './message-schema.ts'

export interface RecordParts {
  now: () => Date
  feed: Feed
}

/** Number of profiles whose parsed settings are cached. */
const MAX_SETTINGS = 50

type Started = Pick<CopilotSessionRow, 'started_ms' | 'started_on' | 'created'>

/** The time of a session's clock [ms]. */
export const sessionMs = (db: Db, { started_ms, started_on, created }: Started, now: Date): number =>
  elapsedMs(db, { steadyMs: started_ms, node: started_on, at: created }, now.toISOString())

/**
 * The session's clock at a time of day (ISO 8601), computed from how long ago that was, since the time of day may have been set since the session began.
 */
export const sessionMsAt = (db: Db, row: Started, at: string, now: Date): number =>
  sessionMs(db, row, now) - Math.max(0, now.getTime() - Date.parse(at))

/** Cached, because settings are read for each input and may be a megabyte. */
const parsedSettings = remembered(MAX_SETTINGS, (settings: string) => profileSettings({ settings }))

export const settingsOfSession = ({ settings }: Pick<CopilotSessionRow, 'settings'>): ProfileSettings =>
  parsedSettings(settings)
export const stateOf = (row: Pick<CopilotSessionRow, 'state'>): CopilotState => JSON.parse(row.state)

/**
 * Applies an input to a session. State, messages and alert events are written in the same transaction, so that all or none of it is stored.
 * Returns the new row.
 */
export async function apply(
  parts: RecordParts,
  trx: Trx,
  row: CopilotSessionRow,
  inputs: readonly CopilotInput[],
): Promise<CopilotSessionRow> {
  const settings = settingsOfSession(row)
  let state = stateOf(row)
  const messages: Outgoing[] = []
  const notices: Notice[] = []
  for (const input of inputs) {
    const outcome = reduce(state, settings, input)
    state = outcome.state
    messages.push(...outcome.messages)
    notices.push(...outcome.notices)
  }
  const next = { ...row, state: JSON.stringify(state) }
  const tenant = tenantOf(row)
  if (next.state !== row.state) await forTenant(trx, tenant).change('copilot_sessions', row.id, { state: next.state })
  await tell(parts, trx, row, messages)
  for (const notice of notices) await notify(parts, trx, row, notice)
  return next
}

async function tell({ now, feed }: RecordParts, trx: Trx, row: CopilotSessionRow, messages: readonly Outgoing[]) {
  if (messages.length === 0) return
  const at = now()
  const nowMs = sessionMs(trx, row, at)
  const rows = messages.map((message): CopilotMessageRow => messageRow(row, message, at, nowMs))
  await trx.insertInto('copilot_messages').values(rows).execute()
  afterCommit(trx, () => feed.told(row, rows))
}

function messageRow(
  { id: sessionId, organisation_id, livemode }: CopilotSessionRow,
  { seq, type, path, utterances, replaces, withdraws, body, wordsEndMs }: Outgoing,
  at: Date,
  nowMs: number,
): CopilotMessageRow {
  const idOf = (one: number | null): string | null => (one === null ? null : messageId(sessionId, one))
  return {
    id: messageId(sessionId, seq),
    organisation_id,
    livemode,
    session_id: sessionId,
    seq,
    type,
    path,
    at: at.toISOString(),
    utterance_ids: JSON.stringify(utterances),
    latency_ms: wordsEndMs === null ? null : Math.max(0, Math.round(nowMs - wordsEndMs)),
    replaces: idOf(replaces),
    withdraws: idOf(withdraws),
    body: JSON.stringify(body),
  }
}

async function notify({ now }: RecordParts, trx: Trx, row: CopilotSessionRow, { seq, alert, utterances }: Notice) {
  const { key, kind, label, message, severity } = alert as CopilotAlert & Record<string, unknown>
  const object: CopilotAlert = {
    id: messageId(row.id, seq),
    object: 'copilot_alert',
    livemode: row.livemode === 1,
    session_id: row.id,
    call_id: row.call_id,
    user_id: row.user_id,
    queue_id: row.queue_id,
    ...{ key, kind, label, message, severity },
    utterance_ids: utterances,
  }
  await appendEvent(trx, tenantOf(row), { type: 'copilot.alert', at: now().toISOString(), object, callId: row.call_id })
}

export const findSession = (db: Db, tenant: Tenant, id: string): Promise<CopilotSessionRow | undefined> =>
  forTenant(db, tenant).find('copilot_sessions', id)
