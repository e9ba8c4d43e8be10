import type { Continuity, HeldPacket } from '../rtp/continuity.ts'
import type { ReceptionStats } from '../rtp/reception-stats.ts'
import type { RtpPacket } from '../rtp/rtp.ts'
import type { WireAudio } from './wire-audio.ts'

/** Joins what a sender that has restarted its numbers says to what it has said before, for a leg that receives it. */
export class RestartedStream {
  readonly #continuity: Continuity
  readonly #stats: ReceptionStats

  constructor(continuity: Continuity, stats: ReceptionStats) {
    this.#continuity = continuity
    this.#stats = stats
  }

  /**
   * A packet of audio that is not the one after the last.
   *
   * @param takeHeld takes the packet before it, which was held
   * @returns false: it is held, and waits for the next one
   */
  take(
    packet: RtpPacket,
    bytes: Uint8Array,
    audio: WireAudio,
    now: number,
    takeHeld: (held: HeldPacket) => void,
  ): boolean {
    const [continuity, stats] = [this.#continuity, this.#stats]
    const timestamp = audio.timestampOf((packet.timestamp + continuity.timestampShift) >>> 0)
    const transit = stats.transitOf(timestamp, now)
    const judgement = continuity.judge(packet, transit, stats.transit, audio.clockRateHz, now)
    if (judgement === 'on') return true
    if (judgement === 'held') {
      continuity.hold(packet, bytes, transit, now)
      return false
    }
    const held = continuity.release()
    if (judgement === 'renumbered') stats.restart(held?.sequence ?? packet.sequence)
    audio.jitter.breaks()
    if (held !== null) takeHeld(held)
    return true
  }
}
