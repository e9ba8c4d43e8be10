import { LRUCache } from 'lru-cache'
import { Compile, type Validator } from 'typebox/compile'
import type { BrowserBoard } from '../browsers/browser-board.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import type { EngineCommandName } from '../engine/engine-protocol.ts'
import { SINKS } from '../engine/sinks.ts'
import type { Threads } from '../engine/threads/threads.ts'
import { atMost } from '../protocol/at-most.ts'
import {
  COMMANDS,
  type Command,
  type CommandOf,
  type Commands,
  type Failure,
  isFailure,
  isRefused,
  type LegSnapshot,
  type MediaSnapshot,
  type MediaStats,
  type Target,
} from '../protocol.ts'
import type { FarEnds } from '../signalling/far-ends.ts'
import type { Phones } from '../signalling/phones.ts'
import type { Registrar } from '../signalling/registrar.ts'
import { NO_CAPACITY, type Switchboard } from '../signalling/switchboard.ts'
import type { TraceDesk } from '../signalling/trace-desk.ts'
import type { SinkNoun } from '../sinks/sink-kind.ts'
import type { TextToSpeech } from '../speech/speech-engines.ts'
import { ThreadStats } from './thread-stats.ts'

/** Maximum number of remembered recordings and transcripts that have ended. */
const MAX_RECENT = 10_000
/** Maximum length of an unknown command's name in a message. */
const MAX_NAME = 100
const DRAINING: Failure = { failure: 'unavailable', message: 'the media process is draining' }

/** The commands of the main thread. */
type Handlers = {
  [N in CommandOf<'main'>]: (request: Commands[N]['request']) => Promise<object> | object
}

interface CommandsOptions {
  switchboard: Switchboard
  browsers: BrowserBoard
  registrar: Registrar
  phones: Phones
  farEnds: FarEnds
  traces: TraceDesk
  threads: Pick<Threads, 'all' | 'ofRoom'>
  /** The number of the latest event. */
  seq: () => number
  /** Recordings of an earlier process that are being finished. Absent: none. */
  unfinished?: () => Iterable<string>
  /** Counters of the main thread. */
  stats: () => MediaStats
  speech: TextToSpeech
  /** All kinds of sinks; absent: the product's. */
  sinks?: readonly SinkNoun[]
}

/**
 * The table from commands of the channel to their handlers: the switchboard for signalling, an
 * engine thread for the rest. It remembers which thread has which stream and recording.
 */
export class CommandTable {
  readonly #options: CommandsOptions
  readonly #threads = new Map<string, EngineThread>()
  readonly #threadStats = new ThreadStats()
  /** Recordings and transcripts that have ended, by key: a start that was on its way then comes too late. */
  readonly #over = new LRUCache<string, true>(atMost(MAX_RECENT))
  /** For each snapshot in progress, the recordings that have ended meanwhile, whose events follow it. */
  readonly #asking = new Set<Set<string>>()
  readonly #main: Handlers
  readonly #declared: Record<string, Command>
  readonly #checks = new Map<string, Validator>()

  constructor(options: CommandsOptions) {
    this.#options = options
    const { browsers, registrar, phones, farEnds, traces, sinks = SINKS } = options
    this.#declared = Object.assign({}, COMMANDS, ...sinks.map(({ declares }) => declares))
    this.#main = {
      'leg.answer': request => this.#boardOf(request.legId).answer(request),
      'leg.ring': request => this.#options.switchboard.ring(request),
      'leg.reject': request => this.#boardOf(request.legId).reject(request),
      'leg.pass_on': request => this.#options.switchboard.passOn(request),
      'leg.challenge': request => this.#options.switchboard.challenge(request),
      'leg.verify': request => this.#options.switchboard.verify(request),
      'leg.check_caller': request => this.#options.switchboard.checkCaller(request),
      'leg.reserve': request => this.#reserve(request),
      'leg.release': request => this.#options.switchboard.release(request),
      'leg.dial': request => this.#dial(request),
      'leg.redirect_answer': request => this.#options.switchboard.redirects.answer(request),
      'leg.refer_answer': request => this.#options.switchboard.transfers.answer(request),
      'leg.refer_notify': request => this.#options.switchboard.transfers.notify(request),
      'leg.refer_bridge': request => this.#options.switchboard.transfers.bridge(request),
      'leg.refer_join': request => this.#options.switchboard.transfers.join(request),
      'leg.refer': request => this.#options.switchboard.transfers.refer(request),
      'leg.replace': request => this.#options.switchboard.replace(request),
      'leg.hangup': request => this.hangup(request),
      'leg.read': async request => ({ legs: await this.#read(request.legIds) }),
      'leg.move': request => this.#move(request),
      'leg.update': request => this.#update(request),
      'leg.hold': request => this.#hold(request),
      'room.close': request => this.#closeRoom(request),
      'stream.read': request => this.#readStreams(request.streamIds),
      'sip.register_check': request => registrar.check(request),
      'sip.register_reply': request => registrar.reply(request),
      'sip.keep_open': request => registrar.keepOpen(request),
      'sip.ask_check': request => phones.check(request),
      'sip.ask_reply': request => phones.reply(request),
      'sip.notify': request => phones.notify(request),
      'sip.subscriptions': () => phones.subscriptions(),
      'sip.message': request => phones.send(request),
      'connections.set': request => farEnds.set(request),
      'sources.set': request => {
        this.#options.switchboard.know(request)
        return {}
      },
      'sip.trace_read': request => traces.read(request),
      'sip.trace_take': request => traces.take(request),
      'browser.close': request => browsers.close(request),
      'browser.refuse': request => browsers.refuse(request),
      'browser.admit': request => browsers.admit(request),
      'browser.send': request => browsers.send(request),
      'speech.speak': request => this.#speak(request),
      'media.snapshot': () => this.#snapshot(),
      'media.stats': () => this.#stats(),
    }
  }

  /**
   * Carries out one command; an unknown name, or a body that does not match it, is `invalid`. That a leg is `not_found` is answered after what
   * tells of its end.
   */
  async run(name: string, body: unknown): Promise<object> {
    const reply = await this.#carryOut(name, body)
    if (isFailure(reply) && reply.failure === 'not_found') {
      const { legId = '' } = body as { legId?: string }
      await this.#boardOf(legId).lines.get(legId)?.ending
    }
    return reply
  }

  async #carryOut(name: string, body: unknown): Promise<object> {
    const command = Object.hasOwn(this.#declared, name) ? this.#declared[name] : undefined
    if (command === undefined) {
      return { failure: 'invalid', message: `unknown command ${name.slice(0, MAX_NAME)}` } satisfies Failure
    }
    if (!this.#fits(name, command, body)) {
      return { failure: 'invalid', message: `${name}: the body does not fit the command` } satisfies Failure
    }
    if (command.home === 'main') return this.#main[name as CommandOf<'main'>](body as never)
    if (command.home === 'starts') return this.#start(name, body as { target: Target })
    const thread = this.#threadFor(name, command.home, body)
    return thread === undefined && command.home === 'started'
      ? this.#askAll(name, body)
      : this.#forward(name, body, thread)
  }

  /** Validates a body against the command's schema, which is compiled at its first use. */
  #fits(name: string, { request }: Command, body: unknown): boolean {
    const check = this.#checks.get(name) ?? Compile(request)
    this.#checks.set(name, check)
    return check.Check(body)
  }

  /** The engine thread for a forwarded command. */
  #threadFor(name: string, home: 'leg' | 'room' | 'target' | 'started', body: unknown): EngineThread | undefined {
    if (home === 'leg') return this.#threadOfLeg((body as { legId: string }).legId)
    if (home === 'room') return this.#threadOfRoom((body as { roomId: string }).roomId)
    if (home === 'target') return this.#threadOfTarget((body as { target: Target }).target)
    const { id, key } = begunBy(name, body)
    // What a room has started has the room's ID, and is on its thread.
    return this.#threads.get(key) ?? this.#options.threads.ofRoom(id)
  }

  /** Something that a command began has ended; called before its event. */
  over(kind: string, id: string): void {
    const key = keyOf(kind, id)
    this.#threads.delete(key)
    if (kind !== 'stream') this.#over.set(key, true)
    if (kind === 'recording') for (const ended of this.#asking) ended.add(id)
  }

  /** A thread has died: what began there is gone, and these legs have no audio any more. Resolves once their ends are reported. */
  async lost(thread: EngineThread, legIds: readonly string[]): Promise<void> {
    for (const [key, of] of this.#threads) if (of === thread) this.#threads.delete(key)
    await Promise.all(legIds.map(legId => this.hangup({ legId, reason: 'media_failed' })))
  }

  #threadOfLeg(legId: string): EngineThread | undefined {
    return this.#boardOf(legId).lines.get(legId)?.engine ?? undefined
  }

  /** The signalling of a leg. */
  #boardOf(legId: string): Switchboard | BrowserBoard {
    const { switchboard, browsers } = this.#options
    return browsers.lines.has(legId) ? browsers : switchboard
  }

  #dial(request: Commands['leg.dial']['request']): Promise<object> | Failure {
    const { switchboard, browsers } = this.#options
    const { target } = request
    const refusal = this.#refusalOf(request)
    // No attempt: it may be repeated, or by another node.
    if (refusal !== null) return { ...refusal, failure: 'capacity' }
    return 'browserId' in target ? browsers.dial({ ...request, target }) : switchboard.dial({ ...request, target })
  }

  #reserve(request: Commands['leg.reserve']['request']): object | Failure {
    return this.#refusalOf(request) ?? this.#options.switchboard.reserve(request)
  }

  /**
   * While the process is draining, or its engine threads are full, only legs of what runs begin: an agent for a caller who waits, a guest of a
   * conference. Null: it may begin.
   */
  #refusalOf({
    legId,
    callerLegId,
    near,
  }: Pick<Commands['leg.dial']['request'], 'legId' | 'callerLegId' | 'near'>): Failure | null {
    const { switchboard, threads } = this.#options
    const refusal = switchboard.draining ? DRAINING : switchboard.isEngineFull ? NO_CAPACITY : null
    if (refusal === null || switchboard.isReserved(legId)) return null
    const isRoom = near !== undefined && threads.ofRoom(near) !== undefined
    const isForCaller = callerLegId !== undefined && this.#boardOf(callerLegId).lines.has(callerLegId)
    return isRoom || isForCaller ? null : refusal
  }

  hangup(request: Commands['leg.hangup']['request']): Promise<object> {
    return this.#boardOf(request.legId).hangup(request)
  }

  /** A key from an engine to a party that gets keys by signalling. */
  sendKey(legId: string, key: string, durationMs: number): void {
    this.#boardOf(legId).sendKey(legId, key, durationMs)
  }

  async #read(legIds: Iterable<string>): Promise<LegSnapshot[]> {
    const { switchboard, browsers } = this.#options
    const ids = [...legIds]
    return [...(await switchboard.read(ids)), ...(await browsers.read(ids))]
  }

  /** Also for a room that is just being opened: an answer is reported before its room exists. */
  #threadOfRoom(roomId: string): EngineThread | undefined {
    return this.#options.threads.ofRoom(roomId)
  }

  #threadOfTarget(target: Target): EngineThread | undefined {
    return 'legId' in target ? this.#threadOfLeg(target.legId) : this.#threadOfRoom(target.roomId)
  }

  /** Known from the request on, so that its end, which may come first, finds it; a refused one is removed. */
  async #start(name: string, request: { target: Target; live?: boolean }): Promise<object> {
    const { key } = begunBy(name, request)
    // Its room may be gone while it continues.
    const thread = this.#threads.get(key) ?? this.#threadOfTarget(request.target)
    // A copilot hears on when its caller agrees again.
    const mayGoOn = thread !== undefined && request.live === true
    if (this.#over.has(key) && !mayGoOn) {
      return { failure: 'ended', message: `${name}: it has ended` } satisfies Failure
    }
    const isNew = !this.#threads.has(key)
    if (isNew && thread !== undefined) this.#threads.set(key, thread)
    const reply = await (thread === undefined ? this.#askAll(name, request) : this.#forward(name, request, thread))
    if (isNew && isRefused(reply)) this.#threads.delete(key)
    return reply
  }

  /**
   * What a room has begun by itself may be known where that room was: a recording until its file is written, and what a party took along
   * into a conference.
   */
  async #askAll(name: string, request: unknown): Promise<object> {
    const replies = this.#options.threads.all.map(thread => this.#forward(name, request, thread))
    const isKnown = (reply: object): boolean => !isFailure(reply) || reply.failure !== 'not_found'
    return (await Promise.all(replies)).find(isKnown) ?? this.#forward(name, request, undefined)
  }

  #forward(name: string, request: unknown, thread: EngineThread | undefined): Promise<object> | Failure {
    if (thread === undefined) return { failure: 'not_found', message: `${name}: nothing of that ID is here` }
    return thread.request(name as EngineCommandName, request as never)
  }

  async #move(request: Commands['leg.move']['request']): Promise<object> {
    this.#options.switchboard.moved(request.legId)
    return this.#withSnapshot(request.legId, await this.#forward('leg.move', request, this.#threadOfLeg(request.legId)))
  }

  async #update(request: Commands['leg.update']['request']): Promise<object> {
    const { legId, sound } = request
    const reply = await this.#forward('leg.update', request, this.#threadOfLeg(legId))
    const line = this.#options.switchboard.lines.get(legId)
    // Its audio may be reopened for the next way of its call.
    if (sound !== undefined && line !== undefined && !isFailure(reply)) line.sound = { ...line.sound, ...sound }
    return this.#withSnapshot(legId, reply)
  }

  async #hold(request: Commands['leg.hold']['request']): Promise<object> {
    const thread = this.#threadOfLeg(request.legId)
    if (thread === undefined) return { failure: 'not_found', message: `no leg ${request.legId}` } satisfies Failure
    const reply = await thread.request('leg.hold', request)
    if (!isFailure(reply)) this.#boardOf(request.legId).hold(request.legId, request.held)
    return this.#withSnapshot(request.legId, reply)
  }

  /** The engine's reply covers audio only; control gets the whole leg. */
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
    const replies = await Promise.all(
      this.#options.threads.all.map(engine => engine.request('stream.read', { streamIds })),
    )
    return { streams: replies.flatMap(reply => (isFailure(reply) ? [] : reply.streams)) }
  }

  async #speak({ affinity, text, voice, language }: Commands['speech.speak']['request']): Promise<object> {
    const owner = { legId: '', callId: null, affinity }
    const spoken = await this.#options.speech.speak(text, voice, language, owner)
    if ('error' in spoken) return { failure: 'capacity', message: spoken.error } satisfies Failure
    const { buffer, byteOffset, byteLength } = spoken.samples
    return { samples: Buffer.from(buffer, byteOffset, byteLength).toString('base64') }
  }

  /** From all threads, or none: whatever is missing in it counts as gone. */
  async #snapshot(): Promise<MediaSnapshot | Failure> {
    const { switchboard, browsers, threads } = this.#options
    // The number and the list of legs are consistent: the end of a missing leg is among the events up to the number.
    const seq = this.#options.seq()
    const unfinished = new Set(this.#options.unfinished?.())
    this.#asking.add(unfinished)
    const [legs, ...replies] = await Promise.all([
      this.#read([...switchboard.lines.keys(), ...browsers.lines.keys()]),
      ...threads.all.map(engine => engine.request('engine.snapshot', {})),
    ]).finally(() => this.#asking.delete(unfinished))
    const failure = replies.find(isFailure)
    if (failure !== undefined) return failure
    const parts = replies.flatMap(reply => (isFailure(reply) ? [] : [reply]))
    for (const { recordingId } of parts.flatMap(part => part.recordings)) unfinished.add(recordingId)
    return {
      seq,
      legs,
      rooms: parts.flatMap(part => part.rooms),
      captures: parts.flatMap(part => part.captures),
      streams: parts.flatMap(part => part.streams),
      recordings: Array.from(unfinished, recordingId => ({ recordingId })),
      browserIds: browsers.browserIds,
      refers: switchboard.transfers.open,
    }
  }

  async #stats(): Promise<MediaStats> {
    const replies = await Promise.all(this.#options.threads.all.map(engine => engine.request('engine.stats', {})))
    return this.#threadStats.add(this.#options.stats(), replies)
  }
}

/** Recordings and transcripts have the ID of their subject, like rooms. */
const keyOf = (kind: string, id: string): string => (kind === 'stream' ? id : `${kind} ${id}`)

/** What a command starts, or refers to: its ID, and its key for the thread lookup. */
function begunBy(name: string, body: unknown): { id: string; key: string } {
  const kind = name.slice(0, name.indexOf('.'))
  const id = (body as Record<string, string>)[`${kind}Id`]!
  return { id, key: keyOf(kind, id) }
}
