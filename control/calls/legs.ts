import type { EndedReason } from '../../media/protocol.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { changeOf, forTenant, type Tenant, valuesOf } from '../kernel/tenancy.ts'
import { wake } from './conductor/follow.ts'
import { before, isGoing, type LegStep, STEPS, type Step } from './conductor/steps.ts'
import type { ParticipantRow } from './tables.ts'

/** In `leave_prompt`: what is heard before the call ends. */
export const BUSY_TONE = 'busy-tone'

/** The leg that the call is about. */
export const mainLeg = (db: Db, tenant: Tenant, callId: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant)
    .select('participants')
    .selectAll()
    .where('call_id', '=', callId)
    .where('ring_id', 'is', null)
    .executeTakeFirst()

export const findLeg = (db: Db, tenant: Tenant, id: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant).find('participants', id)

/** What is written of a leg: the step that it comes to with what belongs to it, and whatever else changes. */
export type LegChange = (Step | { step?: never }) & Partial<Omit<ParticipantRow, 'step'>>

/** A bug: somebody has written a step that the table of steps does not allow. */
export class StepFault extends Error {
  constructor(legId: string, from: LegStep, to: LegStep) {
    super(`${legId}: the step \`${to}\` does not follow \`${from}\``)
  }
}

/**
 * The one place where a leg's step is written; after the commit, what it calls for is sent. A step that the table does not allow is a bug
 * and throws; a leg that is on its way out stays on it, whatever was decided meanwhile.
 */
export async function writeLeg(trx: Trx, tenant: Tenant, legId: string, change: LegChange): Promise<void> {
  const { step } = change
  const columns = Object.entries(change).flatMap(([column, value]) => (value === undefined ? [] : [column]))
  const build = (place: Place) => {
    const set = Object.fromEntries(columns.map(column => [column, place(`to ${column}`)]))
    // The type of the column lets nobody else change it.
    const update = changeOf(trx, 'participants', place).set(set as never)
    const allowed = step === undefined ? update : update.where('step', 'in', before(step))
    return allowed.returning(['id', 'call_id', 'node_id', 'step'])
  }
  const to = Object.fromEntries(Object.entries(change).map(([column, value]) => [`to ${column}`, value]))
  const name = `leg to ${step} ${columns}`
  const written = await rowOf(trx, name, build, { id: legId, ...to, ...valuesOf(tenant) })
  if (written !== undefined) {
    const isNew = step !== undefined || change.prompted === 0
    if (isNew && STEPS[written.step].sends.length > 0) wake(trx, written)
    return
  }
  if (step === undefined) return
  const leg = await findLeg(trx, tenant, legId)
  if (leg !== undefined && !isGoing(leg.step)) throw new StepFault(legId, leg.step, step)
}

/** Takes a leg on from the step that its command was sent for, unless it is in another by now; returns it as it is then. */
export const takeOn = (
  store: Store,
  { id, step, organisation_id, livemode }: ParticipantRow,
  change: LegChange,
): Promise<ParticipantRow | undefined> =>
  store.transaction(async trx => {
    const tenant = { organisationId: organisation_id, livemode: livemode === 1 }
    if ((await findLeg(trx, tenant, id))?.step === step) await writeLeg(trx, tenant, id, change)
    return findLeg(trx, tenant, id)
  })

/** What a leg is to do next. One that has ended stays so. */
export async function setLeg(trx: Trx, tenant: Tenant, legId: string, change: LegChange): Promise<void> {
  const leg = await findLeg(trx, tenant, legId)
  if (leg !== undefined && leg.step !== 'ended') await writeLeg(trx, tenant, legId, { prompted: 0, ...change })
}

export const hangUpLeg = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, { step: 'hanging_up', leave_reason: reason, leave_prompt: null })

/** Ends a caller who has been answered by us and reaches nobody: for `busy` it hears the tone first, as a telephone exchange has it. */
export const turnAway = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, {
    step: 'hanging_up',
    leave_reason: reason,
    leave_prompt: reason === 'busy' ? BUSY_TONE : null,
  })
