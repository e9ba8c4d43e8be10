import { AF_INET, AF_INET6, type Libc, MSG_DONTWAIT, SharedMemory } from './libc.ts'
import { ADDRESS_AT, type Family, portOf, SCOPE_WORD, SOCKADDR_BYTES } from './sockaddr.ts'

/** Number of datagrams fetched with one call. */
export const BATCH = 64
/** The layout of a place: `struct mmsghdr` (recvmmsg(2)); further on what it points to: the sender's address, `struct iovec` [bytes]. */
const HEADER_BYTES = 64
const SOURCE_BYTES = 32
const IOV_BYTES = 16
/** In the header: the length of the address, set before and read after, and that of the datagram [words of 4 bytes]. */
const NAME_LENGTH = 2
const LENGTH = 14
/** Memory for a datagram, larger than any, and an odd number of cache lines. Pages that no datagram reaches are never used [bytes]. */
const PLACE_BYTES = 65_536 + 64

const SOURCES_AT = BATCH * HEADER_BYTES
const IOVS_AT = SOURCES_AT + BATCH * SOURCE_BYTES
const DATAGRAMS_AT = IOVS_AT + BATCH * IOV_BYTES

/** Datagrams of one socket, fetched together into memory that is reused. Only wanted ones are copied. */
export class DatagramBatch {
  readonly #libc: Libc
  readonly #memory = new SharedMemory(DATAGRAMS_AT + BATCH * PLACE_BYTES)
  readonly #words = new Int32Array(this.#memory.bytes.buffer, 0, DATAGRAMS_AT / 4)
  readonly #names: SourceNames
  #family: Family = AF_INET

  constructor(libc: Libc) {
    this.#libc = libc
    this.#names = new SourceNames(libc)
    const { view, address } = this.#memory
    const put = (at: number, value: number): void => view.setBigUint64(at, BigInt(value), true)
    for (let place = 0; place < BATCH; place++) {
      const [header, iov] = [place * HEADER_BYTES, IOVS_AT + place * IOV_BYTES]
      put(header, address + SOURCES_AT + place * SOURCE_BYTES)
      put(header + 16, address + iov)
      put(header + 24, 1)
      put(iov, address + datagramAt(place))
      put(iov + 8, PLACE_BYTES)
    }
  }

  /** Fetches at most `BATCH` datagrams of a socket. @returns how many */
  receive(fd: number, family: Family): number {
    this.#family = family
    for (let place = 0; place < BATCH; place++) {
      this.#words[(place * HEADER_BYTES) / 4 + NAME_LENGTH] = SOCKADDR_BYTES[family]
    }
    return Math.max(0, this.#libc.recvmmsg(fd, this.#memory.address, BATCH, MSG_DONTWAIT, 0))
  }

  /** The sender's address. */
  host(place: number): string {
    return this.#names.of(this.#family, this.#words, sourceAt(place))
  }

  /** The sender's port. */
  port(place: number): number {
    return portOf(this.#words[sourceAt(place)]!)
  }

  /** A copy of the datagram. */
  bytes(place: number): Uint8Array {
    const at = datagramAt(place)
    return this.#memory.bytes.slice(at, at + this.#words[(place * HEADER_BYTES) / 4 + LENGTH]!)
  }
}

const datagramAt = (place: number): number => DATAGRAMS_AT + place * PLACE_BYTES
/** [words] */
const sourceAt = (place: number): number => (SOURCES_AT + place * SOURCE_BYTES) / 4

/** Number of addresses whose text is cached; each new one replaces another. */
const NAMES = 16_384
/** An address of either family, and the link of a link-local one [words]. */
const KEY_WORDS = 5

/** Caches the text of addresses that recur. */
class SourceNames {
  readonly #libc: Libc
  readonly #keys = new Int32Array(NAMES * KEY_WORDS)
  readonly #names = new Array<string>(NAMES).fill('')
  readonly #key = new Int32Array(KEY_WORDS)

  constructor(libc: Libc) {
    this.#libc = libc
  }

  of(family: Family, words: Int32Array, at: number): string {
    const key = this.#key
    const first = at + ADDRESS_AT[family] / 4
    key[0] = words[first]!
    for (let i = 1; i < 4; i++) key[i] = family === AF_INET6 ? words[first + i]! : 0
    key[4] = family === AF_INET6 ? words[at + SCOPE_WORD]! : -1
    const place = placeOf(key)
    const keyAt = place * KEY_WORDS
    let isSame = this.#names[place] !== ''
    for (let i = 0; i < KEY_WORDS && isSame; i++) isSame = this.#keys[keyAt + i] === key[i]
    if (!isSame) {
      this.#keys.set(key, keyAt)
      const scope = family === AF_INET6 ? words[at + SCOPE_WORD]! : 0
      const link = scope === 0 ? null : this.#libc.linkName(scope)
      const address = this.#libc.readAddress(family, words, 4 * at + ADDRESS_AT[family])
      this.#names[place] = link === null ? address : `${address}%${link}`
    }
    return this.#names[place]!
  }
}

function placeOf(key: Int32Array): number {
  let hash = 0
  for (let i = 0; i < KEY_WORDS; i++) hash = Math.imul(hash ^ key[i]!, 0x9e3779b1) ^ (hash >>> 15)
  return hash >>> (32 - Math.log2(NAMES))
}
