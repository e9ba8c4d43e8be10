import { type EndedReason, NOT_PAUSED } from '../../../media/protocol.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Dialled } from '../../media-link/client.ts'
import { applyCapture } from '../pci.ts'
import { applyRecording, endSession, endStream, loadLeg } from '../records.ts'
import type { LegRows } from '../steps/decide.ts'
import type { CallRow } from '../tables.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import { runningLegs, runningPauses, runningRecordings, runningSessions, runningStreams } from './running-rows.ts'

/** Runs the transaction that ends one thing of many: this leg, or with null something else. */
type EndStep = (legId: string | null, run: (trx: Trx) => Promise<unknown>) => Promise<unknown>

/**
 * Ends everything that ran at the node of `db`: every call, session, stream and pause, at the time `at`; a call or session that began later, at
 * its own beginning. The next media process calls whom nobody has called, completes the recordings from their files on the disk, and reports them.
 */
export async function endAll(
  db: Db,
  centre: CallCentrePort,
  { reason, at, dialled = null }: { reason: EndedReason; at: string; dialled?: Dialled },
  step: EndStep,
): Promise<void> {
  const isPast = reason === 'node_lost'
  for (const { call, pauseId: id } of await runningPauses(db)) {
    await step(null, trx => applyCapture(trx, call, { id, state: NOT_PAUSED }, at))
  }
  for (const row of await runningStreams(db)) await step(null, trx => endStream(trx, row, at))
  for (const id of await runningLegs(db, 'all')) {
    const rows = await loadLeg(db, id)
    const end = { reason, sipCode: null, quality: null, isPast, isUnsent: !isPast && isUnsent(rows, dialled) }
    await step(id, trx => centre.end(trx, id, end, rows === null ? at : notBefore(rows.call, at)))
  }
  await step(null, trx => centre.mediaDied(trx, { reason, at }))
  for (const session of await runningSessions(db)) {
    await step(null, trx => closeSession(trx, session, { reason, at: notBefore(session, at), isPast }))
  }
}

/** Whether nobody was called by a leg. What is not known may have happened: over a trunk, once the leg has got its line (`takeLine`). */
function isUnsent(rows: LegRows | null, dialled: Dialled): boolean {
  const { id, step, connection_id: line } = rows?.participant ?? {}
  if (step !== 'to_dial' && step !== 'dialing') return false
  if (dialled !== null) return !dialled.has(id)
  return step === 'to_dial' && line === null && rows?.call.livemode === 1 && rows.call.to_address.startsWith('+')
}

/** Marks the running recordings of a lost node as failed, since the files on its disk cannot be reached. */
export async function endRecordings(db: Db, at: string, step: EndStep): Promise<void> {
  for (const { call_id } of await runningRecordings(db)) await step(null, trx => applyRecording(trx, call_id, null, at))
}

/** `at`, but not before the call began: that may have been after its node was last seen. */
function notBefore({ created, answered_at }: CallRow, at: string): string {
  const begun = answered_at ?? created
  return begun > at ? begun : at
}

/** Ends a session; one whose room never opened is deleted. */
export async function closeSession(
  trx: Trx,
  session: CallRow,
  end: { reason: EndedReason | null; at: string; isPast?: boolean },
): Promise<void> {
  if (session.status !== 'queued') return endSession(trx, session, end)
  const scoped = forTenant(trx, tenantOf(session))
  await scoped.delete('calls').where('id', '=', session.id).execute()
  await scoped.update('participants').set({ session_call_id: null }).where('session_call_id', '=', session.id).execute()
}
