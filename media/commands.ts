import { COMMAND_SHAPES } from './command-shapes.ts'
import type { EngineClient } from './engine-client.ts'
import type { ForwardedCommand } from './engine-protocol.ts'
import {
  type CommandName,
  type Commands,
  type Failure,
  isFailure,
  type MediaEvent,
  type MediaSnapshot,
  type MediaStats,
  type Target,
} from './protocol.ts'
import type { Switchboard } from './switchboard.ts'

/** Of a foreign command's name in a message. */
const MAX_NAME = 100

type Handlers = {
  [N in CommandName]: (request: Commands[N]['request']) => Promise<object> | object
}

export interface CommandsOptions {
  switchboard: Switchboard
  engines: EngineClient[]
  /** The number of the latest event. */
  seq: () => number
  /** Counters of the main thread. */
  stats: () => MediaStats
}

/**
 * The table from a command of the channel to what carries it out: the switchboard where signalling is concerned, an
 * engine thread for the rest. Keeps note of which thread holds which room, stream and recording.
 */
export class CommandTable {
  readonly #options: CommandsOptions
  readonly #threads = new Map<string, EngineClient>()
  readonly #handlers: Handlers

  constructor(options: CommandsOptions) {
    this.#options = options
    const { switchboard } = options
    const toLeg =
      <N extends ForwardedCommand>(name: N) =>
      (request: Commands[N]['request'] & { legId: string }) =>
        this.#forward(name, request, this.#threadOfLeg(request.legId))
    const toTarget =
      <N extends ForwardedCommand>(name: N, idOf?: (request: Commands[N]['request']) => string) =>
      (request: Commands[N]['request'] & { target: Target }) => {
        const thread = this.#threadOfTarget(request.target)
        if (thread !== undefined && idOf !== undefined) this.#threads.set(idOf(request), thread)
        return this.#forward(name, request, thread)
      }
    const toNamed =
      <N extends ForwardedCommand>(name: N, idOf: (request: Commands[N]['request']) => string) =>
      (request: Commands[N]['request']) =>
        this.#forward(name, request, this.#threads.get(idOf(request)))
    this.#handlers = {
      'leg.answer': request => switchboard.answer(request),
      'leg.reject': request => switchboard.reject(request),
      'leg.dial': request => switchboard.dial(request),
      'leg.hangup': request => switchboard.hangup(request),
      'leg.read': async request => ({ legs: await switchboard.read(request.legIds) }),
      'leg.move': request => this.#move(request),
      'leg.update': request => this.#update(request),
      'leg.play': toLeg('leg.play'),
      'leg.stop_play': toLeg('leg.stop_play'),
      'leg.collect': toLeg('leg.collect'),
      'leg.send_dtmf': toLeg('leg.send_dtmf'),
      'room.play': toNamed('room.play', request => request.roomId),
      'room.close': request => this.#closeRoom(request),
      'capture.pause': toTarget('capture.pause'),
      'capture.resume': toTarget('capture.resume'),
      'stream.start': toTarget('stream.start', request => request.streamId),
      'stream.stop': toNamed('stream.stop', request => request.streamId),
      'stream.read': request => this.#readStreams(request.streamIds),
      'recording.start': toTarget('recording.start', request => request.recordingId),
      'recording.stop': toNamed('recording.stop', request => request.recordingId),
      'leg.hold': notBuilt,
      'leg.listen': notBuilt,
      'leg.stop_listen': notBuilt,
      'transcript.start': notBuilt,
      'transcript.stop': notBuilt,
      'sip.register_check': notBuilt,
      'sip.register_reply': notBuilt,
      'browser.close': notBuilt,
      'browser.admit': notBuilt,
      'browser.send': notBuilt,
      'media.snapshot': () => this.#snapshot(),
      'media.stats': () => this.#stats(),
    }
  }

  /** Carries out one command; a name that is none of ours, or a body that does not fit it, is `invalid`. */
  async run(name: string, body: unknown): Promise<object> {
    if (!Object.hasOwn(this.#handlers, name)) {
      return { failure: 'invalid', message: `unknown command ${name.slice(0, MAX_NAME)}` } satisfies Failure
    }
    if (!COMMAND_SHAPES[name as CommandName](body)) {
      return { failure: 'invalid', message: `${name}: the body does not fit the command` } satisfies Failure
    }
    return this.#handlers[name as CommandName](body as never)
  }

  /** An event of an engine passes by on its way to control. */
  note(event: MediaEvent, thread: EngineClient): void {
    if (event.name === 'room.opened') this.#threads.set(event.body.roomId, thread)
    else if (event.name === 'room.closed') this.#threads.delete(event.body.roomId)
    else if (event.name === 'recording.ready' || event.name === 'recording.failed') {
      this.#threads.delete(event.body.recordingId)
    } else if (event.name === 'stream.changed' && event.body.endedReason !== null) {
      this.#threads.delete(event.body.streamId)
    }
  }

  #threadOfLeg(legId: string): EngineClient | undefined {
    return this.#options.switchboard.lines.get(legId)?.engine ?? undefined
  }

  #threadOfTarget(target: Target): EngineClient | undefined {
    return 'legId' in target ? this.#threadOfLeg(target.legId) : this.#threads.get(target.roomId)
  }

  #forward<N extends ForwardedCommand>(
    name: N,
    request: Commands[N]['request'],
    thread: EngineClient | undefined,
  ): Promise<object> | Failure {
    if (thread === undefined) return { failure: 'not_found', message: `${name}: nothing of that ID is here` }
    return thread.request(name, request as never)
  }

  async #move(request: Commands['leg.move']['request']): Promise<object> {
    const thread = this.#threadOfLeg(request.legId)
    const home = this.#threads.get(request.room.roomId)
    if (thread !== undefined && home !== undefined && home !== thread) {
      return { failure: 'conflict', message: 'the room is on another engine thread' } satisfies Failure
    }
    return this.#withSnapshot(request.legId, await this.#forward('leg.move', request, thread))
  }

  async #update(request: Commands['leg.update']['request']): Promise<object> {
    return this.#withSnapshot(
      request.legId,
      await this.#forward('leg.update', request, this.#threadOfLeg(request.legId)),
    )
  }

  /** The engine's reply tells of audio only; control gets the whole leg. */
  async #withSnapshot(legId: string, reply: object): Promise<object> {
    if (isFailure(reply)) return reply
    const [leg] = await this.#options.switchboard.read([legId])
    return leg ?? ({ failure: 'not_found', message: `no leg ${legId}` } satisfies Failure)
  }

  async #closeRoom({ roomId, reason }: Commands['room.close']['request']): Promise<object> {
    const { rooms } = await this.#snapshot()
    const room = rooms.find(candidate => candidate.roomId === roomId)
    if (room === undefined) return { failure: 'not_found', message: `no room ${roomId}` } satisfies Failure
    for (const legId of room.legIds) this.#options.switchboard.hangup({ legId, reason })
    return {}
  }

  async #readStreams(streamIds: string[]): Promise<Commands['stream.read']['reply']> {
    const replies = await Promise.all(this.#options.engines.map(engine => engine.request('stream.read', { streamIds })))
    return { streams: replies.flatMap(reply => (isFailure(reply) ? [] : reply.streams)) }
  }

  async #snapshot(): Promise<MediaSnapshot> {
    const { switchboard, engines } = this.#options
    // The number and the list of legs are of the same moment: a leg that is missing has its end among the events up to it.
    const seq = this.#options.seq()
    const [legs, ...replies] = await Promise.all([
      switchboard.read(switchboard.lines.keys()),
      ...engines.map(engine => engine.request('engine.snapshot', {})),
    ])
    const parts = replies.flatMap(reply => (isFailure(reply) ? [] : [reply]))
    return {
      seq,
      draining: switchboard.draining,
      legs,
      rooms: parts.flatMap(part => part.rooms),
      captures: parts.flatMap(part => part.captures),
      streams: parts.flatMap(part => part.streams),
      recordings: parts.flatMap(part => part.recordings),
    }
  }

  async #stats(): Promise<MediaStats> {
    const replies = await Promise.all(this.#options.engines.map(engine => engine.request('engine.stats', {})))
    const total = this.#options.stats()
    for (const reply of replies) {
      if (isFailure(reply)) continue
      for (const [name, value] of Object.entries(reply.counters))
        total.counters[name] = (total.counters[name] ?? 0) + value
      for (const [name, value] of Object.entries(reply.gauges)) total.gauges[name] = (total.gauges[name] ?? 0) + value
    }
    return total
  }
}

const notBuilt = (): Failure => ({ failure: 'invalid', message: 'not built yet' })
