import { type Failure, isFailure, isUndecided } from '../../../../media/protocol.ts'
import { nodeOf } from '../../../kernel/store/node.ts'
import type { Db, Store } from '../../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../../kernel/tenancy.ts'
import { Turns } from '../../../kernel/turns.ts'
import type { CommandPort } from '../../../media-link/events.ts'
import { insertCallKeys } from '../../call-keys.ts'
import { encryptsRecordings } from '../../capture/call-capture.ts'
import { type LegChange, writeLeg } from '../../legs.ts'
import { applyToLeg, loadLeg, noteBegun } from '../../records.ts'
import { isLocked } from '../../session-state.ts'
import { settingsOf } from '../../settings.ts'
import { type LegRows, leaving } from '../../steps/decide.ts'
import type { CallRow, ConferenceRoomRow, ParticipantRow } from '../../tables.ts'
import { sessionRoom } from '../leg-rooms.ts'
import { playOf, promptOf } from '../prompts.ts'
import { failureOf, type Sent } from '../sender.ts'
import { admission, joinsMuted } from './admission.ts'
import { isModerated, newSession, ownSession } from './sessions.ts'

type Media = CommandPort<'leg.move' | 'leg.play' | 'leg.stop_play' | 'leg.hangup'>

/** What follows a decision about a room, without delaying the room's next decision. */
type Then = () => Promise<Sent>

const NOTHING: Then = async () => null

interface SeatingDeps {
  store: Store
  now: () => string
  log: { warn(fields: object, message: string): void }
}

/**
 * Takes legs into their conference rooms. A room decides about one leg after the other, so that of two parties one opens the session and
 * the other joins it. Legs that join a running session do not wait for each other.
 */
export class Seating {
  readonly #deps: SeatingDeps
  /** By room. */
  readonly #turns = new Turns()

  constructor(deps: SeatingDeps) {
    this.#deps = deps
  }

  /** Admits a leg that is to join, or waits and may join now; otherwise its step says what to do. `closed`: a session that admits nobody. */
  async seat({ id }: Pick<ParticipantRow, 'id'>, media: Media, closed: string | null = null): Promise<Sent> {
    const rows = await loadLeg(this.#deps.store.db, id)
    if (rows === null) return null
    const then = await this.#turns.take(rows.call.room_id ?? id, () => this.#seatNow(id, media, closed))
    return then()
  }

  /** Its state when the turn of its room comes. */
  async #seatNow(legId: string, media: Media, closed: string | null): Promise<Then> {
    const { db } = this.#deps.store
    const rows = await loadLeg(db, legId)
    if (rows === null || (rows.participant.step !== 'waiting' && rows.participant.step !== 'joining')) return NOTHING
    const { room, participant } = rows
    const running = room === null ? undefined : await ownSession(db, room)
    const session = running?.id === closed ? undefined : running
    const hasModerator = session !== undefined && (await isModerated(db, session))
    const waited = participant.step === 'waiting'
    const locked = room !== null && session !== undefined && (await isLocked(db, session, room, waited))
    const verdict = admission(rows, { isRunning: session !== undefined, hasModerator, isLocked: locked })
    if (room === null || typeof verdict === 'object') {
      const refused = typeof verdict === 'object' ? verdict : ({ leave: 'room-closed', reason: 'rejected' } as const)
      return this.#change(rows, leaving(refused.leave, refused.reason))
    }
    if (verdict === 'wait') return waited ? NOTHING : this.#change(rows, { step: 'waiting', prompted: 0 })
    if (waited) {
      await media.request('leg.stop_play', { legId })
      return this.#change(rows, { step: 'joining', let_in: 1 })
    }
    // A new session is opened while the room's next leg waits; that leg then joins it.
    if (session === undefined) return this.#move(rows, room, session, media)
    return async () => (await this.#move(rows, room, session, media))()
  }

  async #change(rows: LegRows, participant: LegChange): Promise<Then> {
    const { store, now } = this.#deps
    await store.transaction(trx => applyToLeg(trx, rows, { call: {}, participant, events: [] }, now()))
    return NOTHING
  }

  /** Into the running session, or into a new one if none runs or the known one has just closed. */
  async #move(rows: LegRows, room: ConferenceRoomRow, running: CallRow | undefined, media: Media): Promise<Then> {
    const legId = rows.participant.id
    const { store, now } = this.#deps
    const tenant = tenantOf(rows.call)
    const session = running ?? newSession(rows, room, now())
    await store.transaction(async trx => {
      if (running === undefined) {
        await forTenant(trx, tenant).insert('calls', session)
        await insertCallKeys(trx, tenant, session)
        await noteBegun(trx, session, [])
      }
      await writeLeg(trx, tenant, legId, { session_call_id: session.id })
    })
    const reply = await media.request('leg.move', {
      legId,
      room: sessionRoom(session.id, room, await encryptsRecordings(store.db, tenant)),
      mustExist: running !== undefined,
      muted: joinsMuted(rows),
    })
    if (!isFailure(reply))
      return this.#welcome(legId, room, { muted: reply.muted, isFirst: running === undefined }, media)
    if (isUndecided(reply)) return NOTHING
    if (running === undefined) await this.#discard(session)
    // The session is closing, and its end is on the way as an event; or the leg is gone, and the next attempt finds that out.
    else if (reply.failure === 'not_found') return () => this.seat(rows.participant, media, session.id)
    return this.#refused(rows, reply, media)
  }

  /** What this leg alone hears in the room. */
  #welcome(
    legId: string,
    room: ConferenceRoomRow,
    { muted, isFirst }: { muted: boolean; isFirst: boolean },
    media: Media,
  ): Then {
    if (!muted && !isFirst) return NOTHING
    const play = playOf({ id: legId, step: 'seated' }, [promptOf(room)(muted ? 'muted' : 'first-in-room')])
    return async () => failureOf(await media.request('leg.play', { ...play, whileAlone: !muted }))
  }

  async #refused(rows: LegRows, reply: Failure, media: Media): Promise<Then> {
    const legId = rows.participant.id
    await this.#change(rows, { session_call_id: null })
    if (reply.failure === 'capacity') return this.#change(rows, leaving('room-full', 'capacity'))
    if (reply.failure === 'not_found') return NOTHING
    this.#deps.log.warn({ legId, ...reply }, 'the leg cannot be moved into its room')
    return async () => failureOf(await media.request('leg.hangup', { legId, reason: 'internal_error' }))
  }

  /** A session that nobody entered never existed. */
  async #discard(session: CallRow): Promise<void> {
    const calls = forTenant(this.#deps.store.db, tenantOf(session)).delete('calls')
    await calls.where('id', '=', session.id).where('status', '=', 'queued').execute()
  }
}

/** Legs on this node that wait for a moderator. */
const waiting = (db: Db) =>
  db
    .selectFrom('participants')
    .innerJoin('calls', 'calls.id', 'participants.call_id')
    .selectAll('participants')
    .where('participants.node_id', '=', nodeOf(db))
    .where('participants.step', '=', 'waiting')
    .where('participants.left_at', 'is', null)
    .orderBy('participants.id')

/** Those who wait for one of this room. */
export const waitingFor = (db: Db, roomId: string): Promise<ParticipantRow[]> =>
  waiting(db).where('calls.room_id', '=', roomId).execute()

/** Those who need not wait any more, or wait in vain, as another node has changed their room: it could not wake them. */
export async function waitingNoMore(db: Db): Promise<ParticipantRow[]> {
  const rooms = waiting(db).leftJoin('conference_rooms as room', 'room.id', 'calls.room_id')
  const rows = await rooms.select(['room.active', 'room.settings']).execute()
  return rows.filter(({ active, settings }) => {
    return active !== 1 || settings === null || !settingsOf({ settings }).wait_for_moderator
  })
}
