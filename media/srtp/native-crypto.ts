import { createCipheriv, createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import koffi from 'koffi'
import { SharedMemory } from '../rtp/datagrams/libc.ts'
import { readUint32, writeUint32 } from '../rtp/rtp.ts'
import type { SessionKeys } from './key-derivation.ts'
import { MAX_OVERHEAD_BYTES, MAX_PACKET_BYTES } from './packet-cipher.ts'
import type { PacketCrypto } from './packet-crypto.ts'

const BLOCK_BYTES = 64
const DIGEST_BYTES = 20
const AES_BLOCK_BYTES = 16
/** `AES_KEY` of OpenSSL, with room to spare. */
const EXPANDED_BYTES = 256
/** Layout of the memory in which OpenSSL works [bytes]; there is spare room after the state, in case it is larger somewhere. */
const AT = { state: 0, iv: 256, written: 272, block: 320, packet: 384 }
/** In an unfinished block of a message, its length in bits comes last (FIPS 180-4 §5.1.1) [bytes]. */
const END_MARK = 0x80
const LENGTH_BYTES = 8
const WORDS = DIGEST_BYTES / 4
/** What a stream has, in one array, so that a packet touches little memory: the salt as words, and the states after the padded key. */
const STREAM = { salt: 0, inner: 4, outer: 4 + WORDS, length: 4 + 2 * WORDS }

/** The library's function for a C declaration. Throws if it has none. */
type FunctionOf = (declaration: string) => (...args: number[]) => number

/** AES-128 in counter mode. Addresses are numbers. */
interface Aes {
  /** A stream's key as `encrypt` takes it; the stream keeps it. */
  keyOf(key: Uint8Array): SharedMemory
  /**
   * XORs the key stream from the counter block at `iv` on onto `length` bytes at `at`. The rest of the last block of 16 bytes may be overwritten, too.
   */
  encrypt(key: number, at: number, length: number, iv: number): void
}

/**
 * The code for the AES instructions of x64 that OpenSSL itself uses. The key is expanded once for each stream, not for each packet, and
 * a packet is one call. Throws where OpenSSL does not export it (a library of the system hides it), or the processor has no such instructions.
 */
function aesOfProcessor(functionOf: FunctionOf): Aes {
  const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'latin1'))
  if (!flags?.[1]?.split(' ').includes('aes')) throw new Error('the processor has no AES instructions')
  const expand = functionOf('int aesni_set_encrypt_key(uintptr_t, int, uintptr_t)')
  const encrypt = functionOf('void aesni_ctr32_encrypt_blocks(uintptr_t, uintptr_t, size_t, uintptr_t, uintptr_t)')
  return {
    keyOf: key => {
      const given = new SharedMemory(key.length)
      given.bytes.set(key)
      const expanded = new SharedMemory(EXPANDED_BYTES)
      expand(given.address, 8 * key.length, expanded.address)
      return expanded
    },
    encrypt: (key, at, length, iv) => {
      encrypt(at, at, Math.ceil(length / AES_BLOCK_BYTES), key, iv)
    },
  }
}

/** The interface that every OpenSSL has. @param written address of a word for it */
function aesOfLibrary(functionOf: FunctionOf, written: number): Aes {
  const init = functionOf('int EVP_EncryptInit_ex(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t)')
  const update = functionOf('int EVP_EncryptUpdate(uintptr_t, uintptr_t, uintptr_t, uintptr_t, int)')
  const context = functionOf('uintptr_t EVP_CIPHER_CTX_new()')()
  init(context, functionOf('uintptr_t EVP_aes_128_ctr()')(), 0, 0, 0)
  return {
    keyOf: key => {
      const memory = new SharedMemory(key.length)
      memory.bytes.set(key)
      return memory
    },
    encrypt: (key, at, length, iv) => {
      // Naming the cipher again would make OpenSSL look it up again, which takes longer than all the rest.
      init(context, 0, 0, key, iv)
      update(context, at, written, at, length)
    },
  }
}

/** The OpenSSL functions contained in or linked with Node, and the memory that all streams of a thread share. */
class OpenSsl {
  readonly memory = new SharedMemory(AT.packet + MAX_PACKET_BYTES + MAX_OVERHEAD_BYTES + 2 * BLOCK_BYTES)
  readonly packet = this.memory.bytes.subarray(AT.packet)
  readonly digest = this.memory.bytes.subarray(AT.block, AT.block + DIGEST_BYTES)
  readonly iv = this.memory.bytes.subarray(AT.iv, AT.iv + AES_BLOCK_BYTES)
  readonly #aes: Aes
  readonly #sha1Init: (...args: number[]) => number
  readonly #sha1Update: (...args: number[]) => number
  readonly #words = new Int32Array(this.memory.bytes.buffer, AT.state, WORDS)

  /** Throws if unavailable. */
  constructor(functionOf: FunctionOf, aes: 'of the processor' | 'of the library') {
    this.#aes =
      aes === 'of the processor'
        ? aesOfProcessor(functionOf)
        : aesOfLibrary(functionOf, this.memory.address + AT.written)
    this.#sha1Init = functionOf('int SHA1_Init(uintptr_t)')
    this.#sha1Update = functionOf('int SHA1_Update(uintptr_t, uintptr_t, size_t)')
    // The constant part after the inner digest.
    this.memory.bytes[AT.block + DIGEST_BYTES] = END_MARK
    this.memory.view.setUint32(AT.block + BLOCK_BYTES - 4, 8 * (BLOCK_BYTES + DIGEST_BYTES))
  }

  /** A stream's key as `encrypt` takes it. */
  keyOf(key: Uint8Array): SharedMemory {
    return this.#aes.keyOf(key)
  }

  /** Encrypts `packet[from..to)` in place, with the counter block in `iv`. */
  encrypt(key: number, from: number, to: number): void {
    const { address } = this.memory
    this.#aes.encrypt(key, address + AT.packet + from, to - from, address + AT.iv)
  }

  /** The state after a block: what of it later blocks depend on. */
  stateAfter(block: Uint8Array): Int32Array {
    const { address } = this.memory
    this.#sha1Init(address)
    this.packet.set(block)
    this.#sha1Update(address, address + AT.packet, block.length)
    return this.#words.slice()
  }

  /**
   * The HMAC of the packet's first bytes, in `digest`, from the stream's states after the padded key. Whole blocks are hashed, so that the state is the digest
   * and nothing has to be finished; up to two blocks after the packet are overwritten.
   */
  hmac(stream: Int32Array, length: number): void {
    const { address, view } = this.memory
    this.#goOnFrom(stream, STREAM.inner)
    this.#sha1Update(address, address + AT.packet, this.#pad(length))
    this.#takeDigest(view)
    this.#goOnFrom(stream, STREAM.outer)
    this.#sha1Update(address, address + AT.block, BLOCK_BYTES)
    this.#takeDigest(view)
  }

  /** Of the rest of `SHA_CTX`, the length is not used, and no unfinished block is in it. */
  #goOnFrom(stream: Int32Array, at: number): void {
    for (let word = 0; word < WORDS; word++) this.#words[word] = stream[at + word]!
  }

  /** Completes the last block of the message. @returns its length [bytes] */
  #pad(length: number): number {
    const { packet } = this
    const padded = Math.ceil((length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
    packet[length] = END_MARK
    for (let at = length + 1; at < padded - 4; at++) packet[at] = 0
    writeUint32(packet, padded - 4, 8 * (BLOCK_BYTES + length))
    return padded
  }

  /** The state as bytes, most significant first. */
  #takeDigest(view: DataView): void {
    for (let word = 0; word < WORDS; word++) view.setUint32(AT.block + 4 * word, this.#words[word]!)
  }
}

/** Uses OpenSSL directly, without allocation per packet: a fifth of the time of `node:crypto`. */
class NativeCrypto implements PacketCrypto {
  readonly work: Uint8Array
  readonly #openSsl: OpenSsl
  readonly #key: SharedMemory
  readonly #keyAddress: number
  readonly #stream = new Int32Array(STREAM.length)

  constructor(openSsl: OpenSsl, { encryption, salt, authentication }: SessionKeys) {
    this.#openSsl = openSsl
    this.work = openSsl.packet
    this.#key = openSsl.keyOf(encryption)
    this.#keyAddress = this.#key.address
    // The last word ends with two zero bytes, which count the blocks.
    const bytes = new Uint8Array(AES_BLOCK_BYTES)
    bytes.set(salt)
    for (let word = 0; word < 4; word++) this.#stream[STREAM.salt + word] = readUint32(bytes, 4 * word)
    const padded = (pad: number): Int32Array =>
      openSsl.stateAfter(Uint8Array.from({ length: BLOCK_BYTES }, (_, i) => (authentication[i] ?? 0) ^ pad))
    this.#stream.set(padded(0x36), STREAM.inner)
    this.#stream.set(padded(0x5c), STREAM.outer)
  }

  apply(from: number, to: number, ssrc: number, index: number): void {
    if (to <= from) return
    const { iv } = this.#openSsl
    const stream = this.#stream
    writeUint32(iv, 0, stream[STREAM.salt]!)
    writeUint32(iv, 4, stream[STREAM.salt + 1]! ^ ssrc)
    writeUint32(iv, 8, stream[STREAM.salt + 2]! ^ Math.floor(index / 0x10000))
    writeUint32(iv, 12, stream[STREAM.salt + 3]! ^ (index * 0x10000))
    this.#openSsl.encrypt(this.#keyAddress, from, to)
  }

  digest(length: number): Uint8Array {
    this.#openSsl.hmac(this.#stream, length)
    return this.#openSsl.digest
  }
}

/** Throws if OpenSSL cannot be called this way, or is a different one than we know. */
export function openNativeCrypto(aes: 'of the processor' | 'of the library'): (keys: SessionKeys) => PacketCrypto {
  const library = koffi.load(null)
  const openSsl = new OpenSsl(declaration => library.func(declaration) as (...args: number[]) => number, aes)
  const open = (keys: SessionKeys): PacketCrypto => new NativeCrypto(openSsl, keys)
  if (!isRight(open)) throw new Error('this OpenSSL comes to something else')
  return open
}

/** Whether it produces the same result as `node:crypto`. */
function isRight(open: (keys: SessionKeys) => PacketCrypto): boolean {
  const bytes = (seed: string, length: number): Uint8Array =>
    createHash('sha1').update(seed).digest().subarray(0, length)
  const keys = { encryption: bytes('key', 16), salt: bytes('salt', 14), authentication: bytes('tag', 20) }
  const crypto = open(keys)
  const iv = new Uint8Array(16)
  iv.set(keys.salt)
  return [1, 55, 64, 176, MAX_PACKET_BYTES].every(length => {
    const packet = new Uint8Array(length).fill(length)
    crypto.work.set(packet)
    const tag = Buffer.from(crypto.digest(length))
    crypto.apply(0, length, 0, 0)
    const encrypted = createCipheriv('aes-128-ctr', keys.encryption, iv).update(packet)
    return (
      tag.equals(createHmac('sha1', keys.authentication).update(packet).digest()) &&
      encrypted.equals(crypto.work.subarray(0, length))
    )
  })
}
