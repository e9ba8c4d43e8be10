import { type Failure, isFailure, isUndecided } from '../../../media/protocol.ts'
import { type Place, rowBy, run } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { changeOf, tenantOf, valuesOf } from '../../kernel/tenancy.ts'
import { Turns } from '../../kernel/turns.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { ALL_STEPS, type LegStep, mayRing, STEPS } from '../steps/table.ts'
import type { ParticipantRow } from '../tables.ts'
import type { CallFaults } from './faults.ts'
import type { Sender, Senders, Sent } from './sender.ts'

interface ConductorDeps {
  store: Store
  log: { warn(fields: object, message: string): void }
  faults: CallFaults
  /** Answers a caller that is still ringing. */
  answer: (leg: ParticipantRow, media: MediaPort) => Promise<Sent>
}

/** Maximum number of due legs per query. */
const MAX_DUE = 500

/**
 * Sends what the table of steps says, for every leg of every call. Commands of one call are sent in order, its legs one after the other.
 * Different calls are served in parallel, so that none waits for another. An exception ends its call and no other.
 */
export class Conductor {
  readonly #deps: ConductorDeps
  readonly #senders: ReadonlyMap<LegStep, Sender<LegStep>>
  /** By call. */
  readonly #turns = new Turns()
  /** Legs whose turn has not come yet. Each is driven only once. */
  readonly #waiting = new Map<string, Promise<void>>()
  /** Legs to be retried soon: media could not do it, or it takes a while. */
  #again = new Set<string>()

  constructor(deps: ConductorDeps, senders: Senders<'call'> & Senders<'room'> & Senders<'queue'>) {
    this.#deps = deps
    this.#senders = new Map(Object.entries(senders) as [LegStep, Sender<LegStep>][])
  }

  /** Sends the commands of a leg's step, in the turn of its call. */
  async drive(legId: string, media: MediaPort): Promise<void> {
    const { db } = this.#deps.store
    const leg = await findLeg(db, legId)
    if (leg?.node_id === nodeOf(db)) await this.#take(leg, media)
  }

  /** Retries legs for which media could not do something. To be called regularly. */
  driveAgain(media: MediaPort): void {
    const again = this.#again
    this.#again = new Set()
    for (const legId of again)
      void this.#deps.faults.guard(legId, media, () => this.drive(legId, media)).catch(() => {})
  }

  /** Sends what is still pending in the rows, for all calls of this node. */
  async driveDue(media: MediaPort): Promise<void> {
    const due = await legsDue(this.#deps.store.db)
    await Promise.all(due.map(leg => this.#take(leg, media)))
  }

  /** Runs something for a leg in the turn of its call. */
  inTurn({ id, call_id }: ParticipantRow, media: MediaPort, act: () => Promise<unknown>): Promise<void> {
    return this.#turns.take(call_id, () => this.#deps.faults.guard(id, media, act))
  }

  /** Resolves when nothing is being sent. */
  idle(): Promise<void> {
    return this.#turns.idle()
  }

  #take(leg: ParticipantRow, media: MediaPort): Promise<void> {
    const { id } = leg
    const waiting = this.#waiting.get(id)
    if (waiting !== undefined) return waiting
    let hasBegun = false
    const turn = this.inTurn(leg, media, async () => {
      hasBegun = true
      this.#waiting.delete(id)
      await this.#send(id, media)
    })
    if (!hasBegun) this.#waiting.set(id, turn)
    return turn
  }

  /** Sends the commands of a leg's current step. */
  async #send(legId: string, media: MediaPort): Promise<void> {
    const leg = await findLeg(this.#deps.store.db, legId)
    const sender = leg === undefined ? undefined : this.#senders.get(leg.step)
    if (leg === undefined || sender === undefined || !isDue(leg)) return
    const sent = (await release(leg, media)) ?? (await this.#answerFirst(leg, media)) ?? (await sender(leg, media))
    if (STEPS[leg.step].until === 'left' || (sent !== null && isSentUntilHeard(leg))) this.#again.add(legId)
    if (sent === null) return this.#heard(leg)
    // A command without a timely answer is undecided: the next snapshot tells.
    if (!isUndecided(sent)) void this.#warn(leg, sent, media).catch(() => {})
  }

  /** Unless its party has left meanwhile, whose end came before that reply. Its turn does not wait: events may wait for turns. */
  async #warn({ id: legId, step }: ParticipantRow, sent: Failure, media: MediaPort): Promise<void> {
    const { store, log } = this.#deps
    await media.settled()
    if ((await findLeg(store.db, legId))?.step !== 'ended') log.warn({ legId, step, ...sent }, 'media could not do it')
  }

  /** Answers first, if the caller is led to something that needs an answer, or has waited too long for one. */
  async #answerFirst(leg: ParticipantRow, media: MediaPort): Promise<Sent> {
    const rings = leg.unanswered === null || (mayRing(leg.step) && leg.unanswered !== 'now')
    return rings || leg.step === 'hanging_up' ? null : this.#deps.answer(leg, media)
  }

  /** Notes that the leg's audio is as its step and its hold want it. */
  async #heard(leg: ParticipantRow): Promise<void> {
    if (!isSentUntilHeard(leg)) return
    const { db } = this.#deps.store
    const { id, revision } = leg
    // Another revision is still to be sent.
    const build = (place: Place) =>
      changeOf(db, 'participants', place).set({ prompted: 1 }).where('revision', '=', place('revision'))
    await run(db, 'prompted', build, { id, revision, ...valuesOf(tenantOf(leg)) })
  }
}

/** Something may be heard before the hang-up; once it has been heard, media hangs up. */
const isSentUntilHeard = ({ step, leave_prompt }: ParticipantRow): boolean =>
  STEPS[step].until === 'heard' || (STEPS[step].until === 'left' && leave_prompt !== null)

const isDue = (leg: ParticipantRow): boolean => !isSentUntilHeard(leg) || leg.prompted === 0

/** Tells media that a leg is off hold, or on hold with music where its step plays something to it. A leg that never was on hold needs neither. */
async function release({ id: legId, step, on_hold }: ParticipantRow, media: MediaPort): Promise<Failure | null> {
  const held = on_hold === 1
  if (on_hold === null || STEPS[step].until === 'left' || (held && STEPS[step].until !== 'heard')) return null
  const reply = await media.request('leg.hold', { legId, held, sources: held ? [{ kind: 'music' }] : [] })
  return isFailure(reply) ? reply : null
}

/** Over all tenants: media does not know tenants. */
const findLeg = (db: Db, id: string): Promise<ParticipantRow | undefined> => rowBy(db, 'participants', { id })

const sent = (until: 'heard' | 'left'): LegStep[] => ALL_STEPS.filter(step => STEPS[step].until === until)

const legsDue = (db: Db): Promise<ParticipantRow[]> =>
  db
    .selectFrom('participants')
    .selectAll()
    .where('node_id', '=', nodeOf(db))
    .where(eb =>
      eb.or([
        eb.and([eb('step', 'in', sent('left')), eb.or([eb('leave_prompt', 'is', null), eb('prompted', '=', 0)])]),
        eb.and([eb('step', 'in', sent('heard')), eb('prompted', '=', 0)]),
      ]),
    )
    .orderBy('id')
    .limit(MAX_DUE)
    .execute()
