import { isFailure, isUndecided, type PlaySource, type RoomCapture } from '../../../media/protocol.ts'
import { newId } from '../../kernel/ids.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { Turns } from '../../kernel/turns.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { announced } from '../announced.ts'
import { awaitsConsent, callCaptureOf, encryptsRecordings, roomCapture } from '../capture/call-capture.ts'
import { CONSENT, unheardCollect } from '../capture/consent-question.ts'
import { withStreams } from '../capture/first-streams.ts'
import type { StreamDeps } from '../capture/streams.ts'
import { type LegChange, writeLeg } from '../legs.ts'
import { applyToLeg, loadLeg, tenantOf } from '../records.ts'
import { isLocked } from '../session-state.ts'
import type { CallRow, ConferenceRoomRow } from '../tables.ts'
import {
  admission,
  commandFor,
  joinsMuted,
  type LegCommand,
  type LegRows,
  leavingBecause,
  promptOf,
  sessionRoom,
} from './decide.ts'

type Log = { warn(fields: object, message: string): void }

/** What follows a decision about a room and keeps its next one waiting no more. */
type Then = () => Promise<unknown>

const NOTHING: Then = async () => {}

/**
 * Sends what a leg's row calls for. What concerns one leg is done in order. Whom a room takes in is decided one leg after the other,
 * so that of two parties one opens the session and one joins it; a leg or a room that is slow keeps no other waiting.
 */
export class Seating {
  readonly #store: Store
  readonly #now: () => string
  readonly #log: Log
  readonly #streams: StreamDeps
  /** By leg, and by room. */
  readonly #turns = new Turns()

  constructor(store: Store, now: () => string, log: Log, streams: StreamDeps) {
    this.#streams = streams
    this.#store = store
    this.#now = now
    this.#log = log
  }

  /** Does the next thing for a leg. Idempotent: what was done already is done by media no second time, or does no harm. */
  drive(legId: string, media: MediaPort): Promise<void> {
    return this.#turns.take(legId, () => this.#drive(legId, media))
  }

  async #drive(legId: string, media: MediaPort): Promise<void> {
    const rows = await loadLeg(this.#store.db, legId)
    if (rows === null) return
    const next = commandFor(rows)
    if (next === null) return
    // What it was transferred to finds it off hold.
    if (rows.participant.on_hold === 0) await media.request('leg.hold', { legId, held: false, sources: [] })
    if (next === 'seat') {
      const then = await this.#turns.take(rows.call.room_id ?? legId, () => this.#seatNow(legId, media))
      await then()
      return
    }
    const body = await this.#complete(rows, next)
    // What led the call before may have listened.
    if (next.name === 'leg.collect' && rows.call.answered_at !== null) await media.request('leg.stop_listen', { legId })
    let reply = await media.request(next.name, body as never)
    if (next.name === 'leg.collect' && next.body.collectId === CONSENT && isFailure(reply)) {
      // Nobody here can say it: nothing is kept, and the call goes on.
      if (reply.failure === 'invalid') reply = await media.request('leg.collect', unheardCollect(next.body))
    }
    if (isFailure(reply)) this.#log.warn({ legId, command: next.name, ...reply }, 'media could not do it')
    else if (isAnnouncement(next))
      await announced({ store: this.#store, now: () => new Date(this.#now()) }, legId, media)
  }

  /** With what of a command needs more than the leg's rows. */
  async #complete({ call, participant }: LegRows, { name, body }: LegCommand): Promise<LegCommand['body']> {
    const { db } = this.#store
    const only = callCaptureOf(call)?.later?.streamIds
    const whole = (capture: RoomCapture) => withStreams(db, this.#streams, call, participant.id, capture, only)
    if (name === 'leg.answer' && !awaitsConsent(call)) {
      return { ...body, room: { ...body.room, capture: await whole(roomCapture(call)) } }
    }
    if (name !== 'leg.collect' || body.agreement === undefined) return body
    return { ...body, agreement: { ...body.agreement, capture: await whole(body.agreement.capture) } }
  }

  /** Those who wait for a moderator in this room are looked at again. */
  driveWaiting(roomId: string, media: MediaPort): Promise<void> {
    const decided = this.#turns.take(roomId, () => this.#decideWaiting(roomId, media))
    return decided.then(async thens => void (await Promise.all(thens.map(then => then()))))
  }

  async #decideWaiting(roomId: string, media: MediaPort): Promise<Then[]> {
    const waiting = await this.#store.db
      .selectFrom('participants')
      .innerJoin('calls', 'calls.id', 'participants.call_id')
      .select('participants.id')
      .where('calls.room_id', '=', roomId)
      .where('participants.node_id', '=', nodeOf(this.#store.db))
      .where('participants.step', '=', 'waiting')
      .where('participants.left_at', 'is', null)
      .orderBy('participants.id')
      .execute()
    const thens: Then[] = []
    for (const { id } of waiting) thens.push(await this.#seatNow(id, media))
    return thens
  }

  /** As it is when its room's turn comes. */
  async #seatNow(legId: string, media: MediaPort): Promise<Then> {
    const rows = await loadLeg(this.#store.db, legId)
    const isDue = rows !== null && (rows.participant.step === 'waiting' || commandFor(rows) === 'seat')
    return isDue ? this.#seat(rows, media) : NOTHING
  }

  async #seat(rows: LegRows, media: MediaPort): Promise<Then> {
    const { room, participant } = rows
    const session = room === null ? undefined : await ownSession(this.#store.db, room)
    const hasModerator = session !== undefined && (await isModerated(this.#store.db, session))
    const locked = room !== null && session !== undefined && (await isLocked(this.#store.db, session, room))
    const verdict = admission(rows, { isRunning: session !== undefined, hasModerator, isLocked: locked })
    if (room === null || typeof verdict === 'object') {
      return this.#leave(rows, typeof verdict === 'object' ? verdict.leave : 'room-closed', media)
    }
    if (verdict === 'wait') return this.#wait(rows, media)
    if (participant.step === 'waiting') await media.request('leg.stop_play', { legId: participant.id })
    return this.#move(rows, room, session, media)
  }

  async #wait(rows: LegRows, media: MediaPort): Promise<Then> {
    if (rows.participant.step === 'waiting') return NOTHING
    await this.#change(rows, { step: 'waiting', prompted: 0 })
    return () => this.#drive(rows.participant.id, media)
  }

  async #leave(rows: LegRows, prompt: string, media: MediaPort, reason?: 'capacity'): Promise<Then> {
    await this.#change(rows, leavingBecause({ leave: prompt, reason: reason ?? 'rejected' }))
    return () => this.#drive(rows.participant.id, media)
  }

  #change(rows: LegRows, participant: LegChange): Promise<LegRows> {
    const decision = { call: {}, participant, events: [] }
    return this.#store.transaction(trx => applyToLeg(trx, rows, decision, this.#now()))
  }

  /** Into the session that runs, or into a new one when none does or the one we knew has just closed. */
  async #move(rows: LegRows, room: ConferenceRoomRow, running: CallRow | undefined, media: MediaPort): Promise<Then> {
    const legId = rows.participant.id
    const session = running ?? newSession(rows, room, this.#now())
    await this.#store.transaction(async trx => {
      const tenant = tenantOf(rows.call)
      if (running === undefined) await forTenant(trx, tenant).insert('calls', session)
      await writeLeg(trx, tenant, legId, { session_call_id: session.id, step: 'joining' })
    })
    const muted = joinsMuted(rows)
    const reply = await media.request('leg.move', {
      legId,
      room: sessionRoom(session.id, room, await encryptsRecordings(this.#store.db, tenantOf(rows.call))),
      mustExist: running !== undefined,
      muted,
    })
    if (!isFailure(reply)) {
      if (muted) return () => this.#tell(legId, promptOf(room)('muted'), media)
      return running === undefined ? () => this.#tell(legId, promptOf(room)('first-in-room'), media) : NOTHING
    }
    if (isUndecided(reply)) return NOTHING
    if (running === undefined) await this.#discard(session)
    // The session is closing, its end is on the way as an event; or the leg is gone, and the next attempt finds that out.
    else if (reply.failure === 'not_found') return this.#move(rows, room, undefined, media)
    await this.#forget(legId)
    if (reply.failure === 'capacity') return this.#leave(rows, 'room-full', media, 'capacity')
    if (reply.failure === 'not_found') return NOTHING
    this.#log.warn({ legId, ...reply }, 'the leg cannot be moved into its room')
    return () => media.request('leg.hangup', { legId, reason: 'internal_error' })
  }

  async #tell(legId: string, prompt: PlaySource, media: MediaPort): Promise<void> {
    await media.request('leg.play', { legId, playId: 'seated', sources: [prompt], loop: false, hangupAfter: null })
  }

  /** A session that nobody entered was none. */
  async #discard(session: CallRow): Promise<void> {
    const calls = forTenant(this.#store.db, tenantOf(session)).delete('calls')
    await calls.where('id', '=', session.id).where('status', '=', 'queued').execute()
  }

  async #forget(legId: string): Promise<void> {
    const rows = await loadLeg(this.#store.db, legId)
    if (rows !== null) await this.#change(rows, { session_call_id: null })
  }
}

/** What is kept has begun with it: nobody has to agree. */
const isAnnouncement = ({ name, body }: LegCommand): boolean =>
  name === 'leg.collect' && body.collectId === CONSENT && body.agreement?.digits === null

type RoomKey = Pick<ConferenceRoomRow, 'id' | 'organisation_id' | 'livemode'>

/** The latest session of a room that has not ended, on any node. */
export const runningSession = (db: Db, room: RoomKey): Promise<CallRow | undefined> =>
  runningSessions(db, room).executeTakeFirst()

/** The one that callers of this node can join: another's media process has another's. */
const ownSession = (db: Db, room: RoomKey): Promise<CallRow | undefined> =>
  runningSessions(db, room).where('node_id', '=', nodeOf(db)).executeTakeFirst()

const runningSessions = (db: Db, room: RoomKey) =>
  forTenant(db, tenantOf(room))
    .select('calls')
    .selectAll()
    .where('kind', '=', 'conference')
    .where('room_id', '=', room.id)
    .where('ended_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)

async function isModerated(db: Db, session: CallRow): Promise<boolean> {
  const moderator = await forTenant(db, tenantOf(session))
    .select('participants')
    .select('id')
    .where('session_call_id', '=', session.id)
    .where('role', '=', 'moderator')
    .where('left_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return moderator !== undefined
}

/** `queued` until media has opened its room. */
const newSession = ({ call }: LegRows, room: ConferenceRoomRow, at: string): CallRow => ({
  id: newId('call'),
  organisation_id: call.organisation_id,
  livemode: call.livemode,
  kind: 'conference',
  status: 'queued',
  direction: 'inbound',
  to_address: room.id,
  from_address: '',
  target: 'room',
  room_id: room.id,
  queue_id: null,
  user_id: null,
  connection_id: null,
  node_id: call.node_id,
  record: (JSON.parse(room.settings) as { record?: boolean }).record === true ? 1 : 0,
  capture: null,
  metadata: '{}',
  ended_reason: null,
  sip_code: null,
  created: at,
  ringing_at: null,
  answered_at: null,
  ended_at: null,
  duration_ms: null,
  started_ms: null,
  started_on: null,
})
