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
  type SenderInfo,
  writeBye,
  writeReport,
} from '../rtp/rtcp.ts'
import type { RtpSender } from '../rtp/rtp.ts'
import type { LegMedia } from './leg-media.ts'
import { LegQuality } from './leg-quality.ts'

/** The report being parsed. All legs share it, since it has room for many blocks. */
const compound = new RtcpCompound()

const COUNTED_HZ = 8000

/** A stream of ours that has ended, as it was then. */
interface EndedStream {
  readonly ssrc: number
  readonly clockRateHz: number
  readonly endedAt: number
  readonly info: Omit<SenderInfo, 'wallMs'>
}

/** RTCP of one leg: what it received, what the far end reports, and when the next report is due. */
export class LegReports {
  /** The report that `due` wrote. */
  readonly packet = uint8Array(RTCP_BUFFER_BYTES)
  /** Reception statistics; the owner reports each packet. */
  readonly stats = new ReceptionStats()
  /** Playout statistics; the owner reports each tick. */
  readonly heard = new LegQuality(this.stats)
  /** Clock rate of the far end's timestamps, in which its jitter is reported (RFC 3550 §6.4.1). Here everything is counted at 8 kHz. */
  clockRateHz = COUNTED_HZ
  /** When the next report is due, monotonic [ms]. */
  dueAt = Number.NEGATIVE_INFINITY
  readonly #sender: RtpSender
  readonly #random: () => number
  readonly #cname: string
  #roundTripMs: number | null = null
  /** The round trip that the last datagram has measured [ms]; null: none. */
  measuredMs: number | null = null
  /** The stream that has ended since the last report; null: none. */
  #ended: EndedStream | null = null
  /** Packets sent by the last report, and by the one before it. */
  #sent = 0
  #sentBefore = 0

  /** @param random 32 random bits */
  constructor(sender: RtpSender, random: () => number) {
    this.#sender = sender
    this.#random = random
    this.#cname = `${random().toString(16)}${random().toString(16)}@tandem`
  }

  /** An RTCP datagram arrived. @returns `left`: this source said goodbye; `bad`: it was malformed */
  receive(bytes: Uint8Array, source: number, now: number): 'report' | 'left' | 'bad' {
    this.measuredMs = null
    if (!parseRtcp(bytes, compound)) return 'bad'
    if (compound.hasSenderInfo) this.stats.senderReport(compound.ssrc, compound.senderNtp, now)
    const block = compound.blockAbout(this.#sender.ssrc)
    if (block !== null) this.measuredMs = roundTripMs(block, wallMs(now))
    this.#roundTripMs = this.measuredMs ?? this.#roundTripMs
    return compound.saysBye(source) ? 'left' : 'report'
  }

  /** Writes a report into `packet` if one is due (RFC 3550 §6.3). @returns its length [bytes], or 0 */
  due(now: number): number {
    if (now < this.dueAt) return 0
    const isFirst = this.dueAt === Number.NEGATIVE_INFINITY
    this.dueAt = now + rtcpIntervalMs(this.#random() / 2 ** 32, isFirst)
    if (isFirst) return 0
    const info = this.#info
    // Who has sent nothing for two reports is no sender any more (RFC 3550 §6.4).
    const sent = info.packets > 0 && info.packets !== this.#sentBefore ? { ...info, wallMs: wallMs(now) } : null
    this.#sentBefore = this.#sent
    this.#sent = info.packets
    const length = writeReport(this.packet, this.#sender.ssrc, sent, this.#block(now), this.#cname)
    const ended = this.#ended
    this.#ended = null
    return ended === null ? length : this.#reportEnded(ended, length, now)
  }

  get #info(): EndedStream['info'] {
    const { timestamp, packetsOfStream, octetsSent } = this.#sender
    return { rtpTimestamp: timestamp, packets: packetsOfStream, octets: octetsSent }
  }

  /** What was sent so far ends, and another stream follows: a report that is due at once tells of both, and says goodbye for it (RFC 7160 §4.1). */
  streamEnds(now: number): void {
    const info = this.#info
    if (info.packets === 0) return
    this.#ended = { ssrc: this.#sender.ssrc, clockRateHz: this.clockRateHz, endedAt: now, info }
    this.dueAt = now
  }

  /** Appends it to the report of the stream that followed. @returns the length of both [bytes] */
  #reportEnded({ ssrc, clockRateHz, endedAt, info }: EndedStream, at: number, now: number): number {
    const rtpTimestamp = (info.rtpTimestamp + Math.round(((now - endedAt) * clockRateHz) / 1000)) >>> 0
    const sent = { ...info, rtpTimestamp, wallMs: wallMs(now) }
    const length = at + writeReport(this.packet.subarray(at), ssrc, sent, null, this.#cname)
    return writeBye(this.packet, length, ssrc)
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

/** The far end's address for RTCP where that has a port of its own; null: it shares that of the audio, or is not known. */
export function reportAddress(
  { rtcpMux, rtcpHost, rtcpPort, isRtcpReachable }: LegMedia['remote'],
  { host, port }: SourceLatch,
): { host: string; port: number } | null {
  if (rtcpMux) return null
  if (isRtcpReachable) return { host: rtcpHost, port: rtcpPort }
  // Behind a NAT it is next to the audio port, if anywhere (RFC 3550 §11).
  return port === 0 ? null : { host, port: port + 1 }
}

/** Sends a report to the far end's RTCP address. */
export function sendReport(
  packet: Uint8Array,
  length: number,
  out: PacketOut,
  remote: LegMedia['remote'],
  latch: SourceLatch,
): void {
  const { host, port } = latch
  const own = reportAddress(remote, latch)
  if (own !== null) out.sendRtcp(packet, length, own.host, own.port)
  else if (remote.rtcpMux && port !== 0) out.sendRtp(packet, length, host, port)
}

/** Wall clock of a monotonic time of this thread, since 1970 [ms]: RTCP needs its differences only. */
const wallMs = (now: number): number => performance.timeOrigin + now
