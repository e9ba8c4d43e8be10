import type { Events, MediaEvent, MediaSnapshot } from '../../media/protocol.ts'
import { appendEvent } from '../events/log.ts'
import { newId } from '../ids.ts'
import type { MediaHandler, MediaPort } from '../media-client.ts'
import { toCall } from '../schemas/call.ts'
import type { CallDtmf } from '../schemas/call-dtmf.ts'
import { verifyPin } from '../secrets.ts'
import type { Store, Trx } from '../store.ts'
import { forTenant } from '../tenancy.ts'
import {
  collectId,
  type Decision,
  type LegRows,
  onAnswered,
  onHeld,
  onJoined,
  onLeft,
  onPin,
  onPlayFinished,
  onRinging,
  type PinVerdict,
} from './decide.ts'
import { addressOf, routeInbound } from './inbound.ts'
import { readPosition, savePosition } from './position.ts'
import { endOfBoot, Reconciler } from './reconcile.ts'
import {
  applyCapture,
  applyRecording,
  applyStream,
  applyToLeg,
  callOfTarget,
  endLeg,
  endSession,
  insertParty,
  insertRecording,
  loadLeg,
  tenantOf,
} from './records.ts'
import { Seating } from './seat.ts'
import { type StreamDeps, startStream, targetOf, unstartedStreams } from './streams.ts'
import type { CallRow } from './tables.ts'

export interface DriverDeps {
  store: Store
  now: () => Date
  log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
  streams: StreamDeps
}

type FollowUp = (media: MediaPort) => Promise<void>
/** What an event means: rows and API events in one transaction, and what is sent to media after it. */
type Effect = { write?: (trx: Trx) => Promise<void>; send?: FollowUp }
type Of<N extends MediaEvent['name']> = { body: Events[N]; at: string }
type Handlers = { [N in MediaEvent['name']]: (event: Of<N>) => Promise<Effect | null> }

/**
 * Carries out what `decide.ts` decides: each media event changes rows, writes API events and moves the committed position in
 * one transaction; after it, and after the acknowledgement, the commands that follow are sent.
 */
export class CallDriver implements MediaHandler {
  readonly #deps: DriverDeps
  readonly #seating: Seating
  readonly #reconciler: Reconciler
  readonly #handlers: Handlers

  constructor(deps: DriverDeps) {
    this.#deps = deps
    this.#seating = new Seating(deps.store, () => deps.now().toISOString(), deps.log)
    this.#reconciler = new Reconciler({
      store: deps.store,
      now: () => deps.now().toISOString(),
      log: deps.log,
      seating: this.#seating,
      resume: (call, media) => this.#startAudio(call, media),
    })
    this.#handlers = {
      'leg.incoming': event => this.#incoming(event),
      'leg.ringing': ({ body, at }) => this.#leg(body.legId, at, rows => onRinging(rows, at)),
      'leg.answered': event => this.#answered(event),
      'leg.joined': event => this.#joined(event),
      'leg.left': ({ body, at }) => this.#leg(body.legId, at, rows => onLeft(rows, body.roomId, at)),
      'leg.held': ({ body, at }) => this.#leg(body.legId, at, rows => onHeld(rows, true)),
      'leg.resumed': ({ body, at }) => this.#leg(body.legId, at, rows => onHeld(rows, false)),
      'leg.dtmf': event => this.#dtmf(event),
      'leg.collected': event => this.#collected(event),
      'leg.ended': event => this.#ended(event),
      'play.finished': ({ body, at }) => this.#leg(body.legId, at, rows => onPlayFinished(rows, body.playId)),
      'room.opened': event => this.#roomOpened(event),
      'room.closed': event => this.#roomClosed(event),
      'capture.changed': event => this.#captureChanged(event),
      'stream.changed': event => this.#streamChanged(event),
      'recording.ready': async ({ body, at }) => ({
        write: trx => applyRecording(trx, body.recordingId, body, at),
      }),
      'recording.failed': async ({ body, at }) => {
        deps.log.warn({ callId: body.recordingId, reason: body.message }, 'recording failed')
        return { write: trx => applyRecording(trx, body.recordingId, null, at) }
      },
      'leg.speech_started': ignored,
      'leg.utterance': ignored,
      'play.started': ignored,
      'transcript.segment': ignored,
      'transcript.ready': ignored,
      'sip.register': ignored,
      'browser.connecting': ignored,
      'browser.connected': ignored,
      'browser.message': ignored,
      'browser.closed': ignored,
    }
  }

  position(): Promise<{ bootId: string | null; lastSeq: number }> {
    return readPosition(this.#deps.store.db)
  }

  async booted(bootId: string): Promise<void> {
    await this.#deps.store.transaction(async trx => {
      await endOfBoot(trx, this.#deps.now().toISOString())
      await savePosition(trx, { bootId, lastSeq: 0 })
    })
  }

  async event(seq: number, event: MediaEvent, media: MediaPort): Promise<(() => Promise<void>) | null> {
    const { bootId, lastSeq } = await this.position()
    // Delivered again, since the acknowledgement was lost.
    if (seq <= lastSeq) return null
    const handler = this.#handlers[event.name] as ((event: unknown) => Promise<Effect | null>) | undefined
    const effect: Effect = (await handler?.(event)) ?? {}
    await this.#deps.store.transaction(async trx => {
      await effect.write?.(trx)
      await savePosition(trx, { bootId, lastSeq: seq })
    })
    const { send } = effect
    return send === undefined ? null : () => send(media)
  }

  async skip(seq: number): Promise<void> {
    const { bootId } = await this.position()
    await this.#deps.store.transaction(trx => savePosition(trx, { bootId, lastSeq: seq }))
  }

  reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    return this.#reconciler.run(snapshot, media)
  }

  // ------------------------------------------------------------------ legs

  /** The plain case: one leg's rows change by a pure decision. */
  async #leg(legId: string, at: string, decide: (rows: LegRows) => Decision, send?: FollowUp): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, legId)
    if (rows === null) return null
    const write = async (trx: Trx): Promise<void> => {
      await applyToLeg(trx, rows, decide(rows), at)
    }
    return send === undefined ? { write } : { write, send }
  }

  async #incoming({ body, at }: Of<'leg.incoming'>): Promise<Effect> {
    const { db } = this.#deps.store
    // Inbound traffic is live: the telephone network knows no test mode.
    const connections = await db.selectFrom('connections').selectAll().where('livemode', '=', 1).execute()
    const routes = await db.selectFrom('inbound_routes').selectAll().where('livemode', '=', 1).execute()
    const running = await this.#runningByConnection()
    const decision = routeInbound(body, connections, routes, id => running.get(id) ?? 0)
    const { legId, source, sipCallId } = body
    if ('reject' in decision) {
      this.#deps.log.info({ legId, sipCallId, source: source.host, ...decision.reject }, 'incoming call refused')
      return {
        send: async media => {
          await media.request('leg.reject', { legId, ...decision.reject })
        },
      }
    }
    const { connection, route } = decision.accept
    const callId = newId('call')
    this.#deps.log.info({ callId, legId, sipCallId, routeId: route.id }, 'incoming call')
    const party = {
      callId,
      legId,
      direction: 'inbound' as const,
      to: addressOf(body.to),
      from: addressOf(body.from),
      target: route.target,
      roomId: route.target === 'room' ? route.target_id : null,
      connectionId: connection.id,
      record: false,
      metadata: {},
      role: 'member' as const,
      muted: false,
    }
    return {
      write: async trx => {
        await insertParty(trx, tenantOf(route), party, at)
      },
      send: media => this.#seating.drive(legId, media),
    }
  }

  async #runningByConnection(): Promise<Map<string, number>> {
    const counts = await this.#deps.store.db
      .selectFrom('calls')
      .select(({ fn }) => ['connection_id', fn.countAll<number>().as('count')])
      .where('ended_at', 'is', null)
      .where('connection_id', 'is not', null)
      .groupBy('connection_id')
      .execute()
    return new Map(counts.map(({ connection_id, count }) => [connection_id ?? '', Number(count)]))
  }

  async #answered({ body, at }: Of<'leg.answered'>): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, body.legId)
    if (rows === null || rows.call.answered_at !== null) return null
    return {
      write: async trx => {
        const { call } = await applyToLeg(trx, rows, onAnswered(rows, at), at)
        if (call.record === 1 && call.ended_at === null) await insertRecording(trx, call, at)
      },
      send: async media => {
        await this.#startAudio(rows.call, media)
        await this.#seating.drive(body.legId, media)
      },
    }
  }

  async #joined({ body, at }: Of<'leg.joined'>): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, body.legId)
    const roomId = rows?.call.room_id ?? null
    return this.#leg(
      body.legId,
      at,
      now => onJoined(now, body, at),
      async media => {
        if (roomId !== null && rows?.participant.role === 'moderator') await this.#seating.driveWaiting(roomId, media)
      },
    )
  }

  async #dtmf({ body, at }: Of<'leg.dtmf'>): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, body.legId)
    if (rows === null) return null
    const { call, participant } = rows
    const paused = await this.#deps.store.db
      .selectFrom('call_pauses')
      .select('call_id')
      .where('call_id', 'in', [call.id, participant.session_call_id ?? call.id])
      .executeTakeFirst()
    // Media masks; what we know ourselves to be a secret is masked here once more.
    const masked = body.masked || paused !== undefined || participant.step === 'pin'
    const object: CallDtmf = {
      object: 'call_dtmf',
      call_id: call.id,
      participant_id: participant.id,
      livemode: call.livemode === 1,
      digit: masked ? '*' : body.key,
      masked,
    }
    return {
      write: async trx => {
        await appendEvent(trx, tenantOf(call), { type: 'call.dtmf', at, object, callId: call.id })
      },
    }
  }

  async #collected({ body, at }: Of<'leg.collected'>): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, body.legId)
    if (rows === null || rows.participant.step !== 'pin' || body.collectId !== collectId(rows.participant)) return null
    const verdict = await judgePin(rows, body.digits)
    return this.#leg(
      body.legId,
      at,
      now => onPin(now, verdict),
      media => this.#seating.drive(body.legId, media),
    )
  }

  async #ended({ body, at }: Of<'leg.ended'>): Promise<Effect | null> {
    const rows = await loadLeg(this.#deps.store.db, body.legId)
    if (rows === null) return null
    this.#deps.log.info({ callId: rows.call.id, legId: body.legId, reason: body.reason }, 'call ended')
    const end = { reason: body.reason, sipCode: body.sipCode, quality: JSON.stringify(body.quality) }
    return {
      write: async trx => {
        await endLeg(trx, rows, end, at)
      },
    }
  }

  // ------------------------------------------------------------------ sessions

  async #session(roomId: string): Promise<CallRow | undefined> {
    const call = await this.#deps.store.db.selectFrom('calls').selectAll().where('id', '=', roomId).executeTakeFirst()
    return call?.kind === 'conference' && call.ended_at === null ? call : undefined
  }

  async #roomOpened({ body, at }: Of<'room.opened'>): Promise<Effect | null> {
    const session = await this.#session(body.roomId)
    if (session === undefined || session.status !== 'queued') return null
    const started = { ...session, status: 'in_progress' as const, answered_at: at }
    const tenant = tenantOf(session)
    return {
      write: async trx => {
        const calls = forTenant(trx, tenant).update('calls')
        await calls.set({ status: started.status, answered_at: at }).where('id', '=', session.id).execute()
        const object = toCall(started, [])
        await appendEvent(trx, tenant, { type: 'conference.started', at, object, callId: session.id })
        if (session.record === 1) await insertRecording(trx, session, at)
      },
      send: media => this.#startAudio(started, media),
    }
  }

  async #roomClosed({ body, at }: Of<'room.closed'>): Promise<Effect | null> {
    const session = await this.#session(body.roomId)
    return session === undefined ? null : { write: trx => endSession(trx, session, null, at) }
  }

  // ------------------------------------------------------------------ what is attached to a call

  /** Starts the recording and the streams that a call's rows ask for; what runs already answers a conflict. */
  async #startAudio(call: CallRow, media: MediaPort): Promise<void> {
    const { store, streams, log } = this.#deps
    const wanted = await forTenant(store.db, tenantOf(call))
      .select('recordings')
      .select('call_id')
      .where('call_id', '=', call.id)
      .where('status', '=', 'recording')
      .executeTakeFirst()
    const target = wanted === undefined ? null : await targetOf(store.db, call)
    if (target !== null) await media.request('recording.start', { recordingId: call.id, target })
    for (const row of await unstartedStreams(store.db, call)) {
      const reply = await startStream(store.db, streams, media, call, row)
      if ('failure' in reply && reply.failure !== 'conflict') {
        log.warn({ callId: call.id, streamId: row.id, ...reply }, 'a stream could not be started')
        await store.transaction(trx => applyStream(trx, row, failedStream(row.id), this.#deps.now().toISOString()))
      }
    }
  }

  async #captureChanged({ body, at }: Of<'capture.changed'>): Promise<Effect | null> {
    const call = await callOfTarget(this.#deps.store.db, body.target)
    return call === undefined ? null : { write: trx => applyCapture(trx, call, body.state, at) }
  }

  async #streamChanged({ body, at }: Of<'stream.changed'>): Promise<Effect | null> {
    const streams = this.#deps.store.db.selectFrom('media_streams').selectAll()
    const row = await streams.where('id', '=', body.streamId).executeTakeFirst()
    return row === undefined ? null : { write: trx => applyStream(trx, row, body, at) }
  }
}

const ignored = async (): Promise<null> => null

const failedStream = (streamId: string) => ({
  streamId,
  status: 'failed' as const,
  framesSent: 0,
  framesDropped: 0,
  endedReason: 'connect_failed' as const,
})

/** A moderator's PIN makes a moderator; in a room with a moderator's PIN only, no PIN makes a member. */
async function judgePin({ room }: LegRows, digits: string): Promise<PinVerdict> {
  if (room === null) return 'wrong'
  if (digits === '') return room.pin_hash === null ? 'member' : 'wrong'
  if (room.moderator_pin_hash !== null && (await verifyPin(digits, room.moderator_pin_hash))) return 'moderator'
  return room.pin_hash !== null && (await verifyPin(digits, room.pin_hash)) ? 'member' : 'wrong'
}
