import { createConnection, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import {
  type CommandName,
  encodeMessage,
  type Failure,
  isFailure,
  type MediaEvent,
  type MediaSnapshot,
  MessageReader,
  PROTOCOL_VERSION,
  type Reply,
  type Request,
  type ToMedia,
} from '../../media/protocol.ts'
import type { Sizes } from '../kernel/metrics/metrics-text.ts'
import { type EventSink, type EventSource, MediaEvents, type MediaPort } from './events.ts'
import { DEFAULT_DEADLINE_MS, MediaRequests, unavailable } from './requests.ts'

const RECONNECT_MS = 100
/** Interval of trying to begin while the store is unavailable [ms]. */
const STORELESS_MS = 1000
const HELLO_DEADLINE_MS = 2000
/** Delay after a snapshot that could not be requested [ms]. */
const LOOK_AGAIN_MS = 500

/** Control's handlers of media's reports. Calls never overlap. */
export interface MediaHandler extends EventSink {
  /** Handlers that have thrown so far; each ended its call. */
  readonly faults: number
  /** The last committed event, and its media process. */
  position(): Promise<Position>
  /** Called for a new media process: everything in the old one has ended. Commits the new position. `dialled`: whom the old one may have called. */
  booted(bootId: string, dialled: Dialled): Promise<void>
  /** Called once every event up to `snapshot.seq` has been handled: corrects what differs from the snapshot. */
  reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
  /** As `reconcile`, only for these legs, while the others continue: their commands were not answered, and the snapshot shows the outcome. */
  recheck(snapshot: MediaSnapshot, legIds: ReadonlySet<string>, media: MediaPort): Promise<void>
}

/** `ready`: connected and reconciled; only then are requests of the API let through. */
type MediaState = 'disconnected' | 'reconciling' | 'ready'

/** Commands that change nothing in media, so it does not matter whether they were carried out. */
const READS: ReadonlySet<CommandName> = new Set(['leg.read', 'stream.read', 'media.snapshot', 'media.stats'])

/** The leg or room that a command is about. */
function subjectOf(body: object): string | null {
  const named = ('target' in body && typeof body.target === 'object' ? body.target : body) as Record<string, unknown>
  const id = 'legId' in body ? body.legId : (named.legId ?? named.roomId)
  return typeof id === 'string' ? id : null
}

function readable(snapshot: MediaSnapshot | Failure): MediaSnapshot {
  if (isFailure(snapshot)) throw new Error(`no snapshot: ${snapshot.message}`)
  return snapshot
}

/** A snapshot with what our commands have made and changed since: only callers who are yet to be told of come by themselves. */
function withMade(before: MediaSnapshot, later: MediaSnapshot): MediaSnapshot {
  const known = new Set(before.legs.map(leg => leg.legId))
  const legs = later.legs.filter(leg => leg.state !== 'incoming' || known.has(leg.legId))
  return {
    ...before,
    legs: newest(before.legs, legs, leg => leg.legId),
    rooms: newest(before.rooms, later.rooms, room => room.roomId),
    captures: newest(before.captures, later.captures, ({ target }) => JSON.stringify(target)),
    streams: newest(before.streams, later.streams, stream => stream.streamId),
    recordings: newest(before.recordings, later.recordings, recording => recording.recordingId),
  }
}

/** What is missing later stays: its end is yet to be told. */
const newest = <T>(before: readonly T[], later: readonly T[], idOf: (one: T) => string): T[] => [
  ...new Map([...before, ...later].map(one => [idOf(one), one])).values(),
]

/** Legs whose INVITE may have left; null: not known. */
export type Dialled = ReadonlySet<unknown> | null

type Position = { bootId: string | null; lastSeq: number }

/** With this position, media sends everything again that it was not told is committed. */
const NOWHERE: Position = { bootId: null, lastSeq: 0 }

interface MediaClientOptions {
  /** Default deadline of requests [ms]. */
  deadlineMs?: number
  /** For `doc_url` in refusals; no trailing slash. */
  publicUrl?: string
}

/** Control's end of the channel to the media process: requests with deadlines, events in order, and a new connection whenever the old one broke. */
export class MediaClient implements MediaPort {
  readonly #path: string
  readonly #deadlineMs: number
  readonly #handler: MediaHandler
  readonly #log: Logger
  readonly #requests = new MediaRequests()
  /** The port that the handler uses: it works while reconciling too. */
  readonly #inner: MediaPort = {
    request: (name, body, deadlineMs) => this.#send(name, body, deadlineMs),
    settled: () => this.settled(),
    waitingSince: '',
    isEnding: legId => this.#events.isEnding(legId),
    isDraining: false,
  }
  readonly #events: MediaEvents
  /** IDs of legs and rooms with unanswered commands. */
  #doubts = new Set<string>()
  #isLooking = false
  #looking: Promise<void> = Promise.resolve()
  #connections = 0
  #eventsLost = 0
  #state: MediaState = 'disconnected'
  #socket: Socket | null = null
  #pumping: Promise<void> = Promise.resolve()
  #isPumping = false
  #closed = false
  #retry: NodeJS.Timeout | undefined
  isDraining = false
  /** Media has said that it ends. */
  #isOver = false

  constructor(path: string, handler: MediaHandler, log: Logger, options: MediaClientOptions = {}) {
    this.#path = path
    this.#deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS
    this.#handler = handler
    this.#log = log
    this.#events = new MediaEvents(handler, this.#inner, log, options.publicUrl ?? '')
  }

  /** Counts of the channel so far. */
  get counters(): Readonly<Record<string, number>> {
    const [connections, eventsLost] = [this.#connections, this.#eventsLost]
    const faults = this.#handler.faults
    const { storeOutages } = this.#events
    return { ...this.#requests.counters, ...this.#events.counters, storeOutages, connections, eventsLost, faults }
  }

  get state(): MediaState {
    return this.#state
  }

  get batchSizes(): Sizes {
    return this.#events.batchSizes
  }

  /** Whether the store accepts no events, so that callers are refused. */
  get isStoreAway(): boolean {
    return this.#events.isStoreAway
  }

  /** Connects, and reconnects for ever. */
  start(): void {
    void this.#connect()
  }

  /** Ends the connection after the events in hand. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#socket?.destroy()
    await this.idle()
  }

  /** Resolves when nothing that follows from events or unanswered commands is in progress. */
  async idle(): Promise<void> {
    await this.#pumping
    await this.#events.idle()
    await this.#looking
  }

  /** Breaks the connection, so that after the next one the rows are compared with what media does. */
  reconnect(): void {
    this.#socket?.destroy()
  }

  request<N extends CommandName>(name: N, body: Request<N>, deadlineMs?: number): Promise<Reply<N> | Failure> {
    if (this.#state !== 'ready') return Promise.resolve(unavailable('no media process'))
    return this.#send(name, body, deadlineMs)
  }

  settled(): Promise<void> {
    if (this.#state !== 'ready' || this.#events.isEmpty || this.isStoreAway) return Promise.resolve()
    const settled = this.#events.mark()
    this.#pump()
    return settled
  }

  isEnding(legId: string): boolean {
    return this.#events.isEnding(legId)
  }

  get waitingSince(): string | null {
    return this.#state === 'ready' ? this.#events.waitingSince : ''
  }

  // ------------------------------------------------------------------ connection

  async #connect(): Promise<void> {
    // Events being handled may still commit, and the position in our hello must include them.
    await this.#pumping
    await this.#events.idle()
    if (this.#closed) return
    const position = await this.#handler.position().catch((error: unknown) => {
      // Callers are refused at once meanwhile.
      if (this.#events.storeAway(error)) return NOWHERE
      this.#log.error({ err: error }, 'cannot read which media events are committed')
      return null
    })
    if (position === null) {
      this.#retryLater()
      return
    }
    if (this.#closed) return
    const socket = createConnection(this.#path)
    this.#socket = socket
    const reader = new MessageReader()
    const helloTimer = setTimeout(() => socket.destroy(), HELLO_DEADLINE_MS)
    socket.on('connect', () => this.#write({ type: 'hello', version: PROTOCOL_VERSION, ...position }))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(helloTimer)
      this.#broken(socket)
    })
    socket.on('data', bytes => {
      const result = reader.read(bytes)
      if ('error' in result) {
        this.#log.error({ reason: result.error }, 'media sent an unreadable message')
        socket.destroy()
        return
      }
      for (const message of result.messages) {
        if (message.type === 'hello') clearTimeout(helloTimer)
        this.#receive(socket, message)
      }
    })
  }

  #broken(socket: Socket): void {
    if (this.#socket !== socket) return
    this.#socket = null
    if (this.#state !== 'disconnected' && !this.#isOver) this.#log.warn('the channel to media broke')
    this.#state = 'disconnected'
    this.#requests.abandon()
    // The next connection begins with a comparison of everything.
    this.#doubts.clear()
    // Media keeps what was not acknowledged.
    this.#events.clear()
    this.#retryLater()
  }

  #retryLater(): void {
    if (!this.#closed) this.#retry = setTimeout(() => void this.#connect(), RECONNECT_MS)
  }

  #receive(socket: Socket, message: Record<string, unknown>): void {
    if (this.#socket !== socket) return
    this.isDraining &&= message.type !== 'hello'
    if (message.type === 'hello') void this.#greeted(socket, message)
    else if (message.type === 'draining') this.isDraining = true
    else if (message.type === 'bye') this.#isOver = true
    else if (message.type === 'reply' && typeof message.id === 'number')
      this.#requests.replied(message.id, message.body)
    else if (message.type === 'event' && Number.isSafeInteger(message.seq)) {
      this.#queue(socket, message.seq as number, message.event as MediaEvent)
    }
  }

  async #greeted(socket: Socket, hello: Record<string, unknown>): Promise<void> {
    if (hello.version !== PROTOCOL_VERSION || typeof hello.bootId !== 'string') {
      this.#log.error({ ours: PROTOCOL_VERSION, theirs: hello.version }, 'media speaks another version of the protocol')
      socket.destroy()
      return
    }
    this.#state = 'reconciling'
    this.#connections++
    this.#eventsLost = Number(hello.eventsLost ?? 0)
    const dialled = Array.isArray(hello.dialled) ? new Set(hello.dialled) : null
    const opening = this.#open(socket, hello.bootId, dialled)
    this.#pumping = opening
    await opening
    if (this.#socket === socket && this.state === 'ready') this.#pump()
  }

  /** Begins service once the store is available; until then callers are refused. */
  async #open(socket: Socket, bootId: string, dialled: Dialled): Promise<void> {
    while (this.#socket === socket) {
      try {
        await this.#begin(socket, bootId, dialled)
        return
      } catch (error) {
        if (!this.#events.storeAway(error)) {
          this.#log.error({ err: error }, 'cannot resume with media')
          socket.destroy()
          return
        }
      }
      await sleep(STORELESS_MS)
    }
  }

  /** Steps between hello and normal service: the end of the old process, missed events, the comparison. */
  async #begin(socket: Socket, bootId: string, dialled: Dialled): Promise<void> {
    const position = await this.#handler.position()
    if (position.bootId !== bootId) await this.#handler.booted(bootId, dialled)
    const snapshot = readable(await this.#send('media.snapshot', {}))
    // Later events wait, so that a leg newer than the snapshot is not taken for one that is missing.
    await this.#events.drain(this.#source(socket), snapshot.seq)
    // The comparison sees their effects, such as a leg that is dialled for a missed caller.
    await this.#events.idle()
    const later = readable(await this.#send('media.snapshot', {}))
    if (this.#socket !== socket) return
    await this.#handler.reconcile(withMade(snapshot, later), this.#inner)
    if (this.#socket !== socket) return
    this.#state = 'ready'
    this.#events.storeBack()
    this.#log.info({ bootId, legs: snapshot.legs.length }, 'connected to media')
    this.#look()
  }

  // ------------------------------------------------------------------ events

  #queue(socket: Socket, seq: number, event: MediaEvent): void {
    if (!this.#events.push({ seq, event })) {
      this.#log.error('too many media events are waiting')
      socket.destroy()
    } else if (this.#state === 'ready') this.#pump()
  }

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    this.#pumping = this.#drain().finally(() => {
      this.#isPumping = false
    })
  }

  async #drain(): Promise<void> {
    const socket = this.#socket
    // Messages from the same read of the socket are queued first.
    await null
    if (socket === null) return
    try {
      await this.#events.drain(this.#source(socket))
    } catch (error) {
      // Media sends again what was not acknowledged.
      this.#log.error({ err: error }, 'events of media could not be handled')
      socket.destroy()
    }
  }

  #source(socket: Socket): EventSource {
    return {
      isOpen: () => this.#socket === socket,
      acknowledge: seq => this.#write({ type: 'ack', seq }),
      fail: () => void socket.destroy(),
    }
  }

  // ------------------------------------------------------------------ requests

  #send<N extends CommandName>(name: N, body: Request<N>, deadlineMs?: number): Promise<Reply<N> | Failure> {
    if (this.#socket === null || this.#state === 'disconnected') return Promise.resolve(unavailable('no media process'))
    const write = (id: number): void => this.#write({ type: 'request', id, name, body })
    // The comparison also finds commands that were never sent.
    const isSent = !this.#requests.isFull
    return this.#requests.send(write, name, deadlineMs ?? this.#deadlineMs).then(reply => {
      if (!isSent || (isFailure(reply) && reply.failure === 'unanswered')) this.#doubt(name, body)
      return reply
    })
  }

  // ------------------------------------------------------------------ doubt

  /** Notes a command without an answer. The next snapshot shows whether it was carried out. */
  #doubt(name: CommandName, body: object): void {
    const subject = subjectOf(body)
    if (READS.has(name) || subject === null || this.#state === 'disconnected') return
    this.#doubts.add(subject)
    this.#look()
  }

  /** Compares the subjects of unanswered commands with a snapshot requested afterwards: by then media has received every earlier command. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    this.#looking = this.#lookAll().finally(() => {
      this.#isLooking = false
    })
  }

  async #lookAll(): Promise<void> {
    try {
      while (this.#doubts.size > 0 && this.#state === 'ready') await this.#lookOnce()
    } catch (error) {
      this.#log.error({ err: error }, 'cannot compare with media')
      this.#socket?.destroy()
    }
  }

  async #lookOnce(): Promise<void> {
    const socket = this.#socket
    const doubts = this.#doubts
    this.#doubts = new Set()
    const snapshot = await this.#send('media.snapshot', {})
    await this.settled()
    // The rows have what events told since the first, such as a room that opened.
    const later = await this.#send('media.snapshot', {})
    if (this.#socket !== socket) return
    if ([snapshot, later].some(reply => isFailure(reply) && reply.failure === 'unavailable')) {
      for (const subject of doubts) this.#doubts.add(subject)
      await sleep(LOOK_AGAIN_MS)
      return
    }
    this.#log.warn({ subjects: [...doubts] }, 'commands without an answer: compared with media')
    await this.#handler.recheck(withMade(readable(snapshot), readable(later)), doubts, this.#inner)
  }

  /** Messages of one turn of the event loop are sent together, since each write of the socket is a system call. */
  #write(message: ToMedia): void {
    const socket = this.#socket
    if (socket === null || socket.destroyed) return
    if (socket.writableCorked === 0) {
      socket.cork()
      process.nextTick(() => socket.uncork())
    }
    socket.write(encodeMessage(message))
  }
}
