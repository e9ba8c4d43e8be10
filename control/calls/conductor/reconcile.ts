import { type LegSnapshot, type MediaSnapshot, NOT_PAUSED } from '../../../media/protocol.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { applyCapture, callOfTarget, directKeys, targetId } from '../pci.ts'
import { applyRecording, applyStream, endStream, loadLeg } from '../records.ts'
import { resumeSandboxLeg } from '../sandbox.ts'
import type { Conducting } from '../steps/follow.ts'
import type { CallRow } from '../tables.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import { closeSession } from './end-all.ts'
import { BY_FAULT, type CallFaults } from './faults.ts'
import {
  isRunning,
  runningLegs,
  runningPauses,
  runningRecordings,
  runningSessions,
  runningStreams,
} from './running-rows.ts'

interface ReconcilerDeps {
  store: Store
  now: () => string
  log: { warn(fields: object, message: string): void }
  conducting: Pick<Conducting, 'drive' | 'driveWaiting'>
  centre: CallCentrePort
  faults: CallFaults
  /** Starts the recording and the streams that an answered call's rows ask for. */
  resume: (call: CallRow, media: MediaPort) => Promise<void>
}

/** Legs that are reconciled at once. A leg whose commands hang blocks only its own place among them. */
const AT_ONCE = 50

/** After a reconnect: makes the rows and media agree again. Each call has a step and a transaction of its own; an exception ends only that call. */
export class Reconciler {
  readonly #deps: ReconcilerDeps

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
  }

  /** Every event up to the snapshot's number is committed. API requests wait until this is done. */
  async run(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    const legs = new Map(snapshot.legs.map(leg => [leg.legId, leg]))
    await this.#endLost(snapshot, legs, media)
    await atOnce(snapshot.legs, leg => this.#step(leg.legId, media, () => this.#resumeLeg(leg, media)))
    await this.#resumeAudio(snapshot, media)
  }

  /** The same for these legs only, whose last commands have an unknown outcome. */
  async recheck(snapshot: MediaSnapshot, legIds: ReadonlySet<string>, media: MediaPort): Promise<void> {
    const legs = new Map(snapshot.legs.map(leg => [leg.legId, leg]))
    const rooms = new Set(snapshot.rooms.map(room => room.roomId))
    await atOnce([...legIds], legId =>
      this.#step(legId, media, () => this.#settle(legId, legs.get(legId), rooms, media)),
    )
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
    // The next run dials what is still to be dialled.
    if (known === undefined || (leg === undefined && (known.step === 'ended' || known.step === 'to_dial'))) return
    if (leg === undefined) return this.#endUnknown(legId)
    const seated = (await loadLeg(store.db, legId))?.participant.session_call_id ?? null
    if (seated !== null && !rooms.has(seated)) {
      const sessions = (await runningSessions(store.db)).filter(({ id }) => id === seated)
      for (const session of sessions)
        await store.transaction(trx => closeSession(trx, session, { reason: null, at: now() }))
    }
    await this.#resumeLeg(leg, media)
  }

  /** Media does not have it: events were lost, or the command that was to create it never arrived. */
  async #endUnknown(legId: string): Promise<void> {
    const { store, now, centre, log } = this.#deps
    const step = (await loadLeg(store.db, legId))?.participant.step
    log.warn({ legId, step }, 'media does not know a running leg')
    await store.transaction(trx => centre.end(trx, legId, BY_FAULT, now()))
  }

  #step(legId: string | null, media: MediaPort | null, run: () => Promise<unknown>): Promise<void> {
    return this.#deps.faults.guard(legId, media, run)
  }

  /** Runs a step and a transaction for each of these. */
  async #each<T>(items: readonly T[], apply: (trx: Trx, item: T) => Promise<unknown>): Promise<void> {
    for (const item of items) await this.#step(null, null, () => this.#deps.store.transaction(trx => apply(trx, item)))
  }

  /** Ends what runs according to the rows and media does not have. */
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
      if (call === undefined) return
      await applyCapture(trx, call, { id: targetId(target), state }, at)
      await directKeys(trx, call)
    })
    await this.#endLostAttachments(snapshot, at)
    // Read before the first of them ends: others may be dialled in its place.
    const running = [...(await runningLegs(store.db)), ...(await centre.rungLegs())]
    for (const id of running) if (!legs.has(id)) await this.#step(id, media, () => this.#endUnknown(id))
    await this.#each([snapshot], (trx, taken) => centre.reconcile(trx, taken))
    const closed = (await runningSessions(store.db)).filter(({ id }) => !rooms.has(id))
    await this.#each(closed, (trx, session) => closeSession(trx, session, { reason: null, at }))
  }

  async #endLostAttachments(snapshot: MediaSnapshot, at: string): Promise<void> {
    const { db } = this.#deps.store
    const streams = new Map(snapshot.streams.map(stream => [stream.streamId, stream]))
    await this.#each(await runningStreams(db), async (trx, row) => {
      const known = streams.get(row.id)
      if (known !== undefined) await applyStream(trx, row, known, at)
      // One that is still `connecting` may be wanted but not started; `resume` starts it.
      else if (row.status !== 'connecting' || !(await isRunning(trx, row.call_id))) await endStream(trx, row, at)
    })
    const recordings = new Set(snapshot.recordings.map(recording => recording.recordingId))
    await this.#each(await runningRecordings(db), async (trx, { call_id: id }) => {
      if (!recordings.has(id) && !(await isRunning(trx, id))) await applyRecording(trx, id, null, at)
    })
  }

  /** A leg that waits for something that control was about to do. */
  async #resumeLeg(leg: LegSnapshot, media: MediaPort): Promise<void> {
    if (await this.#deps.centre.owns(leg.legId)) return
    const rows = await loadLeg(this.#deps.store.db, leg.legId)
    if (rows === null && (await resumeSandboxLeg(leg, media))) return
    if (rows === null || rows.call.ended_at !== null || rows.participant.step === 'ended') {
      await this.#turnAway(leg, rows?.call ?? null, media)
      return
    }
    const { participant, call } = rows
    // The move was carried out; its event is on its way.
    if (participant.session_call_id !== null && leg.roomId === participant.session_call_id) return
    if (participant.step === 'waiting' && call.room_id !== null) await this.#resumeWaiting(leg, call.room_id, media)
    else if (!leg.playing && !leg.collecting && (leg.state === 'incoming' || leg.state === 'answered')) {
      await this.#deps.conducting.drive(leg.legId, media)
    }
  }

  /** A moderator may have arrived meanwhile; otherwise the music goes on. */
  async #resumeWaiting(leg: LegSnapshot, roomId: string, media: MediaPort): Promise<void> {
    await this.#deps.conducting.driveWaiting(roomId, media)
    const still = await loadLeg(this.#deps.store.db, leg.legId)
    if (still?.participant.step === 'waiting' && !leg.playing) await this.#deps.conducting.drive(leg.legId, media)
  }

  /** It belongs to no call: it was refused, or its call has ended, and the command for that was lost. */
  async #turnAway(leg: LegSnapshot, call: CallRow | null, media: MediaPort): Promise<void> {
    const { legId } = leg
    if (leg.state === 'ended') return
    if (leg.state === 'incoming') {
      const [sipCode, reason] = [call?.sip_code ?? 404, call?.ended_reason ?? 'not_found']
      await media.request('leg.reject', { legId, sipCode, reason })
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
    await atOnce([...wanted], async callId => {
      const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
      if (call !== undefined && call.answered_at !== null && call.ended_at === null) {
        await this.#step(null, null, () => this.#deps.resume(call, media))
      }
    })
  }
}

/** Runs it for all of them, `AT_ONCE` at a time. Rejects with the first rejection. */
async function atOnce<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const lane = async (): Promise<void> => {
    for (const item of left) await run(item)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane))
}
