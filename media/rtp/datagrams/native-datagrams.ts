import { isIPv6 } from 'node:net'
import type { CallKind, DatagramSocket, Datagrams } from './datagrams.ts'
import { AF_INET, AF_INET6, CLOCK_REALTIME, EVENT, Libc, SharedMemory, SO_TIMESTAMPNS } from './libc.ts'
import { type MessageCalls, type OpenCalls, SingleCalls } from './message-calls.ts'
import { ConnectionCalls, NativeSocket, Outgoing } from './native-socket.ts'
import { nodeDatagrams } from './node-datagrams.ts'
import type { OwnDescriptors } from './own-descriptors.ts'
import { RingCalls } from './ring-calls.ts'

/** Maximum number of sockets per `epoll_wait`. */
const MAX_EVENTS = 1024
/** Rounds per poll: a flooded port is limited to this many datagrams, and the system drops the rest. A port that follows a slot is polled less often. */
const MAX_LOOKS = { always: 64, bySlot: 256 }
/** Polling interval while no clock polls: sockets without a room [ms]. */
const IDLE_POLL_MS = 20
/** Maximum time for which attending to datagrams blocks the rest of the thread, and minimum sleep [ms]. */
const TURN_MS = 2
const LEAST_SLEEP_MS = 0.05
/** Datagrams that follow each other this closely are fetched together [ms]. */
const TOGETHER_MS = 0.4

/**
 * Native sockets. A poll finds the readable sockets with one call and fetches from all of those with another one (`RingCalls`), or, if the system
 * does not allow that, from each with its own (`SingleCalls`). No packet has an event of its own. The system provides arrival times. Linux on x64
 * and arm64. Throws if the system has no such calls.
 */
export class NativeDatagrams implements Datagrams {
  readonly kind = 'native'
  readonly calls: CallKind
  readonly libc: Libc
  readonly outgoing: Outgoing
  readonly connections: ConnectionCalls
  readonly #incoming: Incoming
  /** Of each fetched datagram. */
  readonly #receivers: NativeSocket[] = []
  /** Sockets at which every poll looks, and by slot those at which only its polls do. */
  readonly #always: Watch
  readonly #bySlot: Watch[] = []
  /** Where each socket is. */
  readonly #watches: Watch[] = []
  readonly #events = new SharedMemory(MAX_EVENTS * EVENT.bytes)
  readonly #wall = new SharedMemory(16)
  readonly #wallWords = new Int32Array(this.#wall.bytes.buffer)
  /** By the number in its events; null: free. An event of a socket closed meanwhile may find another one, which has no datagram. */
  readonly #sockets: (NativeSocket | null)[] = []
  readonly #freeNumbers: number[] = []
  readonly #sleep: (ms: number) => void
  readonly #rest: (ms: number) => void
  #attending: NodeJS.Immediate | undefined
  /** The last round found something: more will follow soon. */
  #isBusy = false
  #polledAt = 0
  #idle: NodeJS.Timeout | undefined

  /** @param own lists its descriptors */
  constructor(calls: CallKind, own?: OwnDescriptors) {
    const libc = new Libc(own)
    this.libc = libc
    this.calls = calls
    this.#always = { epoll: libc.epoll(), sockets: 0 }
    this.#sleep = libc.sleeper(this.#always.epoll)
    this.#rest = libc.sleeper(-1)
    const open: OpenCalls = (kind, headers) =>
      calls === 'ring' ? RingCalls.open(libc, kind, headers) : new SingleCalls(libc, kind, headers)
    this.outgoing = new Outgoing(open)
    this.connections = new ConnectionCalls(libc, open)
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
    if (!socket.bind() || !this.libc.watch(this.#always.epoll, fd, number)) {
      this.#sockets[number] = null
      this.#freeNumbers.push(number)
      this.libc.close(fd)
      return null
    }
    this.#sockets[number] = socket
    this.#watches[number] = this.#always
    this.#always.sockets++
    socket.forget = () => this.#forget(number)
    socket.moved = slot => this.#follow(socket, number, slot)
    this.#idle ??= setInterval(() => this.#pollIdle(), IDLE_POLL_MS)
    return socket
  }

  #follow(socket: NativeSocket, number: number, slot: number | null): void {
    const from = this.#watches[number]!
    const to = slot === null ? this.#always : this.#watchOf(slot)
    // If the system has no room for it there, it stays where it is.
    if (to === from || !this.libc.watch(to.epoll, socket.fd, number)) return
    this.libc.unwatch(from.epoll, socket.fd)
    this.#watches[number] = to
    from.sockets--
    to.sockets++
  }

  /** Opened when a socket first follows the slot. */
  #watchOf(slot: number): Watch {
    while (this.#bySlot.length <= slot) this.#bySlot.push({ epoll: this.libc.epoll(), sockets: 0 })
    return this.#bySlot[slot]!
  }

  #forget(number: number): void {
    this.#sockets[number] = null
    this.#watches[number]!.sockets--
    this.#freeNumbers.push(number)
    if (this.#freeNumbers.length < this.#sockets.length) return
    clearInterval(this.#idle)
    this.#idle = undefined
  }

  #pollIdle(): void {
    if (performance.now() - this.#polledAt >= IDLE_POLL_MS) this.poll()
  }

  poll(slot?: number): void {
    for (let look = 0; look < MAX_LOOKS.bySlot; look++) if (!this.#look(slot ?? 'all', look < MAX_LOOKS.always)) return
  }

  /** Delivers one datagram of each readable socket that follows no slot, or one of these; false: there is none. */
  #look(slots: number | 'all' | 'none', isAlways = true): boolean {
    let count = isAlways ? this.#readable(this.#always, 0) : 0
    if (slots === 'all') for (const watch of this.#bySlot) count = this.#readable(watch, count)
    else if (slots !== 'none' && slots < this.#bySlot.length) count = this.#readable(this.#bySlot[slots]!, count)
    if (count > 0) this.libc.clockGettime(CLOCK_REALTIME, this.#wall.address)
    // The last of the clocks to be read: if the thread is preempted before it, a datagram seems later than it was, never earlier.
    this.#polledAt = performance.now()
    if (count === 0) return false
    for (let i = 0; i < count; i++) {
      const socket = this.#sockets[this.#events.view.getUint32(i * EVENT.bytes + EVENT.data, true)]!
      // Null: closed while an earlier datagram of this round was handled.
      if (socket !== null) this.#fetch(socket)
    }
    this.#handOver()
    return true
  }

  /** Adds the events of readable sockets to those before. @returns how many there are now */
  #readable({ epoll, sockets }: Watch, before: number): number {
    if (sockets === 0 || before === MAX_EVENTS) return before
    const { address } = this.#events
    const found = this.libc.epollWait(epoll, address + before * EVENT.bytes, MAX_EVENTS - before, 0)
    return before + Math.max(0, found)
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
      this.#isBusy = this.#look('none')
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
    const { outgoing, connections } = this
    outgoing.isHeld = connections.isHeld = true
    try {
      work()
    } finally {
      outgoing.isHeld = connections.isHeld = false
      outgoing.flush()
      connections.flush()
    }
  }
}

/** Sockets that are looked at together, by one `epoll_wait`. */
interface Watch {
  readonly epoll: number
  sockets: number
}

/** Fetched one after the other before any is delivered: alternating between kernel and our code would defeat the cache. */
const BATCH = 64
/** No datagram is larger. Every length is passed on to the receiver [bytes]. */
const MAX_DATAGRAM = 65_536
/** Longer datagrams continue elsewhere; audio never needs that memory, so it is never touched [bytes]. */
const ROOM = 2048
const REST_BYTES = MAX_DATAGRAM - ROOM
/** An older timestamp was taken before the clock was set [ms]. */
const MAX_AGE_MS = 5000

/** The layout of a place: `struct msghdr`, what it points to, and the datagram. */
const PLACE = { name: 64, iov: 96, control: 128, payload: 192 }
/** An odd number of cache lines, so that places do not share a few cache sets. */
const PLACE_BYTES = PLACE.payload + ROOM
const PLACE_WORDS = PLACE_BYTES / 4
/** In the message header: lengths that are set before and read after [words of 4 bytes]. */
const NAME_LENGTH = 2
const CONTROL_LENGTH = 10
/** Of the control message, with one `struct timespec`. */
const CONTROL_BYTES = 32
const CONTROL_TYPE = PLACE.control / 4 + 3
const SECONDS = PLACE.control / 4 + 4
const NANOSECONDS = PLACE.control / 4 + 6

/** The memory in which datagrams are received. */
class Incoming {
  /** Number of sockets to fetch from, or of fetched datagrams that are not taken yet. */
  count = 0
  /** `sockaddr` of each sender, from `nameAt` on. */
  readonly words: Int32Array
  readonly #memory = new SharedMemory(BATCH * (PLACE_BYTES + REST_BYTES))
  readonly #calls: MessageCalls
  /** Each datagram is handed over here: one place that stays in the cache, and so do the views of it, by length. */
  readonly #handed = new Int32Array(ROOM / 4)
  readonly #views: (Uint8Array | null)[] = new Array(ROOM + 1).fill(null)

  constructor(openCalls: OpenCalls) {
    this.words = new Int32Array(this.#memory.bytes.buffer, 0, BATCH * PLACE_WORDS)
    const headers = Array.from({ length: BATCH }, (_, place) => this.#point(place))
    this.#calls = openCalls('receive', headers)
  }

  /** Writes what never changes: the addresses of its parts. @returns that of its header */
  #point(place: number): number {
    const { view, address } = this.#memory
    const at = place * PLACE_BYTES
    const put = (offset: number, value: number): void => view.setBigUint64(at + offset, BigInt(value), true)
    put(0, address + at + PLACE.name)
    put(16, address + at + PLACE.iov)
    put(24, 2)
    put(32, address + at + PLACE.control)
    put(PLACE.iov, address + at + PLACE.payload)
    put(PLACE.iov + 8, ROOM)
    put(PLACE.iov + 16, address + restAt(place))
    put(PLACE.iov + 24, REST_BYTES)
    return address + at
  }

  get isFull(): boolean {
    return this.count === BATCH
  }

  /** Adds a socket to fetch a datagram from, into the next place. */
  add(fd: number, sockaddrBytes: number): void {
    const place = this.count++
    const at = place * PLACE_WORDS
    this.words[at + NAME_LENGTH] = sockaddrBytes
    this.words[at + CONTROL_LENGTH] = CONTROL_BYTES
    this.#calls.add(fd, place)
  }

  /** Fetches from all of them. */
  fetch(): void {
    this.#calls.run()
  }

  /** Whether there was a datagram for this place. */
  has(place: number): boolean {
    return this.#calls.results[place]! >= 0
  }

  /** The datagram of a place, valid until the next one is asked for. */
  bytes(place: number): Uint8Array {
    const length = this.#calls.results[place]!
    return length <= ROOM ? this.#hand(place, length) : this.#joined(place, length)
  }

  #hand(place: number, length: number): Uint8Array {
    const { words } = this
    const handed = this.#handed
    const from = (place * PLACE_BYTES + PLACE.payload) / 4
    const count = (length + 3) >> 2
    for (let i = 0; i < count; i++) handed[i] = words[from + i]!
    const view = this.#views[length]
    if (view != null) return view
    const made = new Uint8Array(handed.buffer, 0, length)
    this.#views[length] = made
    return made
  }

  /** A datagram that is longer than its place. */
  #joined(place: number, length: number): Uint8Array {
    const { bytes } = this.#memory
    const at = place * PLACE_BYTES + PLACE.payload
    const rest = restAt(place)
    return Buffer.concat([bytes.subarray(at, at + ROOM), bytes.subarray(rest, rest + length - ROOM)])
  }

  /** The start of the sender's address [words]. */
  nameAt(place: number): number {
    return place * PLACE_WORDS + PLACE.name / 4
  }

  /** How long before `seconds`, `nanoseconds` of the wall clock it arrived [ms]. */
  age(place: number, seconds: number, nanoseconds: number): number {
    const { words } = this
    const at = place * PLACE_WORDS
    if (words[at + CONTROL_LENGTH]! < CONTROL_BYTES || words[at + CONTROL_TYPE] !== SO_TIMESTAMPNS) return 0
    const age = ((seconds - words[at + SECONDS]!) | 0) * 1000 + (nanoseconds - words[at + NANOSECONDS]!) / 1e6
    return age > 0 && age < MAX_AGE_MS ? age : 0
  }
}

/** Where a long datagram of this place continues [bytes]. */
const restAt = (place: number): number => BATCH * PLACE_BYTES + place * REST_BYTES
