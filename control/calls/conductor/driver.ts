import type { EndedReason, EventName, MediaEvent, MediaSnapshot } from '../../../media/protocol.ts'
import type { FollowUps, FollowUpTask } from '../../kernel/follow-ups.ts'
import { beat, lastSeen } from '../../kernel/nodes/heartbeat.ts'
import { leavesTrace } from '../../kernel/store/after-commit.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { Dialled, MediaHandler } from '../../media-link/client.ts'
import type { MediaPort, NumberedEvent } from '../../media-link/events.ts'
import { applyConnectionReport } from '../../trunks/status.ts'
import { DETECTED_BY, onAnsweredBy, onMessageEnded, passDetection } from '../answering/detection.ts'
import { CallAudio } from '../capture/call-audio.ts'
import { passConsent } from '../capture/consent.ts'
import type { StreamDeps } from '../capture/streams.ts'
import { onRedirected } from '../outbound/redirected.ts'
import { onCaptureChanged } from '../pci.ts'
import { loadLeg } from '../records.ts'
import { type Decision, type LegRows, onLeft, onPlayFinished, onRinging, type PinVerdict } from '../steps/decide.ts'
import type { EventHandler, EventHandlers } from '../steps/event-handler.ts'
import { type Conducting, sendDue } from '../steps/follow.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'
import type { CallCentrePort } from './call-centre-port.ts'
import { answerLeg, callSteps } from './call-steps.ts'
import { Conductor } from './conductor.ts'
import type { DevicePort } from './device-port.ts'
import { endAll } from './end-all.ts'
import { type CallFaults, legOfEvent } from './faults.ts'
import { onIncoming } from './incoming-call.ts'
import { LegEvents } from './leg-events.ts'
import { type Position, readPosition, rewritePosition, savePosition } from './position.ts'
import { Reconciler } from './reconcile.ts'
import { judgePins } from './rooms/pin-verdict.ts'
import { roomSteps } from './rooms/room-steps.ts'
import { Seating, waitingFor, waitingNoMore } from './rooms/seating.ts'
import { onActiveSpeaker, onRoomClosed, onRoomOpened } from './rooms/session-events.ts'
import type { Sent } from './sender.ts'

interface DriverDeps {
  store: Store
  now: () => Date
  log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  streams: StreamDeps
  /** The file of an audio asset. */
  assetFile: (id: string) => string
  /** Decrypts the connections' passwords, by which callers authenticate. */
  vault: Vault
  /** Queues, agents and transfers: whoever is rung for a call. */
  centre: CallCentrePort
  /** Flows and assistants. */
  programs?: CallPrograms
  /** Tells media which far ends to watch. */
  keeper?: { forget(): void }
  /** Sources and targets of calls besides trunks. */
  devices?: DevicePort
}

/** What the driver needs of flows and assistants. */
export interface CallPrograms {
  /** The events that `on` handles. */
  readonly hears: ReadonlySet<EventName>
  on(trx: Trx, event: MediaEvent): Promise<void>
  /** `legIds`: only these; absent: all, after a reconnect. */
  resume(snapshot: MediaSnapshot, media: MediaPort, guard: Guard, legIds?: ReadonlySet<string>): Promise<void>
}

/**
 * Carries out what `decide.ts` decides. In one transaction, a batch of media's events changes rows, writes API events and advances the
 * position up to which media's events are handled. Commands to media are sent after the commit.
 */
export class CallDriver implements MediaHandler {
  readonly #deps: DriverDeps
  readonly #node: string
  readonly #reconciler: Reconciler
  readonly #handlers: EventHandlers
  readonly #faults: CallFaults
  readonly #conducting: Conducting

  constructor(deps: DriverDeps) {
    const { store, log, streams } = deps
    const now = (): string => deps.now().toISOString()
    this.#deps = deps
    this.#node = nodeOf(store.db)
    const audio = new CallAudio({ store, now, log, streams })
    const conducting = conduct(deps, audio)
    this.#conducting = conducting
    deps.centre.conductedBy(conducting)
    const resume = (call: CallRow, media: MediaPort) => audio.start(call, media)
    const { faults } = deps.centre
    this.#faults = faults
    this.#reconciler = new Reconciler({ store, now, log, conducting, centre: deps.centre, resume, faults })
    this.#handlers = handlers(deps, audio)
  }

  get followUps(): FollowUps {
    return this.#deps.store.followUps
  }

  perform({ run }: FollowUpTask, media: MediaPort): Promise<void> {
    const { centre } = this.#deps
    return run({ media, conducting: this.#conducting, decide: () => centre.run(media) })
  }

  position(): Promise<Position> {
    return readPosition(this.#deps.store.db, this.#node)
  }

  write(): Promise<void> {
    return this.#deps.store.transaction(trx => rewritePosition(trx, this.#node))
  }

  get faults(): number {
    return this.#faults.count
  }

  async booted(bootId: string, dialled: Dialled = null): Promise<void> {
    const { store, centre } = this.#deps
    const now = this.#deps.now()
    const seen = await lastSeen(store.db, now)
    // Time after the machine died is not billed.
    const reason = seen === null ? 'media_failed' : 'node_lost'
    const end = { reason, at: seen ?? now.toISOString(), dialled } as const
    const faults = this.#faults.endingAt(end.at)
    await endAll(store.db, centre, end, (legId, run) => faults.guard(legId, null, () => store.transaction(run)))
    // Last: if this process dies before it, the next one ends the remaining calls.
    await store.transaction(trx => savePosition(trx, this.#node, { bootId, lastSeq: 0 }))
    // Before the first call: if the node died without a heartbeat, no other node would end that call.
    await beat(store, now)
  }

  async events(batch: readonly NumberedEvent[]): Promise<void> {
    const { store } = this.#deps
    const pins = batch.some(({ event }) => event.name === 'leg.collected') ? await judgePins(store.db, batch) : NO_PINS
    await store.transaction(trx => this.#apply(trx, batch, pins), { gathers: true })
  }

  async #apply(trx: Trx, batch: readonly NumberedEvent[], pins: ReadonlyMap<number, PinVerdict>): Promise<void> {
    const { centre, programs } = this.#deps
    const position = await readPosition(trx, this.#node)
    let { lastSeq } = position
    for (const { seq, event: told } of batch) {
      // Delivered again, because the acknowledgement was lost.
      if (seq <= lastSeq) continue
      lastSeq = seq
      for (const passed of DETECTED_BY.has(told.name) ? await passDetection(trx, told) : [told]) {
        const isOfConsent = passed.name === 'leg.answered' || passed.name === 'leg.collected'
        const event = isOfConsent ? await passConsent(trx, passed, centre) : passed
        if (event === null) continue
        const handler = this.#handlers[event.name] as EventHandler<never> | undefined
        await handler?.(trx, event as never, pins.get(seq))
        if (programs?.hears.has(event.name)) await programs.on(trx, event)
      }
    }
    // Events that changed nothing may be handled again, so their position is not written and no commit has to be waited for.
    if (lastSeq !== position.lastSeq && leavesTrace(trx)) await savePosition(trx, this.#node, { ...position, lastSeq })
  }

  async setAside({ seq, event }: NumberedEvent, media: MediaPort): Promise<void> {
    await this.#deps.store.transaction(async trx => {
      await savePosition(trx, this.#node, { ...(await readPosition(trx, this.#node)), lastSeq: seq })
    })
    const legId = legOfEvent(event)
    const error = new Error(`${event.name} could not be applied`)
    if (event.name === 'leg.ended') await this.#faults.end(legId, null, error)
    else if (event.name === 'leg.incoming') await refuseBroken(event.body.legId, media)
    else await this.#faults.end(legId, media, error)
  }

  /** `key`: the ID of a call, or of whatever has none. */
  async faulted(key: string, media: MediaPort, error: unknown): Promise<void> {
    const own = this.#deps.store.db.selectFrom('participants').select('id').where('call_id', '=', key)
    const leg = await own.where('ring_id', 'is', null).executeTakeFirst()
    await this.#faults.end(leg?.id ?? null, media, error)
  }

  async reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void> {
    this.#deps.keeper?.forget()
    await this.#reconciler.run(snapshot, media)
    sendDue(this.#deps.store)
    await this.#faults.guard(null, null, () => this.#deps.centre.resume(snapshot, media))
    await this.#deps.centre.run(media)
    await this.#deps.programs?.resume(snapshot, media, this.#guard(media))
    await this.#faults.guard(null, null, async () => this.#deps.devices?.reconcile(snapshot, media))
  }

  async recheck(snapshot: MediaSnapshot, legIds: ReadonlySet<string>, media: MediaPort): Promise<void> {
    await this.#reconciler.recheck(snapshot, legIds, media)
    sendDue(this.#deps.store)
    await this.#deps.programs?.resume(snapshot, media, this.#guard(media), legIds)
  }

  #guard(media: MediaPort): Guard {
    return (legId, run) => this.#faults.guard(legId, legId === null ? null : media, run)
  }
}

/** Makes what sends the commands of legs' steps, whoever leads them: the call, its room or the queues. */
function conduct({ store, now, log, streams, assetFile, vault, centre }: DriverDeps, audio: CallAudio): Conducting {
  const time = (): string => now().toISOString()
  const seating = new Seating({ store, now: time, log })
  const gone = (leg: ParticipantRow, reason: EndedReason): Promise<void> =>
    store.transaction(trx => centre.end(trx, leg.id, { reason, sipCode: null, quality: null }, time()))
  const parts = { store, now, streams, assetFile, vault, gone }
  const answer = async (leg: ParticipantRow, media: MediaPort): Promise<Sent> => {
    const rows = await loadLeg(store.db, leg.id)
    return rows === null ? null : answerLeg(parts, rows, media)
  }
  const conductor = new Conductor(
    { store, log, faults: centre.faults, answer },
    { ...callSteps(parts), ...roomSteps(store, seating), ...centre.steps },
  )
  const seatAll = (waiting: readonly ParticipantRow[], media: MediaPort) =>
    Promise.all(waiting.map(leg => conductor.inTurn(leg, media, () => seating.seat(leg, media))))
  return {
    drive: (legId, media) => conductor.drive(legId, media),
    driveDue: async media => {
      await conductor.driveDue(media)
      await seatAll(await waitingNoMore(store.db), media)
      await audio.keepDue()
    },
    driveAgain: media => conductor.driveAgain(media),
    driveWaiting: async (roomId, media) => {
      await seatAll(await waitingFor(store.db, roomId), media)
    },
    keep: (callId, media) => audio.keep(callId, media),
    idle: () => conductor.idle(),
  }
}

/** Runs the work for one leg of many. An exception ends the call of this leg and nothing else. */
export type Guard = (legId: string | null, run: () => Promise<unknown>) => Promise<void>

/** Refuses an incoming call whose rows could not be written. */
async function refuseBroken(legId: string, media: MediaPort): Promise<void> {
  await media.request('leg.reject', { legId, sipCode: 500, reason: 'internal_error' })
}

function handlers({ store, vault, now, log, centre, devices }: DriverDeps, audio: CallAudio): EventHandlers {
  const legs = new LegEvents({ log, audio })
  const change = (
    trx: Trx,
    { body, at }: { body: { legId: string }; at: string },
    decide: (rows: LegRows) => Decision,
  ) => centre.ofOwn(trx, body.legId, () => legs.change(trx, body.legId, at, decide))
  return {
    'leg.incoming': async (trx, event) => {
      if (!(await devices?.incoming(trx, event))) await onIncoming({ store, vault, now, log, centre }, trx, event)
    },
    'leg.routed': (trx, event) => legs.routed(trx, event),
    'leg.redirected': onRedirected,
    'leg.refer_asked': (trx, event) => centre.onReferAsked(trx, event),
    'leg.refer_progress': (trx, event) => centre.onReferProgress(trx, event),
    'leg.replaced': (trx, event) => centre.onReplaced(trx, event),
    'leg.early_media': (trx, event) => centre.onEarlyMedia(trx, event),
    'leg.ringing': async (trx, event) => {
      if (await legs.unwanted(trx, event)) return
      await centre.onRinging(trx, event)
      await change(trx, event, rows => onRinging(rows, event.at))
    },
    'leg.answered': async (trx, event) => {
      if (!(await legs.unwanted(trx, event))) await centre.onAnswered(trx, event, () => legs.answered(trx, event))
    },
    'leg.joined': (trx, event) => legs.joined(trx, event),
    'leg.left': (trx, event) => change(trx, event, rows => onLeft(rows, event.body.roomId, event.at)),
    'leg.held': (trx, event) => centre.onHeld(trx, event, true),
    'leg.resumed': (trx, event) => centre.onHeld(trx, event, false),
    'leg.one_way': (trx, event) => legs.oneWay(trx, event),
    'leg.speaking': (trx, event) => legs.speaking(trx, event),
    'leg.answered_by': onAnsweredBy,
    'leg.message_ended': onMessageEnded,
    'leg.fax_tone': (trx, event) => legs.faxTone(trx, event),
    'leg.quality': (trx, event) => legs.quality(trx, event),
    'leg.fax': (trx, event) => legs.fax(trx, event),
    'leg.dtmf': (trx, event) => centre.onKey(trx, event, () => legs.dtmf(trx, event)),
    'leg.collected': (trx, event, pin) => legs.collected(trx, event, pin),
    'leg.ended': (trx, event) => centre.onEnded(trx, event, () => legs.ended(trx, event)),
    'play.finished': (trx, { body, at }) => legs.change(trx, body.legId, at, rows => onPlayFinished(rows, body)),
    'room.opened': (trx, event) => onRoomOpened(audio, trx, event),
    'room.closed': (trx, event) => onRoomClosed(trx, event),
    'room.active_speaker': (trx, event) => onActiveSpeaker(trx, event),
    'capture.changed': onCaptureChanged,
    'stream.changed': (trx, event) => audio.streamChanged(trx, event),
    'recording.ready': (trx, event) => audio.recordingReady(trx, event),
    'recording.failed': (trx, event) => audio.recordingFailed(trx, event),
    'leg.speech_started': ignored,
    'leg.utterance': ignored,
    'play.started': ignored,
    'transcript.segment': ignored,
    'transcript.words': ignored,
    'transcript.ready': ignored,
    'sip.register': async (trx, event) => devices?.register(trx, event),
    'sip.ask': async (trx, event) => devices?.asked(trx, event),
    'sip.unsubscribed': async (_trx, event) => devices?.unsubscribed(event),
    'sip.message_done': async (trx, event) => devices?.messageDone(trx, event),
    'sip.gone': async (trx, event) => devices?.gone(trx, event),
    'connection.changed': (trx, { body, at }) => applyConnectionReport(trx, body, at),
    'browser.connecting': async (trx, event) => devices?.connecting(trx, event),
    'browser.connected': async (trx, event) => devices?.connected(trx, event),
    'browser.message': async (trx, event) => devices?.message(trx, event),
    'browser.closed': async (trx, event) => devices?.closed(trx, event),
  }
}

const NO_PINS: ReadonlyMap<number, PinVerdict> = new Map()

const ignored = async (): Promise<void> => {}
