import { createConnection, type Socket } from 'node:net'
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
} from '../media/protocol.ts'

const RECONNECT_MS = 100
const HELLO_DEADLINE_MS = 2000
const DEFAULT_DEADLINE_MS = 5000
/** Requests that wait for a reply at most; more are answered `unavailable` at once and counted. */
const MAX_PENDING = 2000
/** Events that wait for their turn at most; when more come the channel is closed, and media sends them again. */
const MAX_WAITING = 100_000
/** An event whose handling failed this often is left out, lest it hold up all that follow. */
const MAX_ATTEMPTS = 5

/** Asks the media process for something. What it cannot do, and that it cannot be reached, are values. */
export interface MediaPort {
  request<N extends CommandName>(name: N, body: Request<N>, deadlineMs?: number): Promise<Reply<N> | Failure>
  /** Resolves when every event that has arrived by now is committed, or the channel broke. */
  settled(): Promise<void>
}

/** What control does with what media reports. Calls never overlap. */
export interface MediaHandler {
  /** How far the events have been committed, and of which media process. */
  position(): Promise<{ bootId: string | null; lastSeq: number }>
  /** A media process that was not spoken to before: what ran in the old one is over. Commits the new position. */
  booted(bootId: string): Promise<void>
  /** Commits the event and its position together; returns what to do after the acknowledgement. */
  event(seq: number, event: MediaEvent, media: MediaPort): Promise<(() => Promise<void>) | null>
  /** Commits the position without the event. */
  skip(seq: number): Promise<void>
  /** Every event up to `snapshot.seq` has been handled: what differs from it now is put right. */
  reconcile(snapshot: MediaSnapshot, media: MediaPort): Promise<void>
}

/** `ready`: connected and reconciled; only then are requests of the API let through. */
export type MediaState = 'disconnected' | 'reconciling' | 'ready'

interface Pending {
  resolve: (reply: object) => void
  timer: NodeJS.Timeout
}

type Job = { kind: 'event'; seq: number; event: MediaEvent } | { kind: 'mark'; resolve: () => void }

/** Null: what came is no event. */
const nameOf = (event: unknown): string | null =>
  typeof event === 'object' && event !== null && 'name' in event && typeof event.name === 'string' ? event.name : null

const unavailable = (message: string): Failure => ({ failure: 'unavailable', message })

/**
 * Control's end of the channel to the media process: requests with deadlines, events one at a time, and a new connection
 * whenever the old one broke.
 */
export class MediaClient implements MediaPort {
  /** Replies that did not come in time, requests beyond the bound, events left out. */
  readonly counters = { deadlines: 0, refused: 0, skipped: 0, connections: 0, eventsLost: 0 }
  readonly #path: string
  readonly #handler: MediaHandler
  readonly #log: Logger
  readonly #pending = new Map<number, Pending>()
  /** The port that the handler uses: it works while reconciling too. */
  readonly #inner: MediaPort = {
    request: (name, body, deadlineMs) => this.#send(name, body, deadlineMs),
    settled: () => Promise.resolve(),
  }
  #state: MediaState = 'disconnected'
  #socket: Socket | null = null
  #jobs: Job[] = []
  #pumping: Promise<void> = Promise.resolve()
  #isPumping = false
  #attempts = { seq: 0, count: 0 }
  #nextId = 1
  #closed = false
  #retry: NodeJS.Timeout | undefined
  #bootId: string | null = null

  constructor(path: string, handler: MediaHandler, log: Logger) {
    this.#path = path
    this.#handler = handler
    this.#log = log
  }

  get state(): MediaState {
    return this.#state
  }

  /** Of the media process that is or was last connected. */
  get bootId(): string | null {
    return this.#bootId
  }

  /** Connects, and reconnects for ever. */
  start(): void {
    void this.#connect()
  }

  /** Ends the connection after the event in hand. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#socket?.destroy()
    await this.#pumping
  }

  request<N extends CommandName>(name: N, body: Request<N>, deadlineMs?: number): Promise<Reply<N> | Failure> {
    if (this.#state !== 'ready') return Promise.resolve(unavailable('no media process'))
    return this.#send(name, body, deadlineMs)
  }

  settled(): Promise<void> {
    if (this.#state !== 'ready' || (this.#jobs.length === 0 && !this.#isPumping)) return Promise.resolve()
    return new Promise(resolve => {
      this.#jobs.push({ kind: 'mark', resolve })
      this.#pump()
    })
  }

  // ------------------------------------------------------------------ connection

  async #connect(): Promise<void> {
    // The event in hand may still commit: the position that we say hello with must contain it.
    await this.#pumping
    if (this.#closed) return
    const position = await this.#handler.position().catch((error: unknown) => {
      this.#log.error({ err: error }, 'cannot read how far the media events were committed')
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
        this.#log.error({ reason: result.error }, 'media sent what cannot be read')
        socket.destroy()
        return
      }
      for (const message of result.messages) {
        if (message.type === 'hello') clearTimeout(helloTimer)
        this.#receive(socket, message, position)
      }
    })
  }

  #broken(socket: Socket): void {
    if (this.#socket !== socket) return
    this.#socket = null
    if (this.#state !== 'disconnected') this.#log.warn('the channel to media broke')
    this.#state = 'disconnected'
    for (const { resolve, timer } of this.#pending.values()) {
      clearTimeout(timer)
      resolve(unavailable('the channel to the media process broke'))
    }
    this.#pending.clear()
    // Media keeps what was not acknowledged.
    for (const job of this.#jobs) if (job.kind === 'mark') job.resolve()
    this.#jobs = []
    this.#retryLater()
  }

  #retryLater(): void {
    if (!this.#closed) this.#retry = setTimeout(() => void this.#connect(), RECONNECT_MS)
  }

  #receive(
    socket: Socket,
    message: Record<string, unknown>,
    position: { bootId: string | null; lastSeq: number },
  ): void {
    if (this.#socket !== socket) return
    if (message.type === 'hello') void this.#greeted(socket, message, position)
    else if (message.type === 'reply' && typeof message.id === 'number') this.#replied(message.id, message.body)
    else if (message.type === 'event' && Number.isSafeInteger(message.seq)) {
      this.#queue(socket, message.seq as number, message.event as MediaEvent)
    }
  }

  async #greeted(
    socket: Socket,
    hello: Record<string, unknown>,
    position: { bootId: string | null; lastSeq: number },
  ): Promise<void> {
    if (hello.version !== PROTOCOL_VERSION || typeof hello.bootId !== 'string') {
      this.#log.error({ ours: PROTOCOL_VERSION, theirs: hello.version }, 'media speaks another version of the protocol')
      socket.destroy()
      return
    }
    this.#state = 'reconciling'
    this.#bootId = hello.bootId
    this.counters.connections++
    this.counters.eventsLost = Number(hello.eventsLost ?? 0)
    const opening = this.#open(socket, hello.bootId, position)
    this.#pumping = opening
    await opening
    if (this.#socket === socket && this.state === 'ready') this.#pump()
  }

  /** What stands between hello and normal service: the old process's end, the events missed, the comparison. */
  async #open(socket: Socket, bootId: string, position: { bootId: string | null; lastSeq: number }): Promise<void> {
    try {
      if (position.bootId !== bootId) await this.#handler.booted(bootId)
      const snapshot = await this.#send('media.snapshot', {})
      if (this.#socket !== socket) return
      if (isFailure(snapshot)) throw new Error(`no snapshot: ${snapshot.message}`)
      // Later events wait: a leg that is younger than the snapshot must not be missed in it.
      for (let job = this.#jobs[0]; job?.kind === 'event' && job.seq <= snapshot.seq; job = this.#jobs[0]) {
        this.#jobs.shift()
        await this.#deliver(socket, job.seq, job.event)
        if (this.#socket !== socket) return
      }
      await this.#handler.reconcile(snapshot, this.#inner)
      if (this.#socket !== socket) return
      this.#state = 'ready'
      this.#log.info({ bootId, legs: snapshot.legs.length }, 'connected to media')
    } catch (error) {
      this.#log.error({ err: error }, 'cannot resume with media')
      socket.destroy()
    }
  }

  // ------------------------------------------------------------------ events

  #queue(socket: Socket, seq: number, event: MediaEvent): void {
    if (this.#jobs.length >= MAX_WAITING) {
      this.#log.error('too many media events are waiting')
      socket.destroy()
      return
    }
    this.#jobs.push({ kind: 'event', seq, event })
    if (this.#state === 'ready') this.#pump()
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
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) {
      if (job.kind === 'mark') job.resolve()
      else if (socket === null || this.#socket !== socket) return
      else {
        try {
          await this.#deliver(socket, job.seq, job.event)
        } catch (error) {
          this.#log.error({ err: error, event: nameOf(job.event) }, 'a media event could not be handled')
          socket.destroy()
          return
        }
      }
    }
  }

  async #deliver(socket: Socket, seq: number, event: MediaEvent): Promise<void> {
    const name = nameOf(event)
    if (name === null || (this.#attempts.seq === seq && this.#attempts.count >= MAX_ATTEMPTS)) {
      this.counters.skipped++
      this.#log.error({ seq, event: name }, 'a media event was left out')
      await this.#handler.skip(seq)
      this.#write({ type: 'ack', seq })
      return
    }
    const followUp = await this.#handler.event(seq, event, this.#inner).catch((error: unknown) => {
      // A full or failing disk is not the event's fault: it is tried until the store takes it.
      if (!isStoreOutage(error)) {
        this.#attempts = { seq, count: this.#attempts.seq === seq ? this.#attempts.count + 1 : 1 }
      }
      throw error
    })
    if (this.#socket !== socket) return
    this.#write({ type: 'ack', seq })
    await followUp?.()
  }

  // ------------------------------------------------------------------ requests

  #send<N extends CommandName>(
    name: N,
    body: Request<N>,
    deadlineMs = DEFAULT_DEADLINE_MS,
  ): Promise<Reply<N> | Failure> {
    if (this.#socket === null || this.#state === 'disconnected') {
      return Promise.resolve(unavailable('no media process'))
    }
    if (this.#pending.size >= MAX_PENDING) {
      this.counters.refused++
      return Promise.resolve(unavailable('too many requests to the media process'))
    }
    const id = this.#nextId++
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.counters.deadlines++
        this.#replied(id, unavailable(`${name}: no reply within ${deadlineMs} ms`))
      }, deadlineMs)
      this.#pending.set(id, { resolve: reply => resolve(reply as Reply<N> | Failure), timer })
      this.#write({ type: 'request', id, name, body })
    })
  }

  #replied(id: number, body: unknown): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    pending.resolve(
      typeof body === 'object' && body !== null ? body : unavailable('the media process sent a reply without a body'),
    )
  }

  #write(message: ToMedia): void {
    if (this.#socket !== null && !this.#socket.destroyed) this.#socket.write(encodeMessage(message))
  }
}

const isStoreOutage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(FULL|IOERR|BUSY|READONLY|CANTOPEN)/.test(String(error.code))
