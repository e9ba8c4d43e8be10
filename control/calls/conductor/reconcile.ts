import type { EndedReason, LegSnapshot, MediaSnapshot } from '../../../media/protocol.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { applyCapture, callOfTarget, targetId } from '../pci.ts'
import { applyRecording, applyStream, endSession, endStream, loadLeg, tenantOf } from '../records.ts'
import { resumeSandboxLeg } from '../sandbox.ts'
import type { CallRow } from '../tables.ts'
import type { CallCentrePort, Conducting } from './call-centre-port.ts'
import type { CallFaults } from './faults.ts'

export interface ReconcilerDeps {
  store: Store
  now: () => string
  log: { warn(fields: object, message: string): void }
  conducting: Pick<Conducting, 'drive' | 'driveWaiting'>
  centre: CallCentrePort
  faults: CallFaults
  /** Starts the recording and the streams that an answered call's rows ask for. */
  resume: (call: CallRow, media: MediaPort) => Promise<void>
}

const LOST = { reason: 'internal_error' as const, sipCode: null, quality: null }

const NOT_PAUSED = {
  paused: false,
  reason: null,
  pausedAt: null,
  resumesAt: null,
  destinationLegId: null,
  maskDtmf: false,
}

/**
 * After a reconnect: what the rows say and what media does are made one again. Each call in a step and a transaction of its own: one
 * that throws ends alone.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
  }

  /** Every event up to the snapshot's number is committed; requests of the API wait until this is done. */
  async run(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    const legs = new Map(snapshot.legs.map(leg => [leg.legId, leg]))
    await this.#endLost(snapshot, legs, media)
    for (const leg of snapshot.legs) await this.#step(leg.legId, media, () => this.#resumeLeg(leg, media))
    await this.#resumeAudio(snapshot, media)
  }

  /** The same for these legs alone, of which nobody knows how far their last commands came. */
  async recheck(snapshot: MediaSnapshot, legIds: ReadonlySet<string>, media: MediaPort): Promise<void> {
    const legs = new Map(snapshot.legs.map(leg => [leg.legId, leg]))
    const rooms = new Set(snapshot.rooms.map(room => room.roomId))
    for (const legId of legIds) {
      const leg = legs.get(legId)
      await this.#step(legId, media, () => this.#settle(legId, leg, rooms, media))
    }
    await this.#resumeAudio(snapshot, media)
  }

  async #settle(
    legId: string,
    leg: LegSnapshot | undefined,
    rooms: ReadonlySet<string>,
    media: MediaPort,
  ): Promise<void> {
    const { store, now } = this.#deps
    const known = await store.db.selectFrom('participants').select('step').where('id', '=', legId).executeTakeFirst()
    // What is still to be dialled is dialled by the next run.
    if (known === undefined || (leg === undefined && (known.step === 'ended' || known.step === 'to_dial'))) return
    if (leg === undefined) return this.#endUnknown(legId)
    const seated = (await loadLeg(store.db, legId))?.participant.session_call_id ?? null
    if (seated !== null && !rooms.has(seated)) {
      const sessions = (await runningSessions(store.db)).filter(({ id }) => id === seated)
      for (const session of sessions) await store.transaction(trx => closeSession(trx, session, null, now()))
    }
    await this.#resumeLeg(leg, media)
  }

  /** Media does not have it: events were lost, or the command that was to make it never arrived. */
  async #endUnknown(legId: string): Promise<void> {
    const { store, now, centre, log } = this.#deps
    log.warn({ legId }, 'media does not know a running leg')
    await store.transaction(trx => centre.end(trx, legId, LOST, now()))
  }

  #step(legId: string | null, media: MediaPort | null, run: () => Promise<unknown>): Promise<void> {
    return this.#deps.faults.guard(legId, media, run)
  }

  /** A step and a transaction for each of these. */
  async #each<T>(items: readonly T[], apply: (trx: Trx, item: T) => Promise<unknown>): Promise<void> {
    for (const item of items) {
      await this.#step(null, null, () => this.#deps.store.transaction(trx => apply(trx, item)))
    }
  }

  /** Ends what the rows hold as running and media does not have. */
  async #endLost(snapshot: MediaSnapshot, legs: Map<string, LegSnapshot>, media: MediaPort): Promise<void> {
    const { store, now, centre } = this.#deps
    const at = now()
    const rooms = new Set(snapshot.rooms.map(room => room.roomId))
    const pauses = snapshot.captures.filter(({ state }) => state.paused)
    const paused = new Set(pauses.map(({ target }) => targetId(target)))
    const over = (await runningPauses(store.db)).filter(({ pauseId }) => !paused.has(pauseId))
    await this.#each(over, (trx, { call, pauseId: id }) => applyCapture(trx, call, { id, state: NOT_PAUSED }, at))
    await this.#each(pauses, async (trx, { target, state }) => {
      const call = await callOfTarget(trx, target)
      if (call !== undefined) await applyCapture(trx, call, { id: targetId(target), state }, at)
    })
    await this.#endLostAttachments(snapshot, at)
    for (const id of await runningLegs(store.db)) {
      if (!legs.has(id)) await this.#step(id, media, () => this.#endUnknown(id))
    }
    for (const id of await centre.rungLegs()) {
      if (!legs.has(id)) await this.#step(id, media, () => this.#endUnknown(id))
    }
    await this.#each([snapshot], (trx, taken) => centre.reconcile(trx, taken))
    const closed = (await runningSessions(store.db)).filter(({ id }) => !rooms.has(id))
    await this.#each(closed, (trx, session) => closeSession(trx, session, null, at))
  }

  async #endLostAttachments(snapshot: MediaSnapshot, at: string): Promise<void> {
    const { db } = this.#deps.store
    const streams = new Map(snapshot.streams.map(stream => [stream.streamId, stream]))
    await this.#each(await runningStreams(db), async (trx, row) => {
      const known = streams.get(row.id)
      if (known !== undefined) await applyStream(trx, row, known, at)
      // One that is still `connecting` may be wanted and not started; `resume` starts it.
      else if (row.status !== 'connecting' || !(await isRunning(trx, row.call_id))) await endStream(trx, row, at)
    })
    const recordings = new Set(snapshot.recordings.map(recording => recording.recordingId))
    await this.#each(await runningRecordings(db), async (trx, { call_id: id }) => {
      if (!recordings.has(id) && !(await isRunning(trx, id))) await applyRecording(trx, id, null, at)
    })
  }

  /** A leg that waits for something which control was about to do. */
  async #resumeLeg(leg: LegSnapshot, media: MediaPort): Promise<void> {
    if (await this.#deps.centre.owns(leg.legId)) return
    const rows = await loadLeg(this.#deps.store.db, leg.legId)
    if (rows === null && (await resumeSandboxLeg(leg, media))) return
    if (rows === null || rows.call.ended_at !== null) {
      await this.#turnAway(leg, rows?.call ?? null, media)
      return
    }
    const { participant, call } = rows
    // The move was carried out; the event that tells of it is on its way.
    if (participant.session_call_id !== null && leg.roomId === participant.session_call_id) return
    if (participant.step === 'waiting' && call.room_id !== null) await this.#resumeWaiting(leg, call.room_id, media)
    else if (!leg.playing && !leg.collecting && (leg.state === 'incoming' || leg.state === 'answered')) {
      await this.#deps.conducting.drive(leg.legId, media)
    }
  }

  /** A moderator may have come meanwhile; else the music goes on. */
  async #resumeWaiting(leg: LegSnapshot, roomId: string, media: MediaPort): Promise<void> {
    await this.#deps.conducting.driveWaiting(roomId, media)
    const still = await loadLeg(this.#deps.store.db, leg.legId)
    if (still?.participant.step === 'waiting' && !leg.playing) await this.#deps.conducting.drive(leg.legId, media)
  }

  /** Nobody's: it was refused, or its call has ended, and the command for that was lost. */
  async #turnAway(leg: LegSnapshot, call: CallRow | null, media: MediaPort): Promise<void> {
    const { legId } = leg
    if (leg.state === 'ended') return
    if (leg.state === 'incoming') {
      const sipCode = call?.sip_code ?? 404
      await media.request('leg.reject', {
        legId,
        sipCode,
        retryAfterS: null,
        reason: call?.ended_reason ?? 'not_found',
      })
    } else await media.request('leg.hangup', { legId, reason: 'internal_error' })
  }

  async #resumeAudio(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    const streams = new Set(snapshot.streams.map(stream => stream.streamId))
    const recordings = new Set(snapshot.recordings.map(recording => recording.recordingId))
    const { db } = this.#deps.store
    const wanted = new Set([
      ...(await runningStreams(db))
        .filter(row => row.status === 'connecting' && !streams.has(row.id))
        .map(row => row.call_id),
      ...(await runningRecordings(db)).filter(row => !recordings.has(row.call_id)).map(row => row.call_id),
    ])
    for (const callId of wanted) {
      const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
      if (call !== undefined && call.answered_at !== null && call.ended_at === null) {
        await this.#step(null, null, () => this.#deps.resume(call, media))
      }
    }
  }
}

/** Does one step of many, which ends this leg; null: it is none's. */
export type EndStep = (legId: string | null, run: (trx: Trx) => Promise<unknown>) => Promise<unknown>

/**
 * What ran at the node that `db` speaks for is over, every call, stream, pause and recording: since `at`, or since it began, where
 * that was later.
 */
export async function endAll(
  db: Db,
  centre: CallCentrePort,
  { reason, at }: { reason: EndedReason; at: string },
  step: EndStep,
): Promise<void> {
  for (const { call, pauseId: id } of await runningPauses(db)) {
    await step(null, trx => applyCapture(trx, call, { id, state: NOT_PAUSED }, at))
  }
  for (const row of await runningStreams(db)) await step(null, trx => endStream(trx, row, at))
  for (const { call_id } of await runningRecordings(db)) await step(null, trx => applyRecording(trx, call_id, null, at))
  for (const id of await runningLegs(db, reason === 'node_lost')) {
    const call = (await loadLeg(db, id))?.call
    const end = { reason, sipCode: null, quality: null }
    await step(id, trx => centre.end(trx, id, end, call === undefined ? at : notBefore(call, at)))
  }
  await step(null, trx => centre.mediaDied(trx, { reason, at }))
  for (const session of await runningSessions(db)) {
    await step(null, trx => closeSession(trx, session, reason, notBefore(session, at)))
  }
}

/** A call may have begun after its node was last seen. */
function notBefore({ created, answered_at }: CallRow, at: string): string {
  const begun = answered_at ?? created
  return begun > at ? begun : at
}

/** A session whose room was never opened leaves no trace. */
async function closeSession(trx: Trx, session: CallRow, reason: EndedReason | null, at: string): Promise<void> {
  if (session.status !== 'queued') return endSession(trx, session, { reason, at })
  const scoped = forTenant(trx, tenantOf(session))
  await scoped.delete('calls').where('id', '=', session.id).execute()
  await scoped.update('participants').set({ session_call_id: null }).where('session_call_id', '=', session.id).execute()
}

// Over all tenants: the media process serves them all. Of this node: others have their own.

/** `isGone`: nobody will dial what is still to be dialled. */
async function runningLegs(db: Db, isGone = false): Promise<string[]> {
  const rows = await db
    .selectFrom('participants')
    .innerJoin('calls', 'calls.id', 'participants.call_id')
    .select('participants.id')
    .where('calls.ended_at', 'is', null)
    .where('participants.node_id', '=', nodeOf(db))
    .where('participants.ring_id', 'is', null)
    // What is still to be dialled, media cannot know.
    .where('participants.step', 'not in', isGone ? ['ended'] : ['ended', 'to_dial'])
    .orderBy('participants.id')
    .execute()
  return rows.map(row => row.id)
}

const runningSessions = (db: Db) =>
  db
    .selectFrom('calls')
    .selectAll()
    .where('node_id', '=', nodeOf(db))
    .where('ended_at', 'is', null)
    .where('kind', '=', 'conference')
    .execute()

const runningStreams = (db: Db) =>
  db
    .selectFrom('media_streams')
    .innerJoin('calls', 'calls.id', 'media_streams.call_id')
    .selectAll('media_streams')
    .where('calls.node_id', '=', nodeOf(db))
    .where('media_streams.ended_reason', 'is', null)
    .orderBy('media_streams.id')
    .execute()

const runningRecordings = (db: Db) =>
  db
    .selectFrom('recordings')
    .innerJoin('calls', 'calls.id', 'recordings.call_id')
    .select('recordings.call_id')
    .where('calls.node_id', '=', nodeOf(db))
    .where('recordings.status', '=', 'recording')
    .execute()

async function runningPauses(db: Db): Promise<{ call: CallRow; pauseId: string }[]> {
  const rows = await db
    .selectFrom('calls')
    .innerJoin('capture_pauses', 'capture_pauses.call_id', 'calls.id')
    .selectAll('calls')
    .select('capture_pauses.id as pause_id')
    .where('calls.node_id', '=', nodeOf(db))
    .orderBy('capture_pauses.id')
    .execute()
  return rows.map(({ pause_id: pauseId, ...call }) => ({ call, pauseId }))
}

const isRunning = async (db: Db, callId: string): Promise<boolean> => {
  const call = await db.selectFrom('calls').select('ended_at').where('id', '=', callId).executeTakeFirst()
  return call !== undefined && call.ended_at === null
}
