import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import ipaddr from 'ipaddr.js'

/** The content of a HEP 3 packet. */
interface HepPacket {
  family: number
  protocol: number
  source: string
  destination: string
  sourcePort: number
  destinationPort: number
  /** Since 1970 [ms]. */
  at: number
  type: number
  captureId: number
  password: string | null
  correlationId: string | null
  payload: string
}

/** Reads a packet; throws if its lengths are wrong. */
export function readHep(packet: Buffer): HepPacket {
  if (packet.toString('latin1', 0, 4) !== 'HEP3' || packet.readUInt16BE(4) !== packet.length)
    throw new Error('no HEP 3')
  const chunks = new Map<number, Buffer>()
  for (let at = 6; at < packet.length; ) {
    const length = packet.readUInt16BE(at + 4)
    if (length < 6 || at + length > packet.length) throw new Error(`a chunk of ${length} bytes at ${at}`)
    chunks.set(packet.readUInt16BE(at + 2), packet.subarray(at + 6, at + length))
    at += length
  }
  const bytes = (...types: number[]): Buffer => types.flatMap(type => chunks.get(type) ?? [])[0] ?? Buffer.alloc(0)
  const number = (type: number): number => bytes(type).readUIntBE(0, bytes(type).length)
  const text = (type: number): string | null => chunks.get(type)?.toString('latin1') ?? null
  const address = (...types: number[]): string => ipaddr.fromByteArray([...bytes(...types)]).toString()
  return {
    family: number(1),
    protocol: number(2),
    source: address(3, 5),
    destination: address(4, 6),
    sourcePort: number(7),
    destinationPort: number(8),
    at: number(9) * 1000 + number(10) / 1000,
    type: number(11),
    captureId: number(12),
    password: text(14),
    correlationId: text(17),
    payload: text(15) ?? '',
  }
}

/** Splits a TCP stream into packets. */
export class HepReader {
  readonly packets: HepPacket[] = []
  #rest = Buffer.alloc(0)

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#rest.length >= 6 && this.#rest.length >= this.#rest.readUInt16BE(4)) {
      const length = this.#rest.readUInt16BE(4)
      this.packets.push(readHep(this.#rest.subarray(0, length)))
      this.#rest = this.#rest.subarray(length)
    }
  }
}

/** A collector, like Homer's heplify-server, that keeps what it receives over UDP. */
export class HepCollector {
  readonly packets: HepPacket[] = []
  /** The bytes of each packet, as received. */
  readonly raw: Buffer[] = []
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', bytes => {
      // Audio of another test for whoever had this port before.
      if (bytes.toString('latin1', 0, 4) !== 'HEP3') return
      this.raw.push(bytes)
      this.packets.push(readHep(bytes))
    })
  }

  static async listen(): Promise<HepCollector> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new HepCollector(socket)
  }

  get url(): string {
    return `udp://127.0.0.1:${this.#socket.address().port}?id=2001&password=collector`
  }

  close(): void {
    this.#socket.close()
  }
}
