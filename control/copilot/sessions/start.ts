import { awaitsConsent, callCaptureOf } from '../../calls/capture/call-capture.ts'
import { unconsentedProblem } from '../../calls/capture/demanded-consent.ts'
import { startOf } from '../../calls/duration.ts'
import type { CallRow, ParticipantRow } from '../../calls/tables.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { newId } from '../../kernel/ids.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { settingsOf } from '../../queues/settings/store.ts'
import type { RingRow } from '../../queues/tables.ts'
import { count } from '../../usage/ledger.ts'
import { newState } from '../fast/state.ts'
import { profileSettings } from '../profile.ts'
import type { ProfileSettings } from '../schema.ts'
import type { CopilotProfileRow, CopilotSessionRow } from '../tables.ts'
import { apply, type RecordParts, sessionMs, stateOf } from './records.ts'
import { moveTo } from './script-moves.ts'
import { toSession } from './session-schema.ts'
import { summaryOf } from './summary.ts'

interface Beside {
  call: CallRow
  /** The agent's leg. */
  leg: Pick<ParticipantRow, 'id' | 'node_id'>
  userId: string | null
  queueId: string | null
  profile: CopilotProfileRow
}

export interface StartParts extends RecordParts {
  /** Called after the commit, to begin listening to the call. */
  begun: (row: CopilotSessionRow) => void
}

/** Begins a session, in this transaction. It keeps the current versions of its profile and script. */
export async function startSession(
  parts: StartParts,
  trx: Trx,
  tenant: Tenant,
  { call, leg, userId, queueId, profile }: Beside,
): Promise<CopilotSessionRow> {
  const created = parts.now().toISOString()
  const settings = profileSettings(profile)
  const script = await pinnedScript(trx, tenant, settings)
  const refused = await refusedBy(trx, tenant, call, created)
  const row: CopilotSessionRow = {
    id: newId('copilot_session'),
    ...ownedBy(tenant),
    call_id: call.id,
    participant_id: leg.id,
    user_id: userId,
    queue_id: queueId,
    node_id: call.node_id,
    profile_id: profile.id,
    profile_version: profile.version,
    // A script that was never published is not used; the stages apply instead.
    settings:
      script === null
        ? JSON.stringify({ ...settings, script: { ...settings.script, flow_id: null } })
        : profile.settings,
    flow_id: script?.flowId ?? null,
    flow_version: script?.version ?? null,
    script: null,
    status: 'running',
    hearing: refused === null ? 'running' : 'none',
    hearing_reason: refused,
    state: JSON.stringify(newState(created)),
    deep: null,
    forgotten: 0,
    held: null,
    created,
    ...startOf(trx),
    ended_at: null,
  }
  await forTenant(trx, tenant).insert('copilot_sessions', row)
  await count(trx, tenant, { sourceId: row.id, at: created, amounts: { copilot_sessions: 1 } })
  const opened = await apply(parts, trx, row, [{ kind: 'tick', atMs: 0, isQuiet: true }])
  const told = (await moveTo(parts, trx, opened, { kind: 'start' })) ?? opened
  await appendEvent(trx, tenant, {
    type: 'copilot.session.started',
    at: created,
    object: toSession(told),
    callId: call.id,
  })
  afterCommit(trx, () => {
    parts.feed.told(told, [])
    parts.begun(told)
  })
  return told
}

const REFUSED = 'The caller has refused recording.'
const NOT_TOLD = 'The recording announcement has not been played to the caller yet.'
const NO_CONSENT = 'The caller has not given the consent to recording that the organisation requires.'
/** Reasons that a later consent of the caller removes. */
export const CONSENT_REASONS: readonly string[] = [REFUSED, NOT_TOLD, NO_CONSENT]

/** Why a caller is not listened to; null: no reason. Where recording needs a consent, listening by machines needs it too. */
export async function refusedBy(db: Db, tenant: Tenant, call: CallRow, at: string): Promise<string | null> {
  if (awaitsConsent(call)) return callCaptureOf(call)?.asked === 'refused' ? REFUSED : NOT_TOLD
  return (await unconsentedProblem(db, tenant, call, at)) === null ? null : NO_CONSENT
}

async function pinnedScript(
  db: Db,
  tenant: Tenant,
  { script }: ProfileSettings,
): Promise<{ flowId: string; version: number } | null> {
  const { flow_id: flowId, version } = script
  if (flowId === null) return null
  const flow = await forTenant(db, tenant).find('flows', flowId)
  const pinned = version === 'published' ? (flow?.published_version ?? null) : version
  return pinned === null ? null : { flowId, version: pinned }
}

/** Begins a copilot for the agent who has answered a call, if the call's queue names a profile. Runs in the transaction of that event. */
export async function startForAnswer(parts: StartParts, trx: Trx, ring: RingRow): Promise<void> {
  if (ring.user_id === null || ring.leg_id === null || ring.state !== 'talking') return
  if (ring.purpose === 'supervise' || ring.purpose === 'consult') return
  const tenant = tenantOf(ring)
  const scoped = forTenant(trx, tenant)
  const call = await scoped.find('calls', ring.call_id)
  const queueId = ring.queue_id ?? call?.queue_id ?? null
  if (call === undefined || call.ended_at !== null || queueId === null) return
  const queue = await scoped.find('queues', queueId)
  const profileId = queue === undefined ? null : settingsOf(queue).copilot_profile_id
  const profile = profileId === null ? undefined : await scoped.find('copilot_profiles', profileId)
  if (profile === undefined || (await runningBeside(trx, tenant, ring.leg_id)) !== undefined) return
  await startSession(parts, trx, tenant, {
    call,
    leg: { id: ring.leg_id, node_id: ring.node_id },
    userId: ring.user_id,
    queueId,
    profile,
  })
}

/** The running session of this agent's leg. */
export const runningBeside = (db: Db, tenant: Tenant, legId: string): Promise<CopilotSessionRow | undefined> =>
  forTenant(db, tenant).findBy('copilot_sessions', { participant_id: legId, status: 'running' })

/** Ends a session with its last words and its summary, in this transaction. */
export async function endSession(
  parts: RecordParts,
  trx: Trx,
  row: CopilotSessionRow,
  closing: (row: CopilotSessionRow) => string | null = () => null,
): Promise<void> {
  const atMs = sessionMs(trx, row, parts.now())
  const over = await apply(parts, trx, row, [{ kind: 'end', atMs }])
  const body = summaryOf(over, stateOf(over))
  const ended = await apply(parts, trx, over, [{ kind: 'told', atMs, type: 'summary', path: 'fast', body }])
  const change = { status: 'ended' as const, ended_at: parts.now().toISOString(), deep: closing(over) }
  await forTenant(trx, tenantOf(row)).change('copilot_sessions', row.id, change)
  await trx.deleteFrom('copilot_inputs').where('session_id', '=', row.id).execute()
  const object = toSession({ ...ended, ...change })
  await appendEvent(trx, tenantOf(row), {
    type: 'copilot.session.ended',
    at: change.ended_at,
    object,
    callId: row.call_id,
  })
  afterCommit(trx, () => parts.feed.wake(row.id))
}
