import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { connect, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** Maximum waiting data; beyond it packets are dropped and counted [bytes]. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** How often the collector's name is looked up again, and a lost connection is opened again [ms]. */
const LOOKUP_MS = 60_000
const RETRY_MS = 2000

interface HepTarget {
  transport: 'udp' | 'tcp' | 'tls'
  host: string
  port: number
}

/** A transport for packets; it never waits. */
export interface PacketSink {
  send(packet: Buffer): void
  close(): void
}

/**
 * The transport to the collector. Senders never wait: a packet that cannot go now, or finds a full buffer, is dropped and counted.
 */
export class HepSender implements PacketSink {
  readonly counters = { packetsSent: 0, packetsDropped: 0 }
  readonly #target: HepTarget
  readonly #udp: UdpSocket | null = null
  readonly #timer: NodeJS.Timeout
  #address: string | null = null
  #stream: Socket | null = null
  #isOpen = false
  #isClosed = false

  constructor(target: HepTarget) {
    this.#target = target
    if (target.transport === 'udp') {
      // It is given addresses only, whose family it has to learn first.
      this.#udp = createSocket({ type: 'udp6', lookup: (address, _options, back) => back(null, address, 6) })
      this.#udp.on('error', () => this.counters.packetsDropped++)
      void this.#lookUp()
    } else this.#connect()
    this.#timer = setInterval(() => this.#again(), target.transport === 'udp' ? LOOKUP_MS : RETRY_MS)
    this.#timer.unref()
  }

  send(packet: Buffer): void {
    if (this.#udp !== null) this.#sendUdp(this.#udp, packet)
    else this.#write(packet)
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#udp?.close()
    this.#stream?.destroy()
  }

  #again(): void {
    if (this.#udp !== null) void this.#lookUp()
    else if (this.#stream === null) this.#connect()
  }

  async #lookUp(): Promise<void> {
    const { host } = this.#target
    const found = await lookup(host).catch(() => null)
    if (found === null) return
    // The one socket of both families speaks to IPv4 by its mapped addresses.
    this.#address = isIPv6(found.address) ? found.address : `::ffff:${found.address}`
  }

  #sendUdp(udp: UdpSocket, packet: Buffer): void {
    if (this.#address === null || udp.getSendQueueSize() > MAX_UNSENT_BYTES) {
      this.counters.packetsDropped++
      return
    }
    udp.send(packet, this.#target.port, this.#address, error => {
      if (error === null) this.counters.packetsSent++
      else this.counters.packetsDropped++
    })
  }

  #connect(): void {
    if (this.#isClosed) return
    const { transport, host, port } = this.#target
    const stream = transport === 'tls' ? connectTls({ host, port, servername: host }) : connect({ host, port })
    this.#stream = stream
    stream.once(transport === 'tls' ? 'secureConnect' : 'connect', () => {
      this.#isOpen = true
    })
    // Anything from the collector is not read.
    stream.resume()
    stream.on('error', () => {})
    stream.once('close', () => {
      this.#isOpen = false
      this.#stream = null
    })
  }

  #write(packet: Buffer): void {
    const stream = this.#stream
    if (stream === null || !this.#isOpen || stream.writableLength > MAX_UNSENT_BYTES) {
      this.counters.packetsDropped++
      return
    }
    stream.write(packet)
    this.counters.packetsSent++
  }
}
