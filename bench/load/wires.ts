import type { PacketOut } from '../../media/rtp/packet-out.ts'
import { SrtpWire } from '../../media/srtp/srtp-wire.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'

/** Where a leg's packets are sent. */
export interface FarEnd {
  host: string
  rtpPort: number
  rtcpPort: number
  keys: SrtpKeys | null
}

/** Sends each leg's packets to its far end, encrypted if that has keys. */
export class Wires {
  readonly #wires: { out: PacketOut; far: FarEnd }[] = []

  /** Sets where the leg sends to, and over which sockets. */
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
