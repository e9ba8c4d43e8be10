import { uint8Array } from '../../codecs/arrays.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import type { CryptoSuite } from '../../sip/sdp/sdes.ts'
import { RTCP_BUFFER_BYTES } from '../rtp/rtcp.ts'
import { readUint32, rtpHeaderBytes } from '../rtp/rtp.ts'
import { MAX_OVERHEAD_BYTES, type PacketCipher } from './packet-cipher.ts'
import { packetCipher } from './suites.ts'

const SEQUENCES = 0x10000
const RTCP_CLEAR_BYTES = 8

/** Protects what we send with one master key: one RTP stream at a time, and its RTCP. */
export class SrtpSender {
  /** The packet that `rtcp` has written. */
  readonly rtcpPacket = uint8Array(RTCP_BUFFER_BYTES + MAX_OVERHEAD_BYTES)
  readonly #rtp: PacketCipher
  readonly #rtcp: PacketCipher
  /** Used alternately, since the kernel may still use the last one. */
  readonly #buffers = [new Uint8Array(0), new Uint8Array(0)]
  #turn = 0
  /** The last packet processed by the cipher. */
  #view: Uint8Array = new Uint8Array(0)
  #ssrc = -1
  #rollOver = 0
  #lastSequence = -1
  #rtcpIndex = 0

  /** @param key base64 of the master key and the master salt */
  constructor(suite: CryptoSuite, key: string) {
    this.#rtp = packetCipher(suite, key, 'rtp')
    this.#rtcp = packetCipher(suite, key, 'rtcp')
  }

  /** The packet that `rtp` has written, intact until the call after the next. */
  get rtpPacket(): Uint8Array {
    return this.#buffers[this.#turn]!
  }

  /** Protects a packet of the stream; one may be late. @returns the length in `rtpPacket` [bytes] */
  rtp(packet: Uint8Array, length: number): number {
    const ssrc = readUint32(packet, 8)
    if (ssrc !== this.#ssrc) this.#begin(ssrc)
    const index = this.#indexOf((packet[2]! << 8) | packet[3]!)
    this.#turn = 1 - this.#turn
    const sealed = seal(this.#rtp, packet, length, rtpHeaderBytes(packet), ssrc, index)
    // Packets of a stream have equal lengths, and a full buffer is sent without a view of it.
    if (this.#view.length !== sealed) this.#view = this.#rtp.work.subarray(0, sealed)
    if (this.rtpPacket.length !== sealed) this.#buffers[this.#turn] = this.#view.slice()
    else copy(this.rtpPacket, this.#view)
    return sealed
  }

  /** Each stream counts its own roll-overs (RFC 3711 §3.2.3). */
  #begin(ssrc: number): void {
    this.#ssrc = ssrc
    this.#rollOver = 0
    this.#lastSequence = -1
  }

  /** The index of a packet, extended from the newest (RFC 3711 §3.3.1). */
  #indexOf(sequence: number): number {
    const last = this.#lastSequence
    if (last >= 0 && ((sequence - last) & 0xffff) >= SEQUENCES / 2) {
      return (sequence > last ? this.#rollOver - 1 : this.#rollOver) * SEQUENCES + sequence
    }
    if (sequence < last) this.#rollOver++
    this.#lastSequence = sequence
    return this.#rollOver * SEQUENCES + sequence
  }

  /** Protects an RTCP packet. @returns the length in `rtcpPacket` [bytes] */
  rtcp(packet: Uint8Array, length: number): number {
    const ssrc = readUint32(packet, 4)
    const sealed = seal(this.#rtcp, packet, length, RTCP_CLEAR_BYTES, ssrc, this.#rtcpIndex++)
    this.rtcpPacket.set(this.#rtcp.work.subarray(0, sealed))
    return sealed
  }
}

function seal(
  cipher: PacketCipher,
  packet: Uint8Array,
  length: number,
  clear: number,
  ssrc: number,
  index: number,
): number {
  copy(cipher.work, packet.length === length ? packet : packet.subarray(0, length))
  return cipher.seal(clear, length, ssrc, index)
}
