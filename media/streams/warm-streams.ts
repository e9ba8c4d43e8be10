import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import type { SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import type { Wire } from './stream-connection.ts'
import { type RunningStream, StreamDialler } from './stream-socket.ts'
import { dialWire } from './stream-wire.ts'

const HOST = '127.0.0.1'
/** How long their connections may take to be made, and to close [ms]. */
const LIMIT_MS = 500

/**
 * Forks of the engine's warm-up, each with a connection to a receiver in this thread: their code depends on the objects of a real one. The
 * receiver is gone when they are.
 */
export class WarmStreams implements SinkKind {
  /** To be given to the engine: each party that enters this room has a fork. */
  readonly noun: SinkNoun
  readonly commands = {}
  readonly #roomId: string
  readonly #server: WebSocketServer
  readonly #streams: RunningStream[] = []
  /** Kept with the streams, which forget them when they close. */
  readonly #wires: Wire[] = []
  #world!: SinkWorld

  private constructor(roomId: string, server: WebSocketServer) {
    this.#roomId = roomId
    this.#server = server
    this.noun = {
      create: world => {
        this.#world = world
        return this
      },
    }
    server.on('connection', socket => socket.on('error', () => {}))
    server.on('error', () => {})
  }

  /** Null: no port can be listened on. */
  static async open(roomId: string): Promise<WarmStreams | null> {
    const server = new WebSocketServer({ host: HOST, port: 0, perMessageDeflate: false })
    try {
      await once(server, 'listening')
    } catch {
      return null
    }
    return new WarmStreams(roomId, server)
  }

  enter: SinkKind['enter'] = ({ leg }, room) => {
    if (room.spec.roomId !== this.#roomId) return
    const { now, fault } = this.#world
    const dial: typeof dialWire = (...how) => {
      const wire = dialWire(...how)
      this.#wires.push(wire)
      return wire
    }
    const stream = new StreamDialler({ ...this.#world, dial }).startStream(
      {
        ...{ streamId: `warm_${leg.id}`, accountSid: '', callSid: '', signingSecret: '', customParameters: {} },
        ...{
          url: `ws://${HOST}:${(this.#server.address() as AddressInfo).port}`,
          tracks: 'both',
          format: 'mulaw_8000',
        },
        ...{ target: { legId: leg.id }, addresses: { publicOnly: false, allowed: [] } },
      },
      { changed: () => {}, now, press: () => false, fault },
    )
    this.#streams.push(stream)
    leg.sinks.push(stream.sink)
  }

  /** Waits until they have connections. */
  async opened(): Promise<void> {
    await this.#until('streaming')
  }

  /** Lets the receiver read and answer. */
  async read(): Promise<void> {
    await setImmediate()
  }

  /** Ends the streams and their receiver. Idempotent. */
  async close(): Promise<void> {
    for (const stream of this.#streams) void stream.stop('stopped')
    await this.#until('stopped')
    for (const client of this.#server.clients) client.terminate()
    this.#server.close()
  }

  async #until(status: 'streaming' | 'stopped'): Promise<void> {
    const limit = performance.now() + LIMIT_MS
    const isThere = (stream: RunningStream): boolean => stream.snapshot().status === status
    while (!this.#streams.every(isThere) && performance.now() < limit) await sleep(1)
  }
}
