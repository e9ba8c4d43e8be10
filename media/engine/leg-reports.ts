import { FRAME_MS } from '../../codecs/audio.ts'
import type { CodecName, Quality } from '../protocol.ts'
import type { JitterBuffer } from '../rtp/jitter.ts'
import { mosOf } from '../rtp/mos.ts'
import { ReceptionStats } from '../rtp/reception-stats.ts'
import {
  parseRtcp,
  RTCP_BUFFER_BYTES,
  RtcpCompound,
  roundTripMs,
  rtcpIntervalMs,
  writeBye,
  writeReport,
} from '../rtp/rtcp.ts'
import type { RtpPacket, RtpSender } from '../rtp/rtp.ts'

/** One leg's RTCP: what it received, what the far end says it received, and when the next report is due. */
export class LegReports {
  /** The report that `due` wrote. */
  readonly packet = new Uint8Array(RTCP_BUFFER_BYTES)
  readonly #stats = new ReceptionStats()
  readonly #received = new RtcpCompound()
  readonly #sender: RtpSender
  readonly #random: () => number
  readonly #cname: string
  #dueAt: number | null = null
  #roundTripMs: number | null = null

  /** @param random 32 random bits */
  constructor(sender: RtpSender, random: () => number) {
    this.#sender = sender
    this.#random = random
    this.#cname = `${random().toString(16)}${random().toString(16)}@tandem`
  }

  /** An RTP packet came; `now` is monotonic [ms]. */
  received(packet: RtpPacket, now: number): void {
    this.#stats.receive(packet.ssrc, packet.sequence, packet.timestamp, now)
  }

  /** An RTCP datagram came. @returns false when it was malformed */
  receive(bytes: Uint8Array, now: number): boolean {
    const compound = this.#received
    compound.clear()
    if (!parseRtcp(bytes, compound)) return false
    if (compound.hasSenderInfo) this.#stats.senderReport(compound.ssrc, compound.senderNtp, now)
    const block = compound.blockAbout(this.#sender.ssrc)
    if (block !== null) this.#roundTripMs = roundTripMs(block, wallMs(now)) ?? this.#roundTripMs
    return true
  }

  /** Writes a report into `packet` when one is due (RFC 3550 §6.3). @returns its length [bytes], or 0 */
  due(now: number): number {
    this.#dueAt ??= now + rtcpIntervalMs(this.#random() / 2 ** 32)
    if (now < this.#dueAt) return 0
    this.#dueAt = now + rtcpIntervalMs(this.#random() / 2 ** 32)
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
      this.#stats.report(now),
      this.#cname,
    )
  }

  /** Writes the last report, with a goodbye, into `packet` (RFC 3550 §6.6). @returns its length [bytes] */
  goodbye(now: number): number {
    this.#dueAt = now
    return writeBye(this.packet, this.due(now), this.#sender.ssrc)
  }

  quality(codec: CodecName | null, jitter: JitterBuffer | null): Quality {
    const lossPct = this.#stats.lossPercent
    const delayMs = (this.#roundTripMs ?? 0) / 2 + (jitter?.currentDelayMs ?? 0) + FRAME_MS
    return {
      codec,
      packetsReceived: this.#stats.received,
      packetsSent: this.#sender.packetsSent,
      packetsLost: Math.max(0, this.#stats.cumulativeLost),
      lossPct: round(lossPct),
      jitterMs: round(this.#stats.jitterMs),
      roundTripMs: this.#roundTripMs === null ? null : round(this.#roundTripMs),
      // Who has heard nothing has no opinion.
      mos: this.#stats.received === 0 ? null : mosOf(delayMs, lossPct),
    }
  }
}

const round = (value: number): number => Math.round(value * 100) / 100

/** Wall clock of a monotonic time of this thread, since 1970 [ms]: RTCP needs its differences only. */
const wallMs = (now: number): number => performance.timeOrigin + now
