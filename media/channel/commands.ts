import { Compile, type Validator } from 'typebox/compile'
import type { BrowserBoard } from '../browsers/browser-board.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import type { EngineCommandName, EngineCommands } from '../engine/engine-protocol.ts'
import { RecentIds } from '../kernel/recent-ids.ts'
import {
  COMMANDS,
  type CommandHome,
  type CommandName,
  type CommandOf,
  type Commands,
  type Failure,
  isFailure,
  isRefused,
  type LegSnapshot,
  type MediaEvent,
  type MediaSnapshot,
  type MediaStats,
  type Request,
  type Target,
} from '../protocol.ts'
import type { FarEnds } from '../signalling/far-ends.ts'
import type { Registrar } from '../signalling/registrar.ts'
import type { Switchboard } from '../signalling/switchboard.ts'

/** Recordings and transcripts that are remembered when they have ended. */
const MAX_RECENT = 10_000
/** Of a foreign command's name in a message. */
const MAX_NAME = 100

/** What the main thread carries out itself. */
type Handlers = {
  [N in CommandOf<'main'>]: (request: Commands[N]['request']) => Promise<object> | object
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
  /** Recordings and transcripts that have ended, by their keys: with their call gone nobody can begin them again. */
  readonly #over = new RecentIds(MAX_RECENT)
  readonly #main: Handlers

  constructor(options: CommandsOptions) {
    this.#options = options
    const { browsers, registrar, farEnds } = options
    this.#main = {
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
      'room.close': request => this.#closeRoom(request),
      'stream.read': request => this.#readStreams(request.streamIds),
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
    if (!isCommand(name)) {
      return { failure: 'invalid', message: `unknown command ${name.slice(0, MAX_NAME)}` } satisfies Failure
    }
    if (!fits(name, body)) {
      return { failure: 'invalid', message: `${name}: the body does not fit the command` } satisfies Failure
    }
    if (isOf('main', name)) return this.#main[name](body as never)
    if (isOf('starts', name)) return this.#start(name, body as Request<typeof name>)
    return this.#forward(name, body as never, this.#threadFor(name, body))
  }

  /** The engine thread that carries out a command that it is forwarded as it is. */
  #threadFor(name: CommandOf<'leg' | 'room' | 'target' | 'started'>, body: unknown): EngineThread | undefined {
    if (isOf('leg', name)) return this.#threadOfLeg((body as Request<typeof name>).legId)
    if (isOf('room', name)) return this.#threadOfRoom((body as Request<typeof name>).roomId)
    if (isOf('target', name)) return this.#threadOfTarget((body as Request<typeof name>).target)
    const { id, key } = begunBy(name, body)
    // What a room began by itself, when it was opened or its party agreed, has the room's ID and is on its thread.
    return this.#threads.get(key) ?? this.#threads.get(id)
  }

  /** An event of an engine passes by on its way to control. */
  note(event: MediaEvent, thread: EngineThread): void {
    if (event.name === 'room.opened') this.#threads.set(event.body.roomId, thread)
    else if (event.name === 'room.closed') this.#threads.delete(event.body.roomId)
    else if (event.name === 'recording.ready' || event.name === 'recording.failed') {
      this.#noteEnd(keyOf('recording', event.body.recordingId))
    } else if (event.name === 'transcript.ready') this.#noteEnd(keyOf('transcript', event.body.transcriptId))
    else if (event.name === 'stream.changed' && event.body.endedReason !== null) {
      this.#threads.delete(event.body.streamId)
    }
  }

  #noteEnd(key: string): void {
    this.#threads.delete(key)
    this.#over.add(key)
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

  /** Also of a room that is only being opened: who is answered is told of before its room is there. */
  #threadOfRoom(roomId: string): EngineThread | undefined {
    return this.#threads.get(roomId) ?? this.#options.engines.find(engine => engine.isOpening(roomId))
  }

  #threadOfTarget(target: Target): EngineThread | undefined {
    return 'legId' in target ? this.#threadOfLeg(target.legId) : this.#threadOfRoom(target.roomId)
  }

  /** Known from the moment it is asked for, so that its end, which may come first, finds it; what was refused leaves nothing. */
  async #start(name: CommandOf<'starts'>, request: Request<CommandOf<'starts'>>): Promise<object> {
    const { key } = begunBy(name, request)
    // Its room may be gone while it goes on.
    const thread = this.#threads.get(key) ?? this.#threadOfTarget(request.target)
    if (thread === undefined && this.#over.has(key)) {
      return { failure: 'conflict', message: `${name}: it has ended with its call` } satisfies Failure
    }
    const isNew = !this.#threads.has(key)
    if (isNew && thread !== undefined) this.#threads.set(key, thread)
    const reply = await this.#forward(name, request, thread)
    if (isNew && isRefused(reply)) this.#threads.delete(key)
    return reply
  }

  #forward<N extends EngineCommandName>(
    name: N,
    request: EngineCommands[N]['request'],
    thread: EngineThread | undefined,
  ): Promise<object> | Failure {
    if (thread === undefined) return { failure: 'not_found', message: `${name}: nothing of that ID is here` }
    return thread.request(name, request)
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

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name)

const isOf = <H extends CommandHome>(home: H, name: CommandName): name is CommandOf<H> => COMMANDS[name].home === home

const checks = new Map<CommandName, Validator>()

/** Whether a body is what the command's schema says, which is compiled when it is first asked. */
function fits(name: CommandName, body: unknown): boolean {
  const check = checks.get(name) ?? Compile(COMMANDS[name].request)
  checks.set(name, check)
  return check.Check(body)
}

type Begun = 'stream' | 'recording' | 'transcript'

/** Recordings and transcripts are named after what they are of, as rooms are. */
const keyOf = (kind: Begun, id: string): string => (kind === 'stream' ? id : `${kind} ${id}`)

/** What a command starts, or says of what was started: its ID, and what its thread is kept by. */
function begunBy(name: CommandOf<'starts' | 'started'>, body: unknown): { id: string; key: string } {
  const kind = name.slice(0, name.indexOf('.')) as Begun
  const id = (body as Record<string, string>)[`${kind}Id`]!
  return { id, key: keyOf(kind, id) }
}
