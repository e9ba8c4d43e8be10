import { unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import {
  encodeMessage,
  type Failure,
  type FromMedia,
  type MediaEvent,
  MessageReader,
  PROTOCOL_VERSION,
} from '../protocol.ts'

/** Maximum number of events waiting for control; beyond it the oldest is dropped and counted. */
const MAX_EVENTS = 50_000
/** A control process that does not read is disconnected at this backlog; nothing is lost, because it reconnects [bytes]. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024

/** Executes one command of the channel. A rejection is a bug and is answered as `unanswered`: its progress is unknown. */
type CommandRunner = (name: string, body: unknown) => Promise<object>

/**
 * The media end of the channel to control: a Unix socket with one client at a time, the latest. Events are numbered and
 * kept until acknowledged, so that a control process that dies and returns misses none.
 */
export class Channel {
  readonly bootId: string
  eventsLost = 0
  /** Invalid messages from control. */
  badMessages = 0
  readonly #server: Server
  readonly #run: CommandRunner
  readonly #dialledBefore: readonly string[] | null
  readonly #events: { seq: number; event: MediaEvent }[] = []
  #seq = 0
  #client: Socket | null = null
  #isDraining = false
  /** Since when control is there, monotonic [ms]; null: it is away. */
  #since: number | null = null
  #hasBegun = false

  /** @param dialledBefore legs that earlier processes have called; null: not known */
  constructor(bootId: string, run: CommandRunner, dialledBefore: readonly string[] | null = null) {
    this.bootId = bootId
    this.#run = run
    this.#dialledBefore = dialledBefore
    this.#server = createServer(socket => this.#accept(socket))
  }

  /** Listens on a file system path; a socket file left by a killed process is replaced. */
  listen(path: string): Promise<void> {
    try {
      unlinkSync(path)
    } catch {
      // There was none.
    }
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(path, resolve)
    })
  }

  get connected(): boolean {
    return this.#since !== null
  }

  /** Since when control is there, monotonic [ms]; null: it is away. */
  get connectedSince(): number | null {
    return this.#since
  }

  /** Control has not come yet since this process has begun. */
  get isAwaited(): boolean {
    return !this.#hasBegun
  }

  /** The number of the latest event. */
  get seq(): number {
    return this.#seq
  }

  get waiting(): number {
    return this.#events.length
  }

  /** Sends an event to control, now or when it has returned. */
  emit(event: MediaEvent): void {
    const numbered = { seq: ++this.#seq, event }
    if (this.#events.length >= MAX_EVENTS) {
      this.#events.shift()
      this.eventsLost++
    }
    this.#events.push(numbered)
    if (this.connected) this.#send({ type: 'event', ...numbered })
  }

  /** Has control come again, and compare what it knows with what is here: something ended that no event has told of. */
  compare(): void {
    this.#client?.destroy()
  }

  /** Tells control, now or when it has returned, that no new calls are taken. */
  drain(): void {
    this.#isDraining = true
    this.#send({ type: 'draining' })
  }

  /** Tells control that this process ends as it was told to. Resolves once that is sent. */
  leave(): Promise<void> {
    const client = this.#client
    if (client === null) return Promise.resolve()
    this.#send({ type: 'bye' })
    return new Promise(resolve => client.end(resolve))
  }

  close(): void {
    this.#server.close()
    this.#client?.destroy()
  }

  #accept(socket: Socket): void {
    this.#client?.destroy()
    this.#client = socket
    this.#since = null
    const reader = new MessageReader()
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (this.#client !== socket) return
      this.#client = null
      this.#since = null
    })
    socket.on('data', bytes => {
      const result = reader.read(bytes)
      if ('error' in result) {
        this.badMessages++
        socket.destroy()
        return
      }
      for (const message of result.messages) this.#receive(socket, message)
    })
  }

  #receive(socket: Socket, message: Record<string, unknown>): void {
    if (message.type === 'hello') this.#greet(socket, message)
    else if (message.type === 'ack' && typeof message.seq === 'number') this.#acknowledge(message.seq)
    else if (message.type === 'request' && typeof message.id === 'number' && typeof message.name === 'string') {
      void this.#execute(message.id, message.name, message.body)
    } else this.badMessages++
  }

  #greet(socket: Socket, hello: Record<string, unknown>): void {
    const { bootId, eventsLost } = this
    const dialled = hello.bootId === bootId ? null : this.#dialledBefore
    this.#send({ type: 'hello', version: PROTOCOL_VERSION, bootId, eventsLost, ...(dialled !== null && { dialled }) })
    if (hello.version !== PROTOCOL_VERSION) {
      this.badMessages++
      socket.end()
      return
    }
    if (this.#isDraining) this.#send({ type: 'draining' })
    if (hello.bootId === bootId && typeof hello.lastSeq === 'number') this.#acknowledge(hello.lastSeq)
    for (const numbered of this.#events) this.#send({ type: 'event', ...numbered })
    this.#since = performance.now()
    this.#hasBegun = true
  }

  #acknowledge(seq: number): void {
    let count = 0
    while (count < this.#events.length && this.#events[count]!.seq <= seq) count++
    this.#events.splice(0, count)
  }

  async #execute(id: number, name: string, body: unknown): Promise<void> {
    const client = this.#client
    const reply = await this.#run(name, body).catch(
      (error: unknown): Failure => ({ failure: 'unanswered', message: `a fault: ${String(error)}` }),
    )
    if (this.#client === client) this.#send({ type: 'reply', id, body: reply })
  }

  #send(message: FromMedia): void {
    const client = this.#client
    if (client === null || client.destroyed) return
    if (client.writableLength > MAX_UNSENT_BYTES) {
      client.destroy()
      return
    }
    // Messages of one turn of the event loop are sent together, since each write of the socket is a system call.
    if (client.writableCorked === 0) {
      client.cork()
      process.nextTick(() => client.uncork())
    }
    client.write(encodeMessage(message))
  }
}
