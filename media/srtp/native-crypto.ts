import { createCipheriv, createHash, createHmac } from 'node:crypto'
import koffi from 'koffi'
import { SharedMemory } from '../rtp/datagrams/libc.ts'
import { writeUint32 } from '../rtp/rtp.ts'
import type { SessionKeys } from './key-derivation.ts'
import { MAX_OVERHEAD_BYTES, MAX_PACKET_BYTES } from './packet-cipher.ts'
import type { PacketCrypto } from './packet-crypto.ts'

/** `SHA_CTX` of OpenSSL; and the block that a key is padded to (RFC 2104). */
const STATE_BYTES = 96
const BLOCK_BYTES = 64
const DIGEST_BYTES = 20
/** Layout of the memory in which OpenSSL works [bytes]; there is spare room after the state, in case it is larger somewhere. */
const AT = { state: 0, iv: 256, key: 272, written: 288, block: 320, packet: 384 }
/** In an unfinished block of a message, its length in bits comes last (FIPS 180-4 §5.1.1) [bytes]. */
const END_MARK = 0x80
const LENGTH_BYTES = 8
const WORDS = DIGEST_BYTES / 4

/** The OpenSSL functions contained in or linked with Node, and the memory that all streams of a thread share. */
class OpenSsl {
  readonly memory = new SharedMemory(AT.packet + MAX_PACKET_BYTES + MAX_OVERHEAD_BYTES + 2 * BLOCK_BYTES)
  readonly packet = this.memory.bytes.subarray(AT.packet)
  readonly digest = this.memory.bytes.subarray(AT.block, AT.block + DIGEST_BYTES)
  readonly state = this.memory.bytes.subarray(AT.state, AT.state + STATE_BYTES)
  readonly iv = this.memory.bytes.subarray(AT.iv, AT.iv + 16)
  readonly key = this.memory.bytes.subarray(AT.key, AT.key + 16)
  readonly #init: (...args: number[]) => number
  readonly #update: (...args: number[]) => number
  readonly #sha1Init: (...args: number[]) => number
  readonly #sha1Update: (...args: number[]) => number
  readonly #words = new Uint32Array(this.memory.bytes.buffer, AT.state, WORDS)
  readonly #context: number

  /** Throws if unavailable. @param functionOf returns the library's function for this C declaration */
  constructor(functionOf: (declaration: string) => (...args: number[]) => number) {
    this.#init = functionOf('int EVP_EncryptInit_ex(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t)')
    this.#update = functionOf('int EVP_EncryptUpdate(uintptr_t, uintptr_t, uintptr_t, uintptr_t, int)')
    this.#sha1Init = functionOf('int SHA1_Init(uintptr_t)')
    this.#sha1Update = functionOf('int SHA1_Update(uintptr_t, uintptr_t, size_t)')
    this.#context = functionOf('uintptr_t EVP_CIPHER_CTX_new()')()
    this.#init(this.#context, functionOf('uintptr_t EVP_aes_128_ctr()')(), 0, 0, 0)
    // The constant part after the inner digest.
    this.memory.bytes[AT.block + DIGEST_BYTES] = END_MARK
    this.memory.view.setUint32(AT.block + BLOCK_BYTES - 4, 8 * (BLOCK_BYTES + DIGEST_BYTES))
  }

  /** Encrypts `packet[from..to)` in place, with `key` and `iv`. */
  encrypt(from: number, to: number): void {
    const { address } = this.memory
    const at = address + AT.packet + from
    // Naming the cipher again would make OpenSSL look it up again, which takes longer than all the rest.
    this.#init(this.#context, 0, 0, address + AT.key, address + AT.iv)
    this.#update(this.#context, at, address + AT.written, at, to - from)
  }

  /** The state after a block. */
  stateAfter(block: Uint8Array): Uint8Array {
    const { address } = this.memory
    this.#sha1Init(address)
    this.packet.set(block)
    this.#sha1Update(address, address + AT.packet, block.length)
    return this.state.slice()
  }

  /**
   * The HMAC of the packet's first bytes, in `digest`, from the states after the padded key. Whole blocks are hashed, so that the state is the digest
   * and nothing has to be finished; up to two blocks after the packet are overwritten.
   */
  hmac(inner: Uint8Array, outer: Uint8Array, length: number): void {
    const { address, view } = this.memory
    this.state.set(inner)
    this.#sha1Update(address, address + AT.packet, this.#pad(length))
    this.#takeDigest(view)
    this.state.set(outer)
    this.#sha1Update(address, address + AT.block, BLOCK_BYTES)
    this.#takeDigest(view)
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
export class NativeCrypto implements PacketCrypto {
  readonly work: Uint8Array
  readonly #openSsl: OpenSsl
  readonly #key: Uint8Array
  readonly #salt: Uint8Array
  readonly #inner: Uint8Array
  readonly #outer: Uint8Array

  constructor(openSsl: OpenSsl, { encryption, salt, authentication }: SessionKeys) {
    this.#openSsl = openSsl
    this.work = openSsl.packet
    this.#key = encryption.slice()
    this.#salt = salt.slice()
    const padded = (pad: number): Uint8Array =>
      openSsl.stateAfter(Uint8Array.from({ length: BLOCK_BYTES }, (_, i) => (authentication[i] ?? 0) ^ pad))
    this.#inner = padded(0x36)
    this.#outer = padded(0x5c)
  }

  apply(from: number, to: number, ssrc: number, index: number): void {
    if (to <= from) return
    const { iv, key } = this.#openSsl
    const salt = this.#salt
    writeUint32(iv, 0, 0)
    writeUint32(iv, 4, ssrc)
    writeUint32(iv, 8, Math.floor(index / 0x10000))
    writeUint32(iv, 12, index * 0x10000)
    for (let i = 0; i < salt.length; i++) iv[i]! ^= salt[i]!
    key.set(this.#key)
    this.#openSsl.encrypt(from, to)
  }

  digest(length: number): Uint8Array {
    this.#openSsl.hmac(this.#inner, this.#outer, length)
    return this.#openSsl.digest
  }
}

/** Throws if OpenSSL cannot be called, or is a different one than we know. */
export function openNativeCrypto(): (keys: SessionKeys) => PacketCrypto {
  const library = koffi.load(null)
  const openSsl = new OpenSsl(declaration => library.func(declaration) as (...args: number[]) => number)
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
