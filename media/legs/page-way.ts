import type { Frame } from '../../codecs/audio.ts'
import type { LegHooks } from '../rooms/leg.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import type { DtlsIdentity } from '../webrtc/webrtc-wire.ts'
import { RtpLeg } from './rtp-leg.ts'

/** Where a page's packets come and go. */
export interface PageSocket extends PacketOut {
  close(): void
}

/**
 * WebRTC as the way of a page's audio, beside the WebSocket that all else of it comes by. It is taken while packets come; before and after that the
 * WebSocket is, so the network decides, at any time of the call.
 */
export class PageWay {
  readonly packets: RtpLeg
  readonly #socket: PageSocket

  /** @param ownerId of the leg that this is a part of */
  constructor(ownerId: string, socket: PageSocket, random: () => number, identity: DtlsIdentity) {
    this.#socket = socket
    const hooks: LegHooks = {
      // Keys of pages are messages.
      key: () => {},
      // While nothing comes by it, it is not the way; the leg listens to the WebSocket then.
      oneWay: () => {},
      // Who rings at a page is not heard yet.
      earlyAudio: () => {},
      // That tells whether somebody is there, too.
      timedOut: () => {},
    }
    this.packets = new RtpLeg(ownerId, socket, hooks, random, () => {}, identity)
  }

  /** Whether audio goes this way now. */
  isOpen(now: number): boolean {
    return this.packets.isFlowing(now)
  }

  /** The page's next frame; null: it is silent. */
  pull(now: number): Frame | null {
    this.packets.pull(now, false, false)
    return this.packets.raw
  }

  send(frame: Frame | null, now: number): void {
    this.packets.send(frame, null, now)
  }

  /** Idempotent. */
  close(now: number): void {
    this.packets.goodbye(now)
    this.packets.close()
    this.#socket.close()
  }
}
