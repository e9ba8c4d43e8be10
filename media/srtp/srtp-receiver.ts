import { copy } from '../../codecs/kernels/frames.ts'
import type { CryptoSuite } from '../../sip/sdp/sdes.ts'
import { readUint32, rtpHeaderBytes } from '../rtp/rtp.ts'
import { MAX_PACKET_BYTES, type PacketCipher } from './packet-cipher.ts'
import { Sources } from './sources.ts'
import { packetCipher } from './suites.ts'

const SEQUENCES = 0x10000
/** Bytes of an RTCP packet that stay readable. */
const RTCP_CLEAR_BYTES = 8
const E_FLAG = 0x80000000

/** Opens packets of the far end with one master key. Nothing in a packet is trusted before its tag has been verified. */
export class SrtpReceiver {
  readonly #rtp: Opener
  readonly #rtcp: Opener
  readonly #before: ReadonlyMap<number, number>

  /** @param key base64 of the master key and the master salt @param before `highest` under the key that this one replaces */
  constructor(suite: CryptoSuite, key: string, before: ReadonlyMap<number, number> = new Map()) {
    this.#before = before
    this.#rtp = new Opener(packetCipher(suite, key, 'rtp'))
    this.#rtcp = new Opener(packetCipher(suite, key, 'rtcp'))
  }

  /** The RTP packet in a datagram, valid until the next; null: refused. Never throws. */
  rtp(bytes: Uint8Array): Uint8Array | null {
    const clear = rtpHeaderBytes(bytes)
    if (clear === 0) return null
    const ssrc = readUint32(bytes, 8)
    const sequence = (bytes[2]! << 8) | bytes[3]!
    const highest = this.#rtp.highestOf(ssrc)
    if (highest !== null) return this.#rtp.open(bytes, clear, ssrc, nearest(highest, sequence))
    // If a far end sent before we could listen, its sequence number may have rolled over already.
    const first =
      this.#rtp.open(bytes, clear, ssrc, sequence) ?? this.#rtp.open(bytes, clear, ssrc, sequence + SEQUENCES)
    const before = this.#before.get(ssrc)
    if (first !== null || before === undefined) return first
    // Some begin anew with a new key, others count on (RFC 3711 §3.2.1: the roll-over counter belongs to the stream).
    return this.#rtp.open(bytes, clear, ssrc, nearest(before, sequence))
  }

  /** The highest index of each source, as far as it is known, for the receiver of the next key. */
  get highest(): ReadonlyMap<number, number> {
    const own = this.#rtp.highest
    return own.size > 0 ? own : this.#before
  }

  /** The RTCP packet in a datagram, valid until the next; null: refused. Never throws. */
  rtcp(bytes: Uint8Array): Uint8Array | null {
    const at = this.#rtcp.indexAt(bytes.length)
    if (at < RTCP_CLEAR_BYTES) return null
    const word = readUint32(bytes, at)
    if (word < E_FLAG) return null
    return this.#rtcp.open(bytes, RTCP_CLEAR_BYTES, readUint32(bytes, 4), word - E_FLAG)
  }
}

/** RTP or RTCP of one master key. */
class Opener {
  readonly #cipher: PacketCipher
  readonly #sources = new Sources()
  #view: Uint8Array

  constructor(cipher: PacketCipher) {
    this.#cipher = cipher
    this.#view = cipher.work
  }

  indexAt(length: number): number {
    return this.#cipher.indexAt(length)
  }

  highestOf(ssrc: number): number | null {
    return this.#sources.of(ssrc)?.highest ?? null
  }

  get highest(): Map<number, number> {
    return this.#sources.highest
  }

  open(bytes: Uint8Array, clear: number, ssrc: number, index: number): Uint8Array | null {
    const cipher = this.#cipher
    if (bytes.length > MAX_PACKET_BYTES) return null
    if (index < 0 || this.#sources.of(ssrc)?.admits(index) === false) return null
    copy(cipher.work, bytes)
    const length = cipher.open(clear, bytes.length, ssrc, index)
    if (length < 0) return null
    this.#sources.take(ssrc, index)
    if (this.#view.length !== length) this.#view = cipher.work.subarray(0, length)
    return this.#view
  }
}

/** The index with this sequence number that is nearest to the highest so far (RFC 3711 §3.3.1, appendix A). */
function nearest(highest: number, sequence: number): number {
  const last = highest % SEQUENCES
  const index = highest - last + sequence
  if (sequence - last > SEQUENCES / 2) return index - SEQUENCES
  return last - sequence > SEQUENCES / 2 ? index + SEQUENCES : index
}
