import type { BrowserBoard } from './browser-board.ts'
import { COMMAND_SHAPES } from './command-shapes.ts'
import type { EngineThread } from './engine-client.ts'
import type { ForwardedCommand } from './engine-protocol.ts'
import type { FarEnds } from './far-ends.ts'
import {
  type CommandName,
  type Commands,
  type Failure,
  isFailure,
  isRefused,
  type LegSnapshot,
  type MediaEvent,
  type MediaSnapshot,
  type MediaStats,
  type Target,
} from './protocol.ts'
import type { Registrar } from './registrar.ts'
import type { Switchboard } from './switchboard.ts'

/** Of a foreign command's name in a message. */
const MAX_NAME = 100

type Handlers = {
  [N in CommandName]: (request: Commands[N]['request']) => Promise<object> | object
}

export interface CommandsOptions {
  switchboard: Switchboard
  browsers: BrowserBoard
  registrar: Registrar
  farEnds: FarEnds
  engines: readonly EngineThread[]
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
  readonly #threads = new Map<string, EngineThread>()
  readonly #handlers: Handlers

  constructor(options: CommandsOptions) {
    this.#options = options
    const { browsers, registrar, farEnds } = options
    const toLeg =
      <N extends ForwardedCommand>(name: N) =>
      (request: Commands[N]['request'] & { legId: string }) =>
        this.#forward(name, request, this.#threadOfLeg(request.legId))
    const toTarget =
      <N extends ForwardedCommand>(name: N) =>
      (request: Commands[N]['request'] & { target: Target }) =>
        this.#forward(name, request, this.#threadOfTarget(request.target))
    const toStart =
      <N extends 'stream.start' | 'recording.start' | 'transcript.start'>(
        name: N,
        idOf: (request: Commands[N]['request']) => string,
      ) =>
      (request: Commands[N]['request'] & { target: Target }) =>
        this.#start(name, request, idOf(request))
    const toNamed =
      <N extends ForwardedCommand>(name: N, idOf: (request: Commands[N]['request']) => string) =>
      (request: Commands[N]['request']) =>
        this.#forward(name, request, this.#threads.get(idOf(request)))
    // What a room began by itself, when it was opened or its party agreed, has the room's ID and is on its thread.
    const toKept =
      <N extends ForwardedCommand>(
        name: N,
        idOf: (request: Commands[N]['request']) => string,
        keyOf: (id: string) => string,
      ) =>
      (request: Commands[N]['request']) => {
        const id = idOf(request)
        return this.#forward(name, request, this.#threads.get(keyOf(id)) ?? this.#threads.get(id))
      }
    this.#handlers = {
      'leg.answer': request => this.#boardOf(request.legId).answer(request),
      'leg.ring': ({ legId }) => this.#options.switchboard.ring(legId),
      'leg.reject': request => this.#boardOf(request.legId).reject(request),
      'leg.challenge': ({ legId }) => this.#options.switchboard.challenge(legId),
      'leg.check_caller': request => this.#options.switchboard.checkCaller(request),
      'leg.dial': request => this.#dial(request),
      'leg.hangup': request => this.hangup(request),
      'leg.read': async request => ({ legs: await this.#read(request.legIds) }),
      'leg.move': request => this.#move(request),
      'leg.update': request => this.#update(request),
      'leg.hold': request => this.#hold(request),
      'leg.listen': toLeg('leg.listen'),
      'leg.stop_listen': toLeg('leg.stop_listen'),
      'leg.play': toLeg('leg.play'),
      'leg.stop_play': toLeg('leg.stop_play'),
      'leg.collect': toLeg('leg.collect'),
      'leg.send_dtmf': toLeg('leg.send_dtmf'),
      'room.play': toNamed('room.play', request => request.roomId),
      'room.close': request => this.#closeRoom(request),
      'capture.pause': toTarget('capture.pause'),
      'capture.resume': toTarget('capture.resume'),
      'stream.start': toStart('stream.start', request => request.streamId),
      'stream.stop': toNamed('stream.stop', request => request.streamId),
      'stream.read': request => this.#readStreams(request.streamIds),
      'recording.start': toStart('recording.start', request => recordingKey(request.recordingId)),
      'recording.pause': toKept('recording.pause', request => request.recordingId, recordingKey),
      'recording.resume': toKept('recording.resume', request => request.recordingId, recordingKey),
      'recording.stop': toKept('recording.stop', request => request.recordingId, recordingKey),
      'transcript.start': toStart('transcript.start', request => transcriptKey(request.transcriptId)),
      'transcript.stop': toKept('transcript.stop', request => request.transcriptId, transcriptKey),
      'sip.register_check': request => registrar.check(request),
      'sip.register_reply': request => registrar.reply(request),
      'connections.set': request => farEnds.set(request),
      'sources.set': ({ networks }) => {
        this.#options.switchboard.know(networks)
        return {}
      },
      'browser.close': request => browsers.close(request),
      'browser.refuse': request => browsers.refuse(request),
      'browser.admit': request => browsers.admit(request),
      'browser.send': request => browsers.send(request),
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
  note(event: MediaEvent, thread: EngineThread): void {
    if (event.name === 'room.opened') this.#threads.set(event.body.roomId, thread)
    else if (event.name === 'room.closed') this.#threads.delete(event.body.roomId)
    else if (event.name === 'recording.ready' || event.name === 'recording.failed') {
      this.#threads.delete(recordingKey(event.body.recordingId))
    } else if (event.name === 'transcript.ready') this.#threads.delete(transcriptKey(event.body.transcriptId))
    else if (event.name === 'stream.changed' && event.body.endedReason !== null) {
      this.#threads.delete(event.body.streamId)
    }
  }

  #threadOfLeg(legId: string): EngineThread | undefined {
    return this.#boardOf(legId).lines.get(legId)?.engine ?? undefined
  }

  /** Who signals for a leg. */
  #boardOf(legId: string): Switchboard | BrowserBoard {
    const { switchboard, browsers } = this.#options
    return browsers.lines.has(legId) ? browsers : switchboard
  }

  #dial(request: Commands['leg.dial']['request']): Promise<object> | Failure {
    const { switchboard, browsers } = this.#options
    const { target } = request
    return 'browserId' in target ? browsers.dial({ ...request, target }) : switchboard.dial({ ...request, target })
  }

  hangup(request: Commands['leg.hangup']['request']): Promise<object> {
    return this.#boardOf(request.legId).hangup(request)
  }

  /** A key on its way from an engine to a party that gets it by signalling. */
  sendKey(legId: string, key: string, durationMs: number): void {
    this.#boardOf(legId).sendKey(legId, key, durationMs)
  }

  async #read(legIds: Iterable<string>): Promise<LegSnapshot[]> {
    const { switchboard, browsers } = this.#options
    const ids = [...legIds]
    return [...(await switchboard.read(ids)), ...(await browsers.read(ids))]
  }

  #threadOfTarget(target: Target): EngineThread | undefined {
    return 'legId' in target ? this.#threadOfLeg(target.legId) : this.#threads.get(target.roomId)
  }

  /** Known from the moment it is asked for, so that its end, which may come first, finds it; what was refused leaves nothing. */
  async #start<N extends 'stream.start' | 'recording.start' | 'transcript.start'>(
    name: N,
    request: Commands[N]['request'] & { target: Target },
    id: string,
  ): Promise<object> {
    // Its room may be gone while it goes on.
    const thread = this.#threads.get(id) ?? this.#threadOfTarget(request.target)
    const isNew = !this.#threads.has(id)
    if (isNew && thread !== undefined) this.#threads.set(id, thread)
    const reply = await this.#forward(name, request, thread)
    if (isNew && isRefused(reply)) this.#threads.delete(id)
    return reply
  }

  #forward<N extends ForwardedCommand>(
    name: N,
    request: Commands[N]['request'],
    thread: EngineThread | undefined,
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

  async #hold(request: Commands['leg.hold']['request']): Promise<object> {
    const thread = this.#threadOfLeg(request.legId)
    if (thread === undefined) return { failure: 'not_found', message: `no leg ${request.legId}` } satisfies Failure
    const reply = await thread.request('leg.hold', request)
    if (!isFailure(reply)) this.#boardOf(request.legId).hold(request.legId, request.held)
    return this.#withSnapshot(request.legId, reply)
  }

  /** The engine's reply tells of audio only; control gets the whole leg. */
  async #withSnapshot(legId: string, reply: object): Promise<object> {
    if (isFailure(reply)) return reply
    const [leg] = await this.#read([legId])
    return leg ?? ({ failure: 'not_found', message: `no leg ${legId}` } satisfies Failure)
  }

  async #closeRoom({ roomId, reason }: Commands['room.close']['request']): Promise<object> {
    const snapshot = await this.#snapshot()
    if (isFailure(snapshot)) return snapshot
    const room = snapshot.rooms.find(candidate => candidate.roomId === roomId)
    if (room === undefined) return { failure: 'not_found', message: `no room ${roomId}` } satisfies Failure
    await Promise.all(room.legIds.map(legId => this.hangup({ legId, reason })))
    return {}
  }

  async #readStreams(streamIds: string[]): Promise<Commands['stream.read']['reply']> {
    const replies = await Promise.all(this.#options.engines.map(engine => engine.request('stream.read', { streamIds })))
    return { streams: replies.flatMap(reply => (isFailure(reply) ? [] : reply.streams)) }
  }

  /** Of all threads, or none: what is missing in it is taken for gone. */
  async #snapshot(): Promise<MediaSnapshot | Failure> {
    const { switchboard, browsers, engines } = this.#options
    // The number and the list of legs are of the same moment: a leg that is missing has its end among the events up to it.
    const seq = this.#options.seq()
    const [legs, ...replies] = await Promise.all([
      this.#read([...switchboard.lines.keys(), ...browsers.lines.keys()]),
      ...engines.map(engine => engine.request('engine.snapshot', {})),
    ])
    const failure = replies.find(isFailure)
    if (failure !== undefined) return failure
    const parts = replies.flatMap(reply => (isFailure(reply) ? [] : [reply]))
    return {
      seq,
      legs,
      rooms: parts.flatMap(part => part.rooms),
      captures: parts.flatMap(part => part.captures),
      streams: parts.flatMap(part => part.streams),
      recordings: parts.flatMap(part => part.recordings),
      browserIds: browsers.browserIds,
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

/** A call's recording and its transcript have the ID of its room. */
const recordingKey = (recordingId: string): string => `recording ${recordingId}`
const transcriptKey = (transcriptId: string): string => `transcript ${transcriptId}`
