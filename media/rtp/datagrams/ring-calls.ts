import { type Libc, MSG_DONTWAIT, MSG_NOSIGNAL, SharedMemory } from './libc.ts'
import { type MessageCalls, NOT_DONE } from './message-calls.ts'

/** Number of the system call, the same on every machine. */
const IO_URING_ENTER = 426
/** `struct io_uring_params` (io_uring_setup(2)) [bytes, words of 4 bytes]. */
const PARAMS_BYTES = 120
const PARAMS = { sqEntries: 0, cqEntries: 1, features: 5, sqOffsets: 10, cqOffsets: 20 }
/** In its offsets, of both rings and of one of them [words]. */
const OFFSET = { head: 0, tail: 1, mask: 2, cqes: 5, array: 6 }
/** Both rings lie in one mapping (Linux 5.4). */
const IORING_FEAT_SINGLE_MMAP = 1
const IORING_OFF_SQES = 0x10000000
/** `struct io_uring_sqe`, `struct io_uring_cqe` [bytes]. */
const SQE_BYTES = 64
const CQE_WORDS = 4
/** In a request [bytes]. */
const SQE = { opcode: 0, fd: 4, address: 16, length: 24, messageFlags: 28, userData: 32 }
const OPCODE = { send: 9, receive: 10 }

/** A ring of the system that carries out all added messages with one system call (`io_uring`): each still has its own socket. */
export class RingCalls implements MessageCalls {
  readonly results: Int32Array
  readonly #libc: Libc
  readonly #fd: number
  readonly #ring: Uint32Array
  /** Where things are in the ring [words]. */
  readonly #sq: { head: number; tail: number; mask: number; array: number }
  readonly #cq: { head: number; tail: number; mask: number; cqes: number }
  /** A request for each place, in which only the socket changes. */
  readonly #requests: Int32Array
  #count = 0

  private constructor(
    libc: Libc,
    fd: number,
    params: Uint32Array,
    kind: 'receive' | 'send',
    headers: readonly number[],
  ) {
    this.#libc = libc
    this.#fd = fd
    this.results = new Int32Array(headers.length)
    const of = (at: number, offset: number): number => params[at + offset]! / 4
    const { sqOffsets, cqOffsets } = PARAMS
    const [sqArray, cqes] = [of(sqOffsets, OFFSET.array), of(cqOffsets, OFFSET.cqes)]
    const words = Math.max(sqArray + params[PARAMS.sqEntries]!, cqes + CQE_WORDS * params[PARAMS.cqEntries]!)
    this.#ring = new Uint32Array(libc.map(fd, 4 * words, 0))
    const maskAt = (at: number): number => this.#ring[of(at, OFFSET.mask)]!
    this.#sq = {
      ...{ head: of(sqOffsets, OFFSET.head), tail: of(sqOffsets, OFFSET.tail) },
      ...{ mask: maskAt(sqOffsets), array: sqArray },
    }
    this.#cq = { head: of(cqOffsets, OFFSET.head), tail: of(cqOffsets, OFFSET.tail), mask: maskAt(cqOffsets), cqes }
    const requests = libc.map(fd, SQE_BYTES * params[PARAMS.sqEntries]!, IORING_OFF_SQES)
    this.#requests = new Int32Array(requests)
    for (const [place, address] of headers.entries()) {
      const view = new DataView(requests, place * SQE_BYTES, SQE_BYTES)
      view.setUint8(SQE.opcode, OPCODE[kind])
      view.setBigUint64(SQE.address, BigInt(address), true)
      view.setUint32(SQE.length, 1, true)
      view.setUint32(SQE.messageFlags, kind === 'send' ? MSG_DONTWAIT | MSG_NOSIGNAL : MSG_DONTWAIT, true)
      view.setUint32(SQE.userData, place, true)
    }
  }

  /** Throws if the system has no such rings, or does not allow them, as in many containers. */
  static open(libc: Libc, kind: 'receive' | 'send', headerAddresses: readonly number[]): RingCalls {
    const memory = new SharedMemory(PARAMS_BYTES)
    const params = new Uint32Array(memory.bytes.buffer)
    const fd = libc.ring(headerAddresses.length, memory.address)
    if (fd < 0) throw new Error('the system gives no ring')
    try {
      if ((params[PARAMS.features]! & IORING_FEAT_SINGLE_MMAP) === 0) throw new Error('the rings are too old')
      return new RingCalls(libc, fd, params, kind, headerAddresses)
    } catch (error) {
      libc.close(fd)
      throw error
    }
  }

  add(fd: number, place: number): void {
    const ring = this.#ring
    const { tail, mask, array } = this.#sq
    this.#requests[(place * SQE_BYTES + SQE.fd) / 4] = fd
    this.results[place] = NOT_DONE
    ring[array + ((ring[tail]! + this.#count++) & mask)] = place
  }

  run(): void {
    const count = this.#count
    if (count === 0) return
    this.#count = 0
    const ring = this.#ring
    const { head, tail } = this.#sq
    ring[tail] = ring[tail]! + count
    this.#libc.ringEnter(IO_URING_ENTER, this.#fd, count, 0, 0, 0, 0)
    // What the system did not take is not done later either.
    ring[tail] = ring[head]!
    this.#reap()
  }

  /** Nothing waits, so every request has its result when `ringEnter` returns: the system writes here at no other time. */
  #reap(): void {
    const ring = this.#ring
    const { head, tail, mask, cqes } = this.#cq
    const end = ring[tail]!
    for (let number = ring[head]!; number !== end; number = (number + 1) >>> 0) {
      const at = cqes + (number & mask) * CQE_WORDS
      this.results[ring[at]!] = ring[at + 2]!
    }
    ring[head] = end
  }
}
