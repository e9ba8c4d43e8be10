import koffi from 'koffi'

/** Constants of Linux, equal on x64 and arm64 (`asm-generic`). */
export const AF_INET = 2
export const AF_INET6 = 10
const SOCK_DGRAM_NONBLOCK_CLOEXEC = 2 | 0o4000 | 0o2000000
const SOL_SOCKET = 1
/** The socket option, and the type of its control message (socket(7)). */
export const SO_TIMESTAMPNS = 35
const EPOLL_CTL_ADD = 1
const EPOLLIN = 1
/** `struct pollfd`, followed by a `struct timespec` (poll(2)). */
const POLLIN = 1
const TIMESPEC_AT = 8
export const MSG_DONTWAIT = 0x40
const PROT_READ_WRITE = 1 | 2
const MAP_SHARED_POPULATE = 1 | 0x8000
/** No address is this high. */
const MAP_FAILED = 2 ** 63
export const CLOCK_REALTIME = 0

/** `struct epoll_event`: packed on x64 only. */
export const EVENT = process.arch === 'x64' ? { bytes: 12, data: 4 } : { bytes: 16, data: 8 }

/** Size of an address, and where the scratch memory has room for its text form [bytes]. */
const ADDRESS_BYTES: Readonly<Record<number, number>> = { [AF_INET]: 4, [AF_INET6]: 16 }
const TEXT_AT = 16
const TEXT_BYTES = 64

/** Memory that the system reads and writes. It never moves, so its address is looked up once. */
export class SharedMemory {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly address: number

  constructor(size: number) {
    const memory = new ArrayBuffer(size)
    this.bytes = new Uint8Array(memory)
    this.view = new DataView(memory)
    this.address = Number(koffi.address(this.bytes))
  }
}

/**
 * The system calls that sockets need. Pointers are numbers, the cheapest form of an argument. Calls on the packet path have no
 * wrapper.
 */
export class Libc {
  readonly #lib = koffi.load(null)
  readonly #socket = this.#lib.func('int socket(int, int, int)')
  readonly #bind = this.#lib.func('int bind(int, uintptr_t, uint32_t)')
  readonly #setsockopt = this.#lib.func('int setsockopt(int, int, int, uintptr_t, uint32_t)')
  readonly #close = this.#lib.func('int close(int)')
  readonly #epollCreate = this.#lib.func('int epoll_create1(int)')
  readonly #epollCtl = this.#lib.func('int epoll_ctl(int, int, int, uintptr_t)')
  readonly ppoll = this.#lib.func('int ppoll(uintptr_t, unsigned long, uintptr_t, uintptr_t)')
  readonly epollWait = this.#lib.func('int epoll_wait(int, uintptr_t, int, int)')
  readonly sendto = this.#lib.func('intptr_t sendto(int, uintptr_t, size_t, int, uintptr_t, uint32_t)')
  readonly recv = this.#lib.func('intptr_t recv(int, uintptr_t, size_t, int)')
  readonly recvmsg = this.#lib.func('intptr_t recvmsg(int, uintptr_t, int)')
  readonly sendmsg = this.#lib.func('intptr_t sendmsg(int, uintptr_t, int)')
  readonly #mmap = this.#lib.func('uintptr_t mmap(uintptr_t, size_t, int, int, int, intptr_t)')
  /** The C library has no functions for them: the first argument is the number of the call. */
  readonly ringSetup = this.#lib.func('long syscall(long, uint32_t, uintptr_t)')
  readonly ringEnter = this.#lib.func('long syscall(long, uint32_t, uint32_t, uint32_t, uint32_t, uintptr_t, size_t)')
  readonly #pton = this.#lib.func('int inet_pton(int, const char *, uintptr_t)')
  readonly #ntop = this.#lib.func('const char *inet_ntop(int, uintptr_t, uintptr_t, uint32_t)')
  readonly clockGettime = this.#lib.func('int clock_gettime(int, uintptr_t)')
  readonly #scratch = new SharedMemory(TEXT_AT + TEXT_BYTES)

  /** A UDP socket whose datagrams carry their arrival time; negative: failed. */
  socket(family: number): number {
    const fd = this.#socket(family, SOCK_DGRAM_NONBLOCK_CLOEXEC, 0)
    this.#scratch.view.setInt32(0, 1, true)
    if (fd >= 0) this.#setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, this.#scratch.address, 4)
    return fd
  }

  /** Of memory that never moves. */
  addressOf(bytes: Uint8Array): number {
    return Number(koffi.address(bytes))
  }

  bind(fd: number, sockaddr: Int32Array, length: number): boolean {
    const { bytes, address } = this.#scratch
    bytes.set(new Uint8Array(sockaddr.buffer, sockaddr.byteOffset, length))
    return this.#bind(fd, address, length) === 0
  }

  close(fd: number): void {
    this.#close(fd)
  }

  epoll(): number {
    return this.#epollCreate(0)
  }

  /** Memory shared with the system through a descriptor. Throws if there is none. */
  map(fd: number, bytes: number, offset: number): ArrayBuffer {
    const address = this.#mmap(0, bytes, PROT_READ_WRITE, MAP_SHARED_POPULATE, fd, offset)
    if (address >= MAP_FAILED) throw new Error('the system maps no memory')
    return koffi.view(address, bytes)
  }

  /** A function that sleeps until a socket of `epoll` has a datagram, or this long [ms]. */
  sleeper(epoll: number): (ms: number) => void {
    const memory = new SharedMemory(TIMESPEC_AT + 16)
    memory.view.setInt32(0, epoll, true)
    memory.view.setInt16(4, POLLIN, true)
    const { address, view } = memory
    return ms => {
      view.setUint32(TIMESPEC_AT + 8, Math.floor(ms * 1e6), true)
      this.ppoll(address, 1, address + TIMESPEC_AT, 0)
    }
  }

  /** `data` is returned with each event of the socket. */
  watch(epoll: number, fd: number, data: number): boolean {
    const { view, address } = this.#scratch
    view.setUint32(0, EPOLLIN, true)
    view.setUint32(EVENT.data, data, true)
    view.setUint32(EVENT.data + 4, 0, true)
    return this.#epollCtl(epoll, EPOLL_CTL_ADD, fd, address) === 0
  }

  /** Writes the 4 or 16 bytes of an address at byte `at`; false: it is not of this family. */
  writeAddress(family: number, host: string, into: Int32Array, at: number): boolean {
    const { bytes, address } = this.#scratch
    if (this.#pton(family, host, address) !== 1) return false
    new Uint8Array(into.buffer, into.byteOffset).set(bytes.subarray(0, ADDRESS_BYTES[family]), at)
    return true
  }

  readAddress(family: number, from: Int32Array, at: number): string {
    const { bytes, address } = this.#scratch
    bytes.set(new Uint8Array(from.buffer, from.byteOffset + at, ADDRESS_BYTES[family]))
    return this.#ntop(family, address, address + TEXT_AT, TEXT_BYTES) ?? ''
  }
}
