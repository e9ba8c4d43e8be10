import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { BATCH, DatagramBatch } from './datagram-batch.ts'
import type { DoorOptions, DoorSocket } from './door-socket.ts'
import { AF_INET, AF_INET6, EAGAIN, type Libc, MSG_DONTWAIT, SharedMemory } from './libc.ts'
import { ADDRESS_AT, type Family, familyAndPort, SCOPE_WORD, SOCKADDR_BYTES, SOCKADDR_WORDS } from './sockaddr.ts'

/** A rush begins with this many datagrams in a window: an event for each would then cost more than polling. */
const RUSH = 100
const WINDOW_MS = 100
/** A rush ends with fewer than this many in the same time. */
const CALM = 200
const CALM_MS = 1000
/** Interval of polling in a rush [ms]. */
const LOOK_MS = 1
/** Maximum number of batches per poll. What arrives faster stays in the system's buffer, which drops what does not fit. */
const MAX_BATCHES = 2
const MAX_DATAGRAM = 65_536

/** What the doors of a thread share. */
interface DoorTools {
  libc: Libc
  batch: DatagramBatch
  outgoing: SharedMemory
}

export const doorTools = (libc: Libc): DoorTools => ({
  libc,
  batch: new DatagramBatch(libc),
  outgoing: new SharedMemory(4 * SOCKADDR_WORDS + MAX_DATAGRAM),
})

/**
 * A native socket. While little arrives, Node raises an event for each datagram, at once. In a rush it is polled every millisecond: one
 * system call fetches many datagrams into reused memory, and those of hosts that are not admitted cost nothing more.
 */
export class NativeDoor implements DoorSocket {
  readonly #tools: DoorTools
  readonly #options: DoorOptions
  readonly #fd: number
  readonly #family: Family
  readonly #to = new Int32Array(SOCKADDR_WORDS)
  /** Node's hold on the same socket; null: in a rush. */
  #calm: Socket | null = null
  #looking: NodeJS.Timeout | undefined
  /** Datagrams since `#countedSince`. */
  #count = 0
  #countedSince = 0
  #isClosed = false

  private constructor(tools: DoorTools, options: DoorOptions, fd: number, family: Family) {
    this.#tools = tools
    this.#options = options
    this.#fd = fd
    this.#family = family
  }

  /** @param isRush whether a rush is expected at once */
  static open(tools: DoorTools, options: DoorOptions, isRush = false): NativeDoor {
    const { libc } = tools
    const { host, port, receiveBufferBytes } = options
    const family = isIPv6(host) ? AF_INET6 : AF_INET
    const fd = libc.bufferedSocket(family, receiveBufferBytes)
    if (fd < 0) throw systemError('socket', libc.errno)
    const door = new NativeDoor(tools, options, fd, family)
    door.#aim(host, port)
    if (!libc.bind(fd, door.#to, SOCKADDR_BYTES[family])) {
      const { errno } = libc
      libc.close(fd)
      throw systemError('bind', errno)
    }
    if (isRush) door.#beRushed()
    else door.#beCalm()
    return door
  }

  get dropped(): number {
    return this.#isClosed ? 0 : this.#tools.libc.droppedOf(this.#fd)
  }

  /** Whether it polls, as in a rush. */
  get isRushed(): boolean {
    return this.#calm === null && !this.#isClosed
  }

  #beCalm(): void {
    this.#countFrom(performance.now())
    const { libc } = this.#tools
    const fd = libc.duplicate(this.#fd)
    if (fd < 0) {
      // No descriptor is free.
      this.#beRushed()
      return
    }
    const calm = createSocket(this.#family === AF_INET6 ? 'udp6' : 'udp4')
    this.#calm = calm
    calm.on('message', (bytes, { address, port }) => {
      if (this.#calm !== calm) return
      this.#counted()
      if (this.#options.admits(address)) this.#options.take(bytes, address, port)
    })
    calm.on('error', () => {
      if (this.#calm === calm) this.#beRushed()
    })
    try {
      calm.bind({ fd })
      // Node allows others to bind to the ports of sockets that it is given.
      libc.keepAlone(this.#fd)
    } catch {
      libc.close(fd)
      this.#beRushed()
    }
  }

  #counted(): void {
    const now = performance.now()
    if (now - this.#countedSince > WINDOW_MS) this.#countFrom(now)
    if (++this.#count > RUSH) this.#beRushed()
  }

  #countFrom(now: number): void {
    this.#count = 0
    this.#countedSince = now
  }

  #beRushed(): void {
    this.#calm?.close()
    this.#calm = null
    this.#countFrom(performance.now())
    this.#lookLater()
  }

  #lookLater(): void {
    this.#looking = setTimeout(() => this.#look(), LOOK_MS)
  }

  #look(): void {
    const now = performance.now()
    for (let batches = 0; batches < MAX_BATCHES && !this.#isClosed; batches++) if (this.#fetch() < BATCH) break
    if (this.#isClosed) return
    const isJudged = now - this.#countedSince >= CALM_MS
    if (isJudged && this.#count < CALM) {
      this.#beCalm()
      return
    }
    if (isJudged) this.#countFrom(now)
    this.#lookLater()
  }

  #fetch(): number {
    const { batch } = this.#tools
    const { admits, take } = this.#options
    const count = batch.receive(this.#fd, this.#family)
    this.#count += count
    for (let place = 0; place < count && !this.#isClosed; place++) {
      const host = batch.host(place)
      if (admits(host)) take(batch.bytes(place), host, batch.port(place))
    }
    return count
  }

  send(bytes: Uint8Array, host: string, port: number, failed: () => void): void {
    if (this.#isClosed) return
    const { libc, outgoing } = this.#tools
    const size = SOCKADDR_BYTES[this.#family]
    if (!this.#aim(host, port) || bytes.length > MAX_DATAGRAM) {
      setImmediate(failed)
      return
    }
    outgoing.bytes.set(new Uint8Array(this.#to.buffer, 0, size))
    outgoing.bytes.set(bytes, SOCKADDR_BYTES[AF_INET6])
    const at = outgoing.address + SOCKADDR_BYTES[AF_INET6]
    const sent = libc.sendto(this.#fd, at, bytes.length, MSG_DONTWAIT, outgoing.address, size)
    // A datagram for which the system has no room counts as lost on the way.
    if (sent < 0 && libc.errno !== EAGAIN) setImmediate(failed)
  }

  /** Writes an address; false: it is none of this family. */
  #aim(host: string, port: number): boolean {
    const to = this.#to
    const { libc } = this.#tools
    const [address = '', link] = host.split('%')
    if (!libc.writeAddress(this.#family, address, to, ADDRESS_AT[this.#family])) return false
    to[0] = familyAndPort(this.#family, port)
    to[SCOPE_WORD] = link === undefined ? 0 : libc.linkIndex(link)
    return true
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#looking)
    this.#calm?.close()
    this.#calm = null
    this.#tools.libc.close(this.#fd)
  }
}

const systemError = (call: string, errno: number): NodeJS.ErrnoException => {
  const code = getSystemErrorName(-errno)
  return Object.assign(new Error(`${call} ${code}`), { code, errno: -errno, syscall: call })
}
