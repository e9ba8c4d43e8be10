import { isIPv6 } from 'node:net'
import type { CallKind, DatagramSocket, Datagrams } from './datagrams.ts'
import { Incoming } from './incoming.ts'
import { AF_INET, AF_INET6, CLOCK_REALTIME, EVENT, Libc, SharedMemory } from './libc.ts'
import { type OpenCalls, SingleCalls } from './message-calls.ts'
import { NativeSocket } from './native-socket.ts'
import { nodeDatagrams } from './node-datagrams.ts'
import { Outgoing } from './outgoing.ts'
import { RingCalls } from './ring-calls.ts'

/** Maximum number of sockets per `epoll_wait`. */
const MAX_EVENTS = 1024
/** Rounds per poll: a flooded port is limited to this many datagrams, and the system drops the rest. */
const MAX_LOOKS = 64
/** Polling interval while no clock polls: sockets without a room [ms]. */
const IDLE_POLL_MS = 20
/** Maximum time for which attending to datagrams blocks the rest of the thread, and minimum sleep [ms]. */
const TURN_MS = 2
const LEAST_SLEEP_MS = 0.05
/** Datagrams that follow each other this closely are fetched together [ms]. */
const TOGETHER_MS = 0.6

/**
 * Native sockets. A poll finds the readable sockets with one call and fetches from all of those with another one (`RingCalls`), or, if the system
 * does not allow that, from each with its own (`SingleCalls`). No packet has an event of its own. The system provides arrival times. Linux on x64
 * and arm64. Throws if the system has no such calls.
 */
export class NativeDatagrams implements Datagrams {
  readonly kind = 'native'
  readonly calls: CallKind
  readonly libc = new Libc()
  readonly outgoing: Outgoing
  readonly #incoming: Incoming
  /** Of each fetched datagram. */
  readonly #receivers: NativeSocket[] = []
  readonly #epoll = this.libc.epoll()
  readonly #events = new SharedMemory(MAX_EVENTS * EVENT.bytes)
  readonly #wall = new SharedMemory(16)
  readonly #wallWords = new Int32Array(this.#wall.bytes.buffer)
  /** By the number in its events; null: free. An event of a socket closed meanwhile may find another one, which has no datagram. */
  readonly #sockets: (NativeSocket | null)[] = []
  readonly #freeNumbers: number[] = []
  readonly #sleep = this.libc.sleeper(this.#epoll)
  readonly #rest = this.libc.sleeper(-1)
  #attending: NodeJS.Immediate | undefined
  /** The last round found something: more will follow soon. */
  #isBusy = false
  #polledAt = 0
  #idle: NodeJS.Timeout | undefined

  constructor(calls: CallKind) {
    const { libc } = this
    this.calls = calls
    const open: OpenCalls = (kind, headers) =>
      calls === 'ring' ? RingCalls.open(libc, kind, headers) : new SingleCalls(libc, kind, headers)
    this.outgoing = new Outgoing(open)
    this.#incoming = new Incoming(open)
  }

  get sendErrors(): number {
    return this.outgoing.errors
  }

  async bind(host: string, port: number): Promise<DatagramSocket | null> {
    const family = isIPv6(host) ? AF_INET6 : AF_INET
    const fd = this.libc.socket(family)
    if (fd < 0) return null
    const socket = new NativeSocket(this.libc, this.outgoing, fd, family)
    if (!socket.aim(host, port)) {
      // A link-local address (RFC 4007): Node knows how to write it.
      this.libc.close(fd)
      return nodeDatagrams.bind(host, port)
    }
    const number = this.#freeNumbers.pop() ?? this.#sockets.length
    if (!socket.bind() || !this.libc.watch(this.#epoll, fd, number)) {
      this.#sockets[number] = null
      this.#freeNumbers.push(number)
      this.libc.close(fd)
      return null
    }
    this.#sockets[number] = socket
    socket.forget = () => this.#forget(number)
    this.#idle ??= setInterval(() => this.#pollIdle(), IDLE_POLL_MS)
    return socket
  }

  #forget(number: number): void {
    this.#sockets[number] = null
    this.#freeNumbers.push(number)
    if (this.#freeNumbers.length < this.#sockets.length) return
    clearInterval(this.#idle)
    this.#idle = undefined
  }

  #pollIdle(): void {
    if (performance.now() - this.#polledAt >= IDLE_POLL_MS) this.poll()
  }

  poll(): void {
    for (let look = 0; look < MAX_LOOKS; look++) if (!this.#look()) return
  }

  /** Delivers one datagram of each readable socket; false: there is none. */
  #look(): boolean {
    const count = this.libc.epollWait(this.#epoll, this.#events.address, MAX_EVENTS, 0)
    if (count > 0) this.libc.clockGettime(CLOCK_REALTIME, this.#wall.address)
    // The last of the clocks to be read: if the thread is preempted before it, a datagram seems later than it was, never earlier.
    this.#polledAt = performance.now()
    if (count <= 0) return false
    for (let i = 0; i < count; i++) {
      const socket = this.#sockets[this.#events.view.getUint32(i * EVENT.bytes + EVENT.data, true)]!
      // Null: closed while an earlier datagram of this round was handled.
      if (socket !== null) this.#fetch(socket)
    }
    this.#handOver()
    return true
  }

  attend(turn: (() => number) | null): void {
    clearImmediate(this.#attending)
    this.#attending = turn === null ? undefined : setImmediate(() => this.#attend(turn))
  }

  /** Sleeps and polls alternately for a while; timers, messages and other work run in between. */
  #attend(turn: () => number): void {
    const attending = setImmediate(() => this.#attend(turn))
    this.#attending = attending
    const end = performance.now() + TURN_MS
    do {
      const dueMs = Math.max(turn(), LEAST_SLEEP_MS)
      if (this.#isBusy) this.#rest(Math.min(dueMs, TOGETHER_MS))
      else this.#sleep(Math.min(dueMs, TURN_MS))
      this.#isBusy = this.#look()
    } while (performance.now() < end && this.#attending === attending)
  }

  #fetch(socket: NativeSocket): void {
    const incoming = this.#incoming
    if (incoming.isFull) this.#handOver()
    this.#receivers[incoming.count] = socket
    incoming.add(socket.fd, socket.sockaddrBytes)
  }

  /** Packets that are relayed meanwhile are sent together, too. */
  #handOver(): void {
    const incoming = this.#incoming
    const { count, words } = incoming
    const seconds = this.#wallWords[0]!
    const nanoseconds = this.#wallWords[2]!
    incoming.fetch()
    this.outgoing.isHeld = true
    for (let place = 0; place < count; place++) {
      if (!incoming.has(place)) continue
      const at = this.#polledAt - incoming.age(place, seconds, nanoseconds)
      this.#receivers[place]!.take(incoming.bytes(place), words, incoming.nameAt(place), at)
    }
    incoming.count = 0
    this.outgoing.isHeld = false
    this.outgoing.flush()
  }

  sendTogether(work: () => void): void {
    this.outgoing.isHeld = true
    try {
      work()
    } finally {
      this.outgoing.isHeld = false
      this.outgoing.flush()
    }
  }
}
