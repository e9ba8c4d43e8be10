import { HmacSha1 } from './hmac-sha1.ts'
import type { SessionKeys } from './key-derivation.ts'
import { KeyStream } from './key-stream.ts'
import { MAX_OVERHEAD_BYTES, MAX_PACKET_BYTES } from './packet-cipher.ts'
import type { PacketCrypto } from './packet-crypto.ts'

/** Uses `node:crypto`, which allocates objects for each packet. */
export class NodeCrypto implements PacketCrypto {
  readonly work: Uint8Array
  readonly #keyStream: KeyStream
  readonly #hmac: HmacSha1

  constructor({ encryption, salt, authentication }: SessionKeys) {
    this.#keyStream = new KeyStream(encryption, salt, MAX_PACKET_BYTES)
    this.#hmac = new HmacSha1(authentication, MAX_PACKET_BYTES + MAX_OVERHEAD_BYTES)
    this.work = this.#hmac.message
  }

  apply(from: number, to: number, ssrc: number, index: number): void {
    this.#keyStream.apply(this.work, from, to, ssrc, index)
  }

  digest(length: number): Uint8Array {
    return this.#hmac.digest(length)
  }
}
