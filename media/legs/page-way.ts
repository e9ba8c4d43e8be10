import type { Frame } from '../../codecs/audio.ts'
import type { LegHooks } from '../rooms/leg.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import type { DtlsIdentity } from '../webrtc/dtls-wire.ts'
import { RtpLeg } from './rtp-leg.ts'

/** The packet socket of a page. */
interface PageSocket extends PacketOut {
  close(): void
}

/**
 * WebRTC as an alternative path for a page's audio, beside the WebSocket that carries everything else. It is used while packets arrive, and the
 * WebSocket before and after that. So the network decides, at any time of the call.
 */
export class PageWay {
  readonly packets: RtpLeg
  readonly #socket: PageSocket

  /** @param ownerId of the leg that it belongs to */
  constructor(ownerId: string, socket: PageSocket, random: () => number, identity: DtlsIdentity) {
    this.#socket = socket
    const hooks: LegHooks = {
      // Keys of pages are messages.
      key: () => {},
      // Without packets it is not in use, and the leg listens to the WebSocket.
      oneWay: () => {},
      // A page that is ringing is not heard yet.
      earlyAudio: () => {},
      // That tells whether somebody is there, too.
      timedOut: () => {},
    }
    this.packets = new RtpLeg(ownerId, socket, hooks, random, () => {}, identity)
  }

  /** Whether audio uses this path now. */
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
    try {
      this.packets.goodbye(now)
    } finally {
      this.packets.close()
      this.#socket.close()
    }
  }
}
