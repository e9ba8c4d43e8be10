import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { isRtcp } from '../rtp/rtp.ts'
import { SrtpReceiver } from './srtp-receiver.ts'
import { SrtpSender } from './srtp-sender.ts'

/** Encryption between a leg and its far end (RFC 3711), in both directions. */
export class SrtpWire implements PacketOut {
  readonly #out: PacketOut
  #keys: SrtpKeys
  #sender: SrtpSender
  #receiver: SrtpReceiver
  /** The previous key, until the far end is heard with the new one: it changes at its own time. */
  #receiverBefore: SrtpReceiver | null = null

  constructor(out: PacketOut, keys: SrtpKeys) {
    this.#out = out
    this.#keys = keys
    this.#sender = new SrtpSender(keys.suite, keys.sendKey)
    this.#receiver = new SrtpReceiver(keys.suite, keys.receiveKey)
  }

  /** A later description. An unchanged key keeps its counters; a new one starts from zero. */
  agree(keys: SrtpKeys): void {
    const { suite, sendKey, receiveKey } = this.#keys
    this.#keys = keys
    if (keys.suite !== suite || keys.sendKey !== sendKey) this.#sender = new SrtpSender(keys.suite, keys.sendKey)
    if (keys.suite === suite && keys.receiveKey === receiveKey) return
    this.#receiverBefore = this.#receiver
    this.#receiver = new SrtpReceiver(keys.suite, keys.receiveKey, this.#receiver.highest)
  }

  sendRtp(packet: Uint8Array, length: number, host: string, port: number): void {
    const sender = this.#sender
    // Reports also arrive here if both share a port (RFC 5761).
    if (isRtcp(packet)) this.#out.sendRtp(sender.rtcpPacket, sender.rtcp(packet, length), host, port)
    else {
      const sealed = sender.rtp(packet, length)
      this.#out.sendRtp(sender.rtpPacket, sealed, host, port)
    }
  }

  sendRtcp(packet: Uint8Array, length: number, host: string, port: number): void {
    const sender = this.#sender
    this.#out.sendRtcp(sender.rtcpPacket, sender.rtcp(packet, length), host, port)
  }

  /** The RTP packet in a datagram, valid until the next; null: it is not from the far end, or is a repeat. */
  openRtp(bytes: Uint8Array): Uint8Array | null {
    const packet = this.#receiver.rtp(bytes)
    if (packet === null) return this.#receiverBefore?.rtp(bytes) ?? null
    this.#receiverBefore = null
    return packet
  }

  /** The RTCP packet in a datagram, likewise. */
  openRtcp(bytes: Uint8Array): Uint8Array | null {
    return this.#receiver.rtcp(bytes) ?? this.#receiverBefore?.rtcp(bytes) ?? null
  }
}
