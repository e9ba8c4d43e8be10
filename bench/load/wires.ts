import type { PacketOut } from '../../media/rtp/packet-out.ts'
import { SrtpWire } from '../../media/srtp/srtp-wire.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'

/** Where a leg's packets go. */
export interface FarEnd {
  host: string
  rtpPort: number
  rtcpPort: number
  keys: SrtpKeys | null
}

/** The legs' ways to their far ends, of those that have one. */
export class Wires {
  readonly #wires: { out: PacketOut; far: FarEnd }[] = []

  /** From now on the leg sends there, over its sockets. */
  connect(leg: number, far: FarEnd, sockets: PacketOut): void {
    this.#wires[leg] = { out: far.keys === null ? sockets : new SrtpWire(sockets, far.keys), far }
  }

  send(leg: number, packet: Uint8Array): void {
    const wire = this.#wires[leg]
    wire?.out.sendRtp(packet, packet.length, wire.far.host, wire.far.rtpPort)
  }

  report(leg: number, packet: Uint8Array, length: number): void {
    const wire = this.#wires[leg]
    wire?.out.sendRtcp(packet, length, wire.far.host, wire.far.rtcpPort)
  }
}
