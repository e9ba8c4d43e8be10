import type { SourceLatch } from '../rtp/latch.ts'
import type { LegEncryption } from './leg-encryption.ts'
import type { LegMedia } from './leg-media.ts'
import { type LegReports, reportPort, sendReport } from './leg-reports.ts'

const UNSPECIFIED = ['0.0.0.0', '::']

/** Takes each report that was received or sent, not encrypted. */
type TellReport = (isSent: boolean, bytes: Uint8Array, host: string, port: number) => void

/** A leg's RTCP on the wire: from whom reports are taken, and where its own go. `LegReports` knows what they say, and when they are due. */
export class LegRtcp {
  /** Datagrams of strangers, and such as were no reports. */
  refused = 0
  readonly #reports: LegReports
  readonly #encryption: LegEncryption
  readonly #latch: SourceLatch
  readonly #tell: TellReport

  constructor(reports: LegReports, encryption: LegEncryption, latch: SourceLatch, tell: TellReport) {
    this.#reports = reports
    this.#encryption = encryption
    this.#latch = latch
    this.#tell = tell
  }

  /**
   * A datagram. From strangers it is neither a sign of life nor a report.
   *
   * @param source the SSRC of the far end's audio
   * @returns `left`: the source said goodbye; null: it was refused, or was none
   */
  receive(
    datagram: Uint8Array,
    { host, port }: { host: string; port: number },
    { remote }: LegMedia,
    source: number,
    now: number,
  ): 'report' | 'left' | null {
    const isKnown = (remote.isRtcpReachable && host === remote.rtcpHost) || this.#latch.isParty(host)
    const { dtls, srtcp } = this.#encryption
    if (dtls !== null && !dtls.isReport(datagram, isKnown, { host, port }, now)) return null
    const bytes = !isKnown || srtcp === null ? datagram : srtcp.openRtcp(datagram)
    const told = !isKnown || bytes === null ? 'bad' : this.#reports.receive(bytes, source, now)
    if (bytes === null || told === 'bad') {
      this.refused++
      return null
    }
    this.#tell(false, bytes, host, reportPort(remote, this.#latch))
    return told
  }

  /** Sends a report if one is due. */
  report(media: LegMedia | null, now: number): void {
    const length = media === null ? 0 : this.#reports.due(now)
    if (media !== null && length > 0 && !this.#isLeftAlone(media)) this.#send(media, length)
  }

  /** Sends the last report, with a goodbye (RFC 3550 §6.6). */
  goodbye(media: LegMedia | null, now: number): void {
    if (media === null || this.#isLeftAlone(media)) return
    this.#send(media, this.#reports.goodbye(now))
    this.#encryption.goodbye()
  }

  /** "c=0.0.0.0" puts us on hold, as from old phones (RFC 3264 §8.4); with ICE it has no meaning. */
  #isLeftAlone({ remote }: LegMedia): boolean {
    return !this.#encryption.hasIce && UNSPECIFIED.includes(remote.host)
  }

  #send({ remote }: LegMedia, length: number): void {
    if (length === 0) return
    const { packet } = this.#reports
    this.#tell(true, packet.subarray(0, length), this.#latch.host, reportPort(remote, this.#latch))
    sendReport(packet, length, this.#encryption.out, remote, this.#latch)
  }
}
