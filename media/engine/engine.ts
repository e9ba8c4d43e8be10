import { threadId } from 'node:worker_threads'
import type { CreateNoiseSuppressor } from '../../codecs/noise-suppressor.ts'
import type { CreateResampler } from '../../codecs/resample.ts'
import { busySeconds } from '../kernel/busy-time.ts'
import { heapGauges } from '../kernel/heap-gauges.ts'
import type { EventName, Events, Failure, MediaEvent, Target } from '../protocol.ts'
import { Chorus } from '../rooms/chorus.ts'
import { guestsIn } from '../rooms/guest-leg.ts'
import { LEG_SAMPLES, type Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Connections } from '../rtp/datagrams/datagrams.ts'
import type { SinkCommands, SinkNoun } from '../sinks/sink-kind.ts'
import type { Words } from '../speech/hearing/hearing.ts'
import type { EngineClock } from './clock.ts'
import { dialogueCommands } from './dialogues.ts'
import type { CoreHandlers, CrossMessage, EngineCommands, EngineSnapshot } from './engine-protocol.ts'
import { Faults } from './faults.ts'
import { FaxPairs } from './fax-pairs.ts'
import { Keys, type KeysOptions } from './keys.ts'
import { Legs, type LegsOptions, readingOf } from './legs.ts'
import { Members } from './member.ts'
import { Rooms } from './rooms.ts'
import { SINKS, Sinks } from './sinks.ts'
import { Sounds } from './sounds.ts'
import { Guests } from './threads/guests.ts'
import { LentLegs } from './threads/lent-legs.ts'
import { byClockOf, type ThreadPlace } from './threads/spans.ts'

export interface EngineOptions extends LegsOptions {
  dataDir: string
  /** Our User-Agent, for example `tandem/0.1.0`. */
  userAgent: string
  createResampler: CreateResampler
  /** The system's own calls for connections; absent or null: not used here. */
  connections?: Connections | null
  createNoiseSuppressor: CreateNoiseSuppressor
  emit: (event: MediaEvent) => void
  /** An event of a party's own room, for the main thread and the log only; absent: as others. */
  emitOwn?: (event: MediaEvent) => void
  /** Something that a command began has ended: a stream, a recording. */
  over: (kind: string, id: string) => void
  /** An exception; the legs it belongs to are ended. */
  fault: (error: unknown, legIds: readonly string[]) => void
  clock: EngineClock
  /** Which of the engine threads this is; absent: the only one. */
  place?: ThreadPlace
  /** Sends a message to another thread. */
  cross?: (message: CrossMessage) => void
  /** Switches immediate delivery of packets on or off. */
  attend?: (isOn: boolean) => void
  /** Packets that the system has refused to send so far. */
  sendErrors: () => number
  /** All kinds of sinks; absent: the product's. */
  sinks?: readonly SinkNoun[]
}

/**
 * Everything on one engine thread, with one clock: connects legs, rooms, keys and sinks. Each of them carries out its own
 * commands. Results leave as events.
 */
export class Engine {
  /** One slot of the clock: a 20 ms frame for each room of the slot. `now` is the slot's deadline [ms]. */
  readonly tick: Rooms['tick']
  readonly #options: EngineOptions
  readonly #members = new Members()
  readonly #faults: Faults
  readonly #rooms: Rooms
  readonly #legs: Legs
  readonly #sinks: Sinks
  readonly #guests: Guests
  readonly #lent: LentLegs
  readonly #clockMs: number
  readonly #handlers: CoreHandlers & SinkCommands

  constructor(options: EngineOptions) {
    this.#options = options
    this.#faults = new Faults(options.fault)
    const telling =
      (tell: EngineOptions['emit']) =>
      <N extends EventName>(name: N, body: Events[N]): void =>
        tell({ name, at: new Date().toISOString(), body } as MediaEvent)
    const emit = telling(options.emit)
    const { now, place = { index: 0, count: 1 }, cross = () => {} } = options
    this.#clockMs = place.clockMs ?? 0
    const members = this.#members
    const { createVoiceDetector } = options.hearing
    const sounds = new Sounds({ createVoiceDetector, createNoiseSuppressor: options.createNoiseSuppressor }, emit)
    const enterAll = (): void => {
      for (const party of [...members.all(), ...this.#guests.all()]) {
        if (party.room !== null) this.#sinks.enter(party, party.room)
      }
    }
    const pressed: KeysOptions['pressed'] = (...key) => this.#sinks.key(...key)
    const keys = new Keys({ members, now, emit, pressed, refresh: room => this.#rooms.refresh(room), cross })
    this.#rooms = new Rooms({
      ...options,
      ...{ place, members },
      told: (room, words) => this.#told(room, words),
      crossSound: (room, sound) => {
        const legIds = guestsIn(room)
        if (legIds.length > 0) cross({ kind: 'sound', legIds, sound })
      },
      emit,
      emitOwn: telling(options.emitOwn ?? options.emit),
      sounds,
      sinks: () => this.#sinks,
      faults: this.#faults,
      broke: (legIds, error) => {
        for (const legId of legIds) {
          this.#guests.broke(legId)
          this.#legs.broke(legId, error)
        }
      },
    })
    this.tick = this.#rooms.tick.bind(this.#rooms)
    this.#lent = new LentLegs({ place, members, sounds, now, cross })
    const lent: SinkNoun = { create: () => this.#lent }
    this.#sinks = new Sinks([...(options.sinks ?? SINKS), lent], {
      ...options,
      ...{ emit, enterAll, createVoiceDetector },
      fault: error => this.#faults.tell(error, []),
      sinksOf: target => this.#targetOf(target)?.sinks ?? null,
      chorusOf: target => this.#chorusOf(target),
      press: (target, key) => 'legId' in target && members.get(target.legId)?.leg.sendKey(key) === true,
      understands: language => options.hearing.stt.understands(language),
    })
    const [rooms, sinks, faults] = [this.#rooms, this.#sinks, this.#faults]
    this.#guests = new Guests({ place, rooms, sinks: () => sinks, keys, cross, enterAll })
    this.#legs = new Legs(options, {
      ...{ members, rooms, sinks, sounds, faults, emit, cross, enterAll },
      key: (...key) => keys.key(...key),
    })
    this.#handlers = {
      ...this.#sinks.commands,
      ...this.#legs.commands,
      ...new FaxPairs({ members, rooms, now }).commands,
      ...keys.commands,
      ...dialogueCommands(members),
      ...this.#rooms.commands,
      ...this.#guests.commands,
      ...this.#lent.handlers,
      'engine.cross': ({ message }) => this.#crossed(message),
      'engine.died': ({ thread }) => this.#rooms.threadDied(thread),
      'engine.snapshot': () => this.snapshot(),
      'engine.stats': () => this.stats(),
      'engine.close': () => this.shutdown(),
    }
  }

  #targetOf(target: Target): Leg | Room | null {
    return ('legId' in target ? this.#members.get(target.legId)?.leg : this.#rooms.get(target.roomId)) ?? null
  }

  #chorusOf(target: Target): Chorus | null {
    const found = this.#targetOf(target)
    if (found === null) return null
    found.chorus ??= new Chorus(LEG_SAMPLES)
    return found.chorus
  }

  /** What the product has said to everybody in a room. */
  #told(room: Room, words: Words): void {
    const { legs } = room
    const guests = guestsIn(room)
    this.#sinks.told(
      legs.map(leg => leg.id),
      words,
    )
    if (guests.length > 0)
      this.#options.cross?.({ kind: 'told', legIds: guests, words: byClockOf(words, this.#clockMs) })
  }

  #crossed(message: CrossMessage): Record<string, never> {
    if (message.kind === 'key') this.#guests.key(message)
    else if (message.kind === 'begin') this.#guests.begin(message)
    else if (message.kind === 'written') this.#guests.written(message)
    else if (message.kind === 'paused') this.#guests.paused(message)
    else if (message.kind === 'write') this.#lent.write(message)
    else if (message.kind === 'stop_writing') this.#lent.stopWriting(message)
    else if (message.kind === 'sound') this.#lent.sound(message)
    else if (message.kind === 'pressed') this.#lent.pressed(message)
    else if (message.kind === 'told') this.#sinks.told(message.legIds, byClockOf(message.words, -this.#clockMs))
    else this.#members.get(message.legId)?.leg.sendKey(message.key, message.durationMs)
    return {}
  }

  /** Carries out a command, synchronously as far as possible. */
  do<N extends keyof EngineCommands>(name: N, body: EngineCommands[N]['request']): Answer<N> {
    return (this.#handlers[name] as (request: typeof body) => Answer<N>)(body)
  }

  /** Carries out a command. An exception ends the leg it names, and nothing else. */
  async run<N extends keyof EngineCommands>(
    name: N,
    body: EngineCommands[N]['request'],
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    try {
      return await this.do(name, body)
    } catch (error) {
      const named = 'target' in body ? (body.target as object) : body
      if ('legId' in named) this.#legs.broke(named.legId as string, error)
      else this.#faults.tell(error, [])
      return { failure: 'unanswered', message: `a fault: ${error instanceof Error ? error.message : String(error)}` }
    }
  }

  snapshot(): EngineSnapshot {
    return {
      streams: [],
      recordings: [],
      ...this.#sinks.snapshot(),
      legs: Array.from(this.#members.all(), readingOf),
      rooms: Array.from(this.#rooms.all(), room => ({
        roomId: room.spec.roomId,
        legIds: room.legs.map(leg => leg.id),
      })),
      captures: this.#rooms.captures(),
    }
  }

  stats(): EngineCommands['engine.stats']['reply'] {
    const { counters, gauges } = this.#sinks.stats()
    const { heard } = this.#legs
    return {
      counters: {
        clock_slots_total: this.#options.clock.slots,
        clock_behind_slots_total: this.#options.clock.behind,
        clock_late_slots_total: this.#options.clock.late,
        clock_skipped_slots_total: this.#options.clock.skipped,
        rtp_packets_refused_total: this.#legs.packetsRefused,
        rtp_send_errors_total: this.#options.sendErrors(),
        thread_frames_missed_total: this.#guests.missed,
        ...counters,
        utterances_total: heard.utterances,
        utterances_dropped_total: heard.utterancesDropped,
        utterances_failed_total: heard.utterancesFailed,
        utterances_noise_total: heard.noises,
        prompts_failed_total: this.#options.prompts.failures,
        engine_faults_total: this.#faults.count,
      },
      gauges: { rooms: this.#rooms.size, ...heapGauges('engine'), ...gauges },
      thread: {
        id: threadId,
        legs: this.#members.size,
        rooms: this.#rooms.size,
        guests: this.#guests.size,
        busySeconds: busySeconds(),
      },
      histograms: { clock_lateness_seconds: this.#options.clock.lateness.histogram },
    }
  }

  /** Ends whatever is left, and resolves when all recordings are written. */
  async shutdown(): Promise<Record<string, never>> {
    this.#legs.closeAll()
    await this.#sinks.shutdown()
    return {}
  }
}

type Answer<N extends keyof EngineCommands> =
  | EngineCommands[N]['reply']
  | Failure
  | Promise<EngineCommands[N]['reply'] | Failure>
