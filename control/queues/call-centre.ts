import { LRUCache } from 'lru-cache'
import { atMost, type EndedReason, type MediaSnapshot } from '../../media/protocol.ts'
import type { Led } from '../assistants/actions/reach.ts'
import type { CallCentrePort } from '../calls/conductor/call-centre-port.ts'
import { CallFaults } from '../calls/conductor/faults.ts'
import { DIALLED, RUNNING } from '../calls/conductor/running-rows.ts'
import type { Senders } from '../calls/conductor/sender.ts'
import { hangUpLeg, writeLeg } from '../calls/legs.ts'
import { endedBy, endLeg, loadLeg } from '../calls/records.ts'
import type { LegEnd } from '../calls/steps/decide.ts'
import type { Of } from '../calls/steps/event-handler.ts'
import { type Conducting, decideAnew, keepOf } from '../calls/steps/follow.ts'
import { stepsOf } from '../calls/steps/table.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import type { Cause } from '../kernel/events/log.ts'
import { causedBy } from '../kernel/store/after-commit.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import { isStoreOutage } from '../kernel/store/faults.ts'
import { nodeOf } from '../kernel/store/node.ts'
import { StoreOutage } from '../kernel/store/outage.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import { closeSoftphones } from './agents/shut-out.ts'
import { callAnswered, callEnded } from './call-events.ts'
import { type Handling, holdByPhone, resumeSupervision } from './call-handling.ts'
import type { CallCentreParts, Program, Step } from './deps.ts'
import { doDuties } from './duties.ts'
import { ringAnswered, ringFailed, ringLegEnded } from './ring-events.ts'
import { tellHearers } from './ringing/bridge.ts'
import { heardByWhoCalls, heardEarly } from './ringing/early-media.ts'
import { takeOver } from './ringing/purposes.ts'
import { mainRing } from './ringing/rings.ts'
import { DecisionFault, round, tenantsWaiting } from './ringing/rounds.ts'
import { queueSteps } from './ringing/steps.ts'
import { refuseWhenShut } from './shut.ts'
import type { RingRow } from './tables.ts'
import { asksFirst, leadTo, ringParty, type Target, type Then } from './targets.ts'
import { onReferAsked } from './transfers/asked.ts'
import { onReferProgress, onReplaced, resumeTransfers } from './transfers/progress.ts'
import { transferRingRings } from './transfers/records.ts'
import { pressWhileWaiting } from './wait-keys.ts'
import { joinQueue } from './waiting-calls.ts'

/** Maximum number of rounds per run. One decision may lead to the next, such as an overflow into another queue. */
const MAX_ROUNDS = 5

/** Maximum number of calls and callbacks left out because their turn threw. Beyond that, the oldest are tried again. */
const MAX_APART = 1000

/**
 * Everything between a call and the people who answer it: queues, agents, rings, callbacks. An event changes rows in a transaction; the
 * commands that follow from it are sent after the commit, and `run` then decides again.
 */
export class CallCentre implements CallCentrePort {
  readonly #deps: CallCentreParts
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  #conducting: Conducting | null = null
  readonly steps: Senders<'queue'>
  readonly #outage: StoreOutage
  readonly #apart = new LRUCache<string, true>(atMost(MAX_APART))
  /** Calls that are being ended for faults. */
  readonly #ending = new Set<Promise<void>>()
  readonly faults: CallFaults

  constructor(deps: CallCentreParts) {
    this.#deps = deps
    const { store, log, now } = deps
    this.faults = new CallFaults({ store, log, now: () => now().toISOString(), centre: this })
    this.#outage = new StoreOutage(deps.log)
    this.steps = queueSteps(this.#deps, async (leg, reason) => {
      const end = { reason, sipCode: null, quality: null }
      await store.transaction(trx => this.end(trx, leg.id, end, now().toISOString()))
    })
  }

  /** Leads an answered call to a target, in this transaction. For programs that have finished with it. */
  leadTo(trx: Trx, tenant: Tenant, led: Led, target: Target): Promise<void> {
    return leadTo(this.#deps, trx, tenant, led, target)
  }

  async leadOn(trx: Trx, tenant: Tenant, led: Led, then: string): Promise<void> {
    const { target, purpose } = JSON.parse(then) as Then
    keepOf(trx, led.callId)
    await leadTo(this.#deps, trx, tenant, led, target, purpose)
  }

  /** A program gives its call to another one. True: the recording announcement or question comes first, and then leads the call on. */
  asksFirst(trx: Trx, tenant: Tenant, led: Led, target: Program): Promise<boolean> {
    return asksFirst(this.#deps, trx, tenant, led, { target, purpose: 'direct' })
  }

  /** Rings somebody for a call that a program leads, in this transaction; the program is notified of the result. */
  async ringLed(
    trx: Trx,
    tenant: Tenant,
    {
      ringId,
      target,
      ...by
    }: Pick<Parameters<typeof ringParty>[3], 'callId' | 'target' | 'at' | 'payment' | 'userToUser'> & {
      ringId: string
    },
  ): Promise<void> {
    const { callId, at } = by
    const ring = await ringParty(this.#deps, trx, tenant, { id: ringId, target, purpose: 'led', ...by })
    if (ring !== null) return
    const devices = target.type === 'user' ? await this.#deps.devicesOf(trx, tenant, target.id, new Date(at)) : null
    const reason = devices?.length === 0 ? 'no_answer' : 'busy'
    await this.#deps.led?.told(trx, tenant, callId, { kind: 'ring_ended', ringId, reason, talked: false })
  }

  /** Whoever was rung for a program now talks with its caller as any agent does. */
  async putThrough(trx: Trx, tenant: Tenant, { callId, legId, at }: Led): Promise<void> {
    const ring = await mainRing(trx, tenant, callId)
    if (ring !== undefined) await takeOver(trx, tenant, ring, { at })
    // The rung party has just hung up.
    else await hangUpLeg(trx, tenant, legId, 'agent_hangup')
  }

  conductedBy(conducting: Conducting): void {
    this.#conducting = conducting
  }

  /** An operation of the API on a call: one transaction, then the commands that follow from it. */
  handle<T>(by: Ordered, act: (handling: Handling) => Promise<T>): Promise<T> {
    const { store, now } = this.#deps
    return store.transaction(trx => {
      decideAnew(trx)
      const { request = null, ...call } = by
      return causedBy(trx, request, () => act({ deps: this.#deps, trx, ...call, at: now().toISOString() }))
    })
  }

  /** Applies a changed mode to a supervisor who is already in the call. */
  async changeSupervision(media: MediaPort, ring: RingRow): Promise<void> {
    await tellHearers(this.#deps.store.db, media, ring)
  }

  // ------------------------------------------------------------------ what media tells

  /** `own`: handles the event if the leg is a call's own. */
  async onAnswered(trx: Trx, { body, at }: Of<'leg.answered'>, own: () => Promise<void>): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg === undefined) return own()
    if (leg.ring_id !== null) {
      await ringAnswered(this.#deps, trx, leg, at)
      return decideAnew(trx)
    }
    await own()
    if (await callAnswered(this.#deps, trx, leg, at)) decideAnew(trx)
  }

  async onEnded(trx: Trx, { body, at }: Of<'leg.ended'>, own: () => Promise<void>): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg === undefined) return own()
    await causedBy(trx, endedBy(leg, body.reason), async () => {
      if (leg.ring_id !== null) {
        await ringLegEnded(this.#deps, trx, leg, { ...body, quality: JSON.stringify(body.quality) }, at)
        return decideAnew(trx)
      }
      await own()
      if (await callEnded(this.#deps, trx, leg, body, at)) decideAnew(trx)
    })
  }

  async onKey(trx: Trx, { body, at }: Of<'leg.dtmf'>, own: () => Promise<void>): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg === undefined || leg.ring_id !== null) return
    await own()
    if (leg.step !== 'queued' || body.masked) return
    if (await pressWhileWaiting(this.#deps, trx, tenantOf(leg), { leg, key: body.key, at })) decideAnew(trx)
  }

  async onRinging(trx: Trx, { body, at }: Of<'leg.ringing'>): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg?.ring_id != null) await transferRingRings(trx, leg.ring_id, at)
    else if (leg !== undefined) await heardByWhoCalls(trx, tenantOf(leg), leg, null)
  }

  async onHeld(trx: Trx, { body, at }: Of<'leg.held' | 'leg.resumed'>, isHeld: boolean): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg === undefined) return
    const handling = { deps: this.#deps, trx, tenant: tenantOf(leg), callId: leg.call_id, at }
    await holdByPhone(handling, leg.id, isHeld)
  }

  onReferAsked(trx: Trx, event: Of<'leg.refer_asked'>): Promise<void> {
    return onReferAsked(this.#deps, trx, event)
  }

  async onReferProgress(trx: Trx, event: Of<'leg.refer_progress'>): Promise<void> {
    await onReferProgress(trx, event)
    decideAnew(trx)
  }

  onReplaced(trx: Trx, event: Of<'leg.replaced'>): Promise<void> {
    return onReplaced(trx, event)
  }

  async resume(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    await resumeTransfers(this.#deps, snapshot, media)
    await resumeSupervision(this.#deps.store.db, media)
  }

  async onEarlyMedia(trx: Trx, { body }: Of<'leg.early_media'>): Promise<void> {
    const leg = await findLeg(trx, body.legId)
    if (leg !== undefined) await heardEarly(trx, leg, body.isHeard)
  }

  async beginUnanswered(...[trx, tenant, call]: Parameters<CallCentrePort['beginUnanswered']>): Promise<void> {
    const { target, targetId, ...led } = call
    if (target === 'queue') await joinQueue(trx, tenant, { ...led, queueId: targetId })
    else await leadTo(this.#deps, trx, tenant, led, { type: 'user', id: targetId })
    decideAnew(trx)
  }

  refuses(...[trx, tenant, call]: Parameters<CallCentrePort['refuses']>): Promise<boolean> {
    return refuseWhenShut(trx, tenant, call)
  }

  /** Runs `own` unless the leg was rung for a call. */
  async ofOwn(trx: Trx, legId: string, own: () => Promise<void>): Promise<void> {
    const leg = await findLeg(trx, legId)
    if (leg === undefined || leg.ring_id === null) await own()
  }

  /** Ends a leg that media does not have. Who has called nobody yet stays to be dialled, unless somebody was there who waited for that. */
  async end(trx: Trx, legId: string, end: LegEnd, at: string): Promise<void> {
    const leg = await findLeg(trx, legId)
    if (leg === undefined || leg.step === 'ended') return
    if (end.isUnsent && leg.dial !== null && (await mainRing(trx, tenantOf(leg), leg.call_id)) === undefined) {
      return leg.step === 'dialing' ? writeLeg(trx, tenantOf(leg), legId, { step: 'to_dial' }) : undefined
    }
    await causedBy(trx, endedBy(leg, end.reason), async () => {
      if (leg.ring_id !== null) return ringLegEnded(this.#deps, trx, leg, end, at)
      const rows = await loadLeg(trx, legId)
      if (rows !== null) await endLeg(trx, rows, end, at)
      await callEnded(this.#deps, trx, leg, end, at)
    })
  }

  /** Whether only the call centre may resume the leg: it was rung for a call, or its step is one of the call centre's. */
  async owns(legId: string): Promise<boolean> {
    const leg = await findLeg(this.#deps.store.db, legId)
    if (leg === undefined || leg.step === 'ended') return false
    return leg.ring_id !== null || OWN_STEPS.includes(leg.step)
  }

  async rungLegs(): Promise<string[]> {
    const { db } = this.#deps.store
    const rung = db.selectFrom('participants').select('id').where('ring_id', 'is not', null)
    const here = rung.where('node_id', '=', nodeOf(db)).where('step', 'in', DIALLED).orderBy('id')
    return (await here.execute()).map(leg => leg.id)
  }

  async reconcile(trx: Trx, snapshot: MediaSnapshot): Promise<void> {
    const silent = snapshot.legs.filter(leg => !leg.playing).map(leg => leg.legId)
    if (silent.length === 0) return
    const waiting = trx
      .updateTable('participants')
      .set({ prompted: 0 })
      .where('step', 'in', ['queued', 'calling', 'hanging_up'])
    await waiting.where('id', 'in', silent).execute()
  }

  /** The media process has died, and its calls have been ended: ends this node's rings and their legs. */
  async mediaDied(trx: Trx, { reason, at }: { reason: EndedReason; at: string }): Promise<void> {
    const rings = trx.selectFrom('rings').selectAll().where('node_id', '=', nodeOf(trx)).orderBy('id')
    for (const ring of await rings.execute()) await ringFailed(this.#deps, trx, ring, reason, at)
    await trx.deleteFrom('call_transfers').where('node_id', '=', nodeOf(trx)).execute()
    const rung = trx.selectFrom('participants').selectAll().where('ring_id', 'is not', null)
    const running = rung.where('node_id', '=', nodeOf(trx)).where('step', 'in', RUNNING).orderBy('id')
    for (const leg of await running.execute()) {
      await writeLeg(trx, tenantOf(leg), leg.id, { step: 'ended', left_at: at })
    }
  }

  // ------------------------------------------------------------------ runs

  /**
   * Takes all decisions that are due. Runs do not overlap: however many are requested during one, a single run follows. It does not wait for media.
   */
  run(media: MediaPort): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = null
      this.#running = this.#runOnce(media).catch((error: unknown) => {
        if (!this.#outage.note(error)) this.#deps.log.warn({ err: error }, 'the queues could not be served')
      })
      return this.#running
    })
    return this.#next
  }

  /** Resolves when no run is under way, and nothing is being sent. */
  async idle(): Promise<void> {
    await (this.#next ?? this.#running)
    await Promise.all(this.#ending)
    await this.#conducting?.idle()
  }

  async #runOnce(media: MediaPort): Promise<void> {
    const { store, now } = this.#deps
    const at = now()
    const { faults } = this
    const step: Step = async (callId, run) => {
      try {
        await store.transaction(run)
      } catch (error) {
        if (isStoreOutage(error)) throw error
        await this.#blame(callId, media, error)
      }
    }
    await doDuties(store.db, at, media.waitingSince, step, (trx, ring, reason) =>
      ringFailed(this.#deps, trx, ring, reason, at.toISOString()),
    )
    await faults.guard(null, null, async () => this.#deps.followDevices?.(store.db, at, step))
    for (const tenant of await tenantsWaiting(store.db, at.toISOString())) {
      await faults.guard(null, null, () => this.#rounds(tenant, at, media))
    }
    this.#conducting?.driveAgain(media)
    await faults.guard(null, null, () => closeSoftphones(store, at))
    this.#outage.over()
  }

  /**
   * Decides for an organisation until nothing is left to decide. A call or callback whose turn throws is set apart (a call ends), and
   * the round is repeated.
   */
  async #rounds(tenant: Tenant, now: Date, media: MediaPort): Promise<void> {
    const { store } = this.#deps
    for (let rounds = 0; rounds < MAX_ROUNDS; ) {
      try {
        const decided = await store.transaction(trx =>
          round(this.#deps, trx, tenant, { now, apart: this.#apart, isDraining: media.isDraining }),
        )
        if (decided === 0) return
        rounds++
      } catch (error) {
        if (!(error instanceof DecisionFault)) throw error
        this.#apart.set(error.of, true)
        await this.#blame(error.of, media, error)
      }
    }
  }

  /** Ends a call after an exception. The run does not wait for that. */
  async #blame(callId: string | null, media: MediaPort, error: unknown): Promise<void> {
    const legId = callId === null ? null : await ownLegOf(this.#deps.store.db, callId)
    const ended = this.faults.end(legId, legId === null ? null : media, error).catch((another: unknown) => {
      this.#deps.log.error({ err: another, legId }, 'a call could not be ended for a fault')
    })
    this.#ending.add(ended)
    void ended.finally(() => this.#ending.delete(ended))
  }
}

/** The call's own leg; null: it has none. */
async function ownLegOf(db: Db, callId: string): Promise<string | null> {
  const legs = db.selectFrom('participants').select('id').where('call_id', '=', callId).where('ring_id', 'is', null)
  return (await legs.where('step', '!=', 'ended').executeTakeFirst())?.id ?? null
}

/** An operation on a call, and the request for it; absent: a page asks. */
type Ordered = Pick<Handling, 'tenant' | 'callId'> & { request?: Cause }

/** The next run hangs up every leg that is to be hung up. */
const OWN_STEPS: readonly string[] = [...stepsOf('queue'), 'hanging_up']

/** Searches all tenants, since events of media do not name one. */
const findLeg = (db: Db, legId: string): Promise<ParticipantRow | undefined> => rowBy(db, 'participants', { id: legId })
