import { uint8Array } from '../../codecs/arrays.ts'
import type { Quality } from '../protocol.ts'
import type { SourceLatch } from '../rtp/latch.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { ReceptionStats, type ReportBlock } from '../rtp/reception-stats.ts'
import {
  parseRtcp,
  RTCP_BUFFER_BYTES,
  RtcpCompound,
  roundTripMs,
  rtcpIntervalMs,
  writeBye,
  writeReport,
} from '../rtp/rtcp.ts'
import type { RtpSender } from '../rtp/rtp.ts'
import type { LegMedia } from './leg-media.ts'
import { LegQuality } from './leg-quality.ts'

/** The report that is being read: all legs share it, since it has room for many blocks. */
const compound = new RtcpCompound()

const COUNTED_HZ = 8000

/** RTCP of one leg: what it received, what the far end reports, and when the next report is due. */
export class LegReports {
  /** The report that `due` wrote. */
  readonly packet = uint8Array(RTCP_BUFFER_BYTES)
  /** Reception statistics; the owner reports each packet. */
  readonly stats = new ReceptionStats()
  /** Playout statistics; the owner reports each tick. */
  readonly heard = new LegQuality(this.stats)
  /** Of the far end's timestamps, in which its jitter is reported (RFC 3550 §6.4.1); here everything is counted at 8 kHz. */
  clockRateHz = COUNTED_HZ
  /** When the next report is due, monotonic [ms]. */
  dueAt = Number.NEGATIVE_INFINITY
  readonly #sender: RtpSender
  readonly #random: () => number
  readonly #cname: string
  #roundTripMs: number | null = null

  /** @param random 32 random bits */
  constructor(sender: RtpSender, random: () => number) {
    this.#sender = sender
    this.#random = random
    this.#cname = `${random().toString(16)}${random().toString(16)}@tandem`
  }

  /** An RTCP datagram arrived. @returns `left`: this source said goodbye; `bad`: it was malformed */
  receive(bytes: Uint8Array, source: number, now: number): 'report' | 'left' | 'bad' {
    if (!parseRtcp(bytes, compound)) return 'bad'
    if (compound.hasSenderInfo) this.stats.senderReport(compound.ssrc, compound.senderNtp, now)
    const block = compound.blockAbout(this.#sender.ssrc)
    if (block !== null) this.#roundTripMs = roundTripMs(block, wallMs(now)) ?? this.#roundTripMs
    return compound.saysBye(source) ? 'left' : 'report'
  }

  /** Writes a report into `packet` if one is due (RFC 3550 §6.3). @returns its length [bytes], or 0 */
  due(now: number): number {
    if (now < this.dueAt) return 0
    const isFirst = this.dueAt === Number.NEGATIVE_INFINITY
    this.dueAt = now + rtcpIntervalMs(this.#random() / 2 ** 32)
    if (isFirst) return 0
    const sender = this.#sender
    const hasSent = sender.packetsSent > 0
    return writeReport(
      this.packet,
      sender.ssrc,
      hasSent
        ? {
            wallMs: wallMs(now),
            rtpTimestamp: sender.timestamp,
            packets: sender.packetsSent,
            octets: sender.octetsSent,
          }
        : null,
      this.#block(now),
      this.#cname,
    )
  }

  #block(now: number): ReportBlock | null {
    const block = this.stats.report(now)
    if (block !== null) block.jitter *= this.clockRateHz / COUNTED_HZ
    return block
  }

  /** Writes the last report, with a goodbye, into `packet` (RFC 3550 §6.6). @returns its length [bytes] */
  goodbye(now: number): number {
    this.dueAt = now
    return writeBye(this.packet, this.due(now), this.#sender.ssrc)
  }

  /** The last round trip measured by RTCP [ms]; null: none. */
  get roundTripMs(): number | null {
    return this.#roundTripMs
  }

  quality(codec: Quality['codec']): Quality {
    return this.heard.figures(codec, this.#sender.packetsSent, this.#roundTripMs)
  }
}

/** The known source of the far end's reports. */
export const reportPort = ({ rtcpMux, rtcpPort }: LegMedia['remote'], latch: SourceLatch): number =>
  rtcpMux ? latch.port : rtcpPort

/** Sends a report to the far end's RTCP address. */
export function sendReport(
  packet: Uint8Array,
  length: number,
  out: PacketOut,
  { rtcpMux, rtcpHost, rtcpPort, isRtcpReachable }: LegMedia['remote'],
  { host, port }: SourceLatch,
): void {
  if (rtcpMux && port !== 0) out.sendRtp(packet, length, host, port)
  else if (!rtcpMux && isRtcpReachable) out.sendRtcp(packet, length, rtcpHost, rtcpPort)
  // Behind a NAT it is next to the audio port, if anywhere (RFC 3550 §11).
  else if (!rtcpMux && port !== 0) out.sendRtcp(packet, length, host, port + 1)
}

/** Wall clock of a monotonic time of this thread, since 1970 [ms]: RTCP needs its differences only. */
const wallMs = (now: number): number => performance.timeOrigin + now
