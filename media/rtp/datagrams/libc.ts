import koffi from 'koffi'
import { OwnDescriptors } from './own-descriptors.ts'

/** Constants of Linux, equal on x64 and arm64 (`asm-generic`). */
export const AF_INET = 2
export const AF_INET6 = 10
const SOCK_DGRAM_NONBLOCK_CLOEXEC = 2 | 0o4000 | 0o2000000
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_RCVBUF = 8
/** Exceeds the system's maximum; needs the capability CAP_NET_ADMIN. */
const SO_RCVBUFFORCE = 33
/** Counts of a socket (`SK_MEMINFO_…`, words of 4 bytes), and which of them are dropped datagrams (Linux 4.12). */
const SO_MEMINFO = 55
const MEMINFO = { words: 9, drops: 8 }
const IPPROTO_IP = 0
const IP_TOS = 1
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26
const IPV6_TCLASS = 67
/** How packets are marked, so that routers prefer them (DSCP, RFC 4594 §4.1, §4.2): voice (EF), and its signalling (CS5). */
const VOICE = 46 << 2
const SIGNALLING = 40 << 2
const F_DUPFD_CLOEXEC = 1030
export const EAGAIN = 11
/** The socket option, and the type of its control message (socket(7)). */
export const SO_TIMESTAMPNS = 35
const EPOLL_CTL_ADD = 1
const EPOLL_CTL_DEL = 2
/** Number of the system call, the same on every machine. */
const IO_URING_SETUP = 425
const EPOLLIN = 1
/** `struct pollfd`, followed by a `struct timespec` (poll(2)). */
const POLLIN = 1
const TIMESPEC_AT = 8
export const MSG_DONTWAIT = 0x40
/** Makes a broken connection an error instead of a signal. */
export const MSG_NOSIGNAL = 0x4000
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
  readonly #getsockopt = this.#lib.func('int getsockopt(int, int, int, uintptr_t, uintptr_t)')
  readonly #fcntl = this.#lib.func('int fcntl(int, int, ...)')
  readonly #indexToName = this.#lib.func('const char *if_indextoname(uint32_t, uintptr_t)')
  readonly #nameToIndex = this.#lib.func('uint32_t if_nametoindex(const char *)')
  readonly #close = this.#lib.func('int close(int)')
  readonly #epollCreate = this.#lib.func('int epoll_create1(int)')
  readonly #epollCtl = this.#lib.func('int epoll_ctl(int, int, int, uintptr_t)')
  readonly ppoll = this.#lib.func('int ppoll(uintptr_t, unsigned long, uintptr_t, uintptr_t)')
  readonly epollWait = this.#lib.func('int epoll_wait(int, uintptr_t, int, int)')
  readonly sendto = this.#lib.func('intptr_t sendto(int, uintptr_t, size_t, int, uintptr_t, uint32_t)')
  readonly recv = this.#lib.func('intptr_t recv(int, uintptr_t, size_t, int)')
  readonly recvmsg = this.#lib.func('intptr_t recvmsg(int, uintptr_t, int)')
  readonly recvmmsg = this.#lib.func('int recvmmsg(int, uintptr_t, uint32_t, int, uintptr_t)')
  readonly sendmsg = this.#lib.func('intptr_t sendmsg(int, uintptr_t, int)')
  readonly #mmap = this.#lib.func('uintptr_t mmap(uintptr_t, size_t, int, int, int, intptr_t)')
  /** The C library has no functions for them: the first argument is the number of the call. */
  readonly #ringSetup = this.#lib.func('long syscall(long, uint32_t, uintptr_t)')
  readonly ringEnter = this.#lib.func('long syscall(long, uint32_t, uint32_t, uint32_t, uint32_t, uintptr_t, size_t)')
  readonly #pton = this.#lib.func('int inet_pton(int, const char *, uintptr_t)')
  readonly #ntop = this.#lib.func('const char *inet_ntop(int, uintptr_t, uintptr_t, uint32_t)')
  readonly clockGettime = this.#lib.func('int clock_gettime(int, uintptr_t)')
  readonly #scratch = new SharedMemory(TEXT_AT + TEXT_BYTES)
  readonly #own: OwnDescriptors

  /** @param own lists the descriptors that it opens */
  constructor(own = new OwnDescriptors()) {
    this.#own = own
  }

  /** A UDP socket for audio, whose datagrams carry their arrival time; negative: failed. */
  socket(family: number): number {
    const fd = this.#socket(family, SOCK_DGRAM_NONBLOCK_CLOEXEC, 0)
    if (fd < 0) return fd
    this.#own.add(fd)
    this.#set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1)
    this.#mark(fd, family, VOICE)
    return fd
  }

  /** A UDP socket for signalling, of one family only, with a receive buffer of this size, or the most that we may have; negative: failed. */
  bufferedSocket(family: number, receiveBufferBytes: number): number {
    const fd = this.#socket(family, SOCK_DGRAM_NONBLOCK_CLOEXEC, 0)
    if (fd < 0) return fd
    if (family === AF_INET6) this.#set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)
    this.#mark(fd, family, SIGNALLING)
    if (!this.#set(fd, SOL_SOCKET, SO_RCVBUFFORCE, receiveBufferBytes)) {
      this.#set(fd, SOL_SOCKET, SO_RCVBUF, receiveBufferBytes)
    }
    return fd
  }

  /** If the system does not allow it, packets are not marked. */
  #mark(fd: number, family: number, trafficClass: number): void {
    if (family === AF_INET6) this.#set(fd, IPPROTO_IPV6, IPV6_TCLASS, trafficClass)
    else this.#set(fd, IPPROTO_IP, IP_TOS, trafficClass)
  }

  #set(fd: number, level: number, option: number, value: number): boolean {
    const { view, address } = this.#scratch
    view.setInt32(0, value, true)
    return this.#setsockopt(fd, level, option, address, 4) === 0
  }

  /** The same socket by another descriptor; negative: failed. */
  duplicate(fd: number): number {
    return this.#fcntl(fd, F_DUPFD_CLOEXEC, 'int', 0)
  }

  /** Prevents others from binding to the socket's port, whatever was set before. */
  keepAlone(fd: number): void {
    this.#set(fd, SOL_SOCKET, SO_REUSEADDR, 0)
  }

  /** Datagrams that the system has dropped since nobody fetched those before; 0 where it does not tell. */
  droppedOf(fd: number): number {
    const { view, address } = this.#scratch
    const lengthAt = MEMINFO.words * 4
    view.setUint32(lengthAt, lengthAt, true)
    const isTold = this.#getsockopt(fd, SOL_SOCKET, SO_MEMINFO, address, address + lengthAt) === 0
    return isTold && view.getUint32(lengthAt, true) === lengthAt ? view.getUint32(MEMINFO.drops * 4, true) : 0
  }

  /** Why the last call failed. */
  get errno(): number {
    return koffi.errno()
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
    this.#own.remove(fd)
    this.#close(fd)
  }

  epoll(): number {
    const fd = this.#epollCreate(0)
    this.#own.add(fd)
    return fd
  }

  /** A ring for this many messages (io_uring_setup(2)); negative: failed. */
  ring(entries: number, paramsAddress: number): number {
    const fd = Number(this.#ringSetup(IO_URING_SETUP, entries, paramsAddress))
    this.#own.add(fd)
    return fd
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

  unwatch(epoll: number, fd: number): void {
    this.#epollCtl(epoll, EPOLL_CTL_DEL, fd, 0)
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

  /** The name of a link (RFC 4007 §11.2); null: there is none. */
  linkName(index: number): string | null {
    return this.#indexToName(index, this.#scratch.address)
  }

  /** The index of a link; 0: there is none. */
  linkIndex(name: string): number {
    return this.#nameToIndex(name)
  }
}
