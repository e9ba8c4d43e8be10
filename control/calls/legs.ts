import { randomInt } from 'node:crypto'
import type { EndedReason } from '../../media/protocol.ts'
import { noteFact } from '../kernel/store/after-commit.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { changeOf, forTenant, type Tenant, valuesOf } from '../kernel/tenancy.ts'
import { wake } from './steps/follow.ts'
import { before, isGoing, type LegStep, STEPS, type Step } from './steps/table.ts'
import type { ParticipantRow } from './tables.ts'

/** The type of the fact that a leg has ended, with its `Quality`. */
export const LEG_ENDED = 'leg ended'

/** Value of `leave_prompt`: heard before the call ends. */
const BUSY_TONE = 'busy-tone'

/** The call's own leg. */
export const mainLeg = (db: Db, tenant: Tenant, callId: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant)
    .select('participants')
    .selectAll()
    .where('call_id', '=', callId)
    .where('ring_id', 'is', null)
    .executeTakeFirst()

export const findLeg = (db: Db, tenant: Tenant, id: string): Promise<ParticipantRow | undefined> =>
  forTenant(db, tenant).find('participants', id)

/** A change of a leg: its next step with the fields of that step, and any other fields. */
export type LegChange = (Step | { step?: never }) & Partial<Omit<ParticipantRow, 'step'>>

/** A bug: a step was written that the table of steps does not allow. */
export class StepFault extends Error {
  constructor(legId: string, from: LegStep, to: LegStep) {
    super(`${legId}: the step \`${to}\` does not follow \`${from}\``)
  }
}

/**
 * The only place that writes a leg's step. After the commit, the commands of the step are sent. A step that the table does not allow is a bug
 * and throws. A leg on its way out stays so, whatever was decided meanwhile.
 */
export async function writeLeg(trx: Trx, tenant: Tenant, legId: string, decided: LegChange): Promise<void> {
  const { step } = decided
  const isNew = step !== undefined || decided.prompted === 0
  const change = isNew ? { ...decided, revision: randomInt(2 ** 31) } : decided
  const columns = Object.entries(change).flatMap(([column, value]) => (value === undefined ? [] : [column]))
  const build = (place: Place) => {
    const set = Object.fromEntries(columns.map(column => [column, place(`to ${column}`)]))
    // The type of the column prevents every other write.
    const update = changeOf(trx, 'participants', place).set(set as never)
    const allowed = step === undefined ? update : update.where('step', 'in', before(step))
    return allowed.returning(['id', 'call_id', 'node_id', 'step'])
  }
  const to = Object.fromEntries(Object.entries(change).map(([column, value]) => [`to ${column}`, value]))
  const name = `leg to ${step} ${columns}`
  const written = await rowOf(trx, name, build, { id: legId, ...to, ...valuesOf(tenant) })
  if (written !== undefined) {
    const { quality, left_at: at } = change
    if (quality != null) await noteFact(trx, { type: LEG_ENDED, object: JSON.parse(quality), tenant, at: at ?? '' })
    if (isNew && STEPS[written.step].sends.length > 0) wake(trx, written)
    return
  }
  if (step === undefined) return
  const leg = await findLeg(trx, tenant, legId)
  if (leg !== undefined && !isGoing(leg.step)) throw new StepFault(legId, leg.step, step)
}

/** Takes a leg on from the step whose command was sent, unless it has another step or call by now. Returns its current state. */
export const takeOn = (
  store: Store,
  { id, step, call_id, on_hold, organisation_id, livemode }: ParticipantRow,
  change: LegChange,
): Promise<ParticipantRow | undefined> =>
  store.transaction(async trx => {
    const tenant = { organisationId: organisation_id, livemode: livemode === 1 }
    const now = await findLeg(trx, tenant, id)
    // A hold that has changed meanwhile is still to be sent.
    const sent = now?.on_hold === on_hold ? change : { ...change, prompted: 0 }
    if (now?.step === step && now.call_id === call_id) await writeLeg(trx, tenant, id, sent)
    return findLeg(trx, tenant, id)
  })

/** Sets what a leg does next. An ended leg stays ended. */
export async function setLeg(trx: Trx, tenant: Tenant, legId: string, change: LegChange): Promise<void> {
  const leg = await findLeg(trx, tenant, legId)
  if (leg !== undefined && leg.step !== 'ended') await writeLeg(trx, tenant, legId, { prompted: 0, ...change })
}

export const hangUpLeg = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, { step: 'hanging_up', leave_reason: reason, leave_prompt: null })

/** Ends an answered caller who reaches nobody. For `busy` it hears the busy tone first, as from a telephone exchange. */
export const turnAway = (trx: Trx, tenant: Tenant, legId: string, reason: EndedReason): Promise<void> =>
  setLeg(trx, tenant, legId, {
    step: 'hanging_up',
    leave_reason: reason,
    leave_prompt: reason === 'busy' ? BUSY_TONE : null,
  })
