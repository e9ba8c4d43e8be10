import { RTP_HEADER_BYTES } from './rtp.ts'

/** For one leg: a little more than three minutes of 20 ms frames in both directions. */
const MAX_PACKETS = 20_000
const PACKETS_PER_SECOND = 110
/** Far ends that are distinguished; a leg seldom has two. */
const MAX_REMOTES = 255

/**
 * One packet, 24 octets:
 *
 *     | since 1970 [ms], float 64 | sent (8) | far end (8) | length of the RTP packet (16) | its first 12 octets |
 */
const RECORD_BYTES = 12 + RTP_HEADER_BYTES

/** The headers captured by `PacketHeaders`. */
export interface PacketLog {
  remotes: { host: string; port: number }[]
  records: Uint8Array
}

/**
 * Captures the headers of a leg's RTP packets, and nothing of their payload: no audio, no key. All memory is allocated at the
 * beginning, so a packet costs only a few writes.
 */
export class PacketHeaders {
  /** No packet is captured after this time, on the clock of the packets [ms]. */
  #until: number
  readonly #wallOffset: number
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #remotes: { host: string; port: number }[] = []
  #at = 0
  #remote = -1

  /** @param wall wall clock since 1970, at `now` [ms] */
  constructor(seconds: number, now: number, wall: number) {
    this.#until = now + seconds * 1000
    this.#wallOffset = wall - now
    this.#bytes = new Uint8Array(Math.min(MAX_PACKETS, Math.ceil(seconds * PACKETS_PER_SECOND)) * RECORD_BYTES)
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** Stops; the captured headers stay. */
  stop(): void {
    this.#until = Number.NEGATIVE_INFINITY
  }

  isRunning(now: number): boolean {
    return now < this.#until && this.#at < this.#bytes.length
  }

  /** Captures a packet of `length` octets. */
  note(isSent: boolean, packet: Uint8Array, length: number, host: string, port: number, now: number): void {
    if (!this.isRunning(now) || length < RTP_HEADER_BYTES) return
    const last = this.#remotes[this.#remote]
    if (last === undefined || last.port !== port || last.host !== host) this.#remote = this.#remoteOf(host, port)
    const at = this.#at
    const bytes = this.#bytes
    this.#view.setFloat64(at, this.#wallOffset + now)
    bytes[at + 8] = isSent ? 1 : 0
    bytes[at + 9] = this.#remote
    this.#view.setUint16(at + 10, length)
    for (let i = 0; i < RTP_HEADER_BYTES; i++) bytes[at + 12 + i] = packet[i]!
    this.#at = at + RECORD_BYTES
  }

  #remoteOf(host: string, port: number): number {
    const known = this.#remotes.findIndex(remote => remote.host === host && remote.port === port)
    if (known !== -1) return known
    if (this.#remotes.length < MAX_REMOTES) this.#remotes.push({ host, port })
    return this.#remotes.length - 1
  }

  log(): PacketLog {
    return { remotes: [...this.#remotes], records: this.#bytes.slice(0, this.#at) }
  }
}
