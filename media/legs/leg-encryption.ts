import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { SourceLatch } from '../rtp/latch.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { type DtlsIdentity, type WebRtcMedia, WebRtcWire } from '../webrtc/webrtc-wire.ts'
import type { LegMedia } from './leg-media.ts'

/** While there are no keys yet. */
const NOWHERE: PacketOut = { sendRtp: () => {}, sendRtcp: () => {} }

/** Encryption of a leg's packets: by keys of the description, or by WebRTC, which also determines their path; or none. */
export class LegEncryption {
  /** Opens packets; null: they are not encrypted, or there are no keys yet. */
  srtp: SrtpWire | null = null
  /** Null: there is no ICE. */
  webrtc: WebRtcWire | null = null
  /** Sends packets. */
  out: PacketOut
  readonly #plain: PacketOut
  readonly #identity: DtlsIdentity | null
  readonly #latch: SourceLatch

  /** @param identity null: there is no WebRTC @param latch of the leg */
  constructor(plain: PacketOut, identity: DtlsIdentity | null, latch: SourceLatch) {
    this.#plain = plain
    this.out = plain
    this.#identity = identity
    this.#latch = latch
  }

  agree({ webrtc, srtp }: LegMedia, now: number): void {
    if (webrtc === null) this.#useKeys(srtp)
    else this.#useWebRtc(webrtc, now)
  }

  #useKeys(keys: SrtpKeys | null): void {
    this.webrtc = null
    if (keys === null) this.srtp = null
    else if (this.srtp === null) this.srtp = new SrtpWire(this.#plain, keys)
    else this.srtp.agree(keys)
    this.out = this.srtp ?? this.#plain
  }

  #useWebRtc(media: WebRtcMedia, now: number): void {
    if (this.#identity === null) return
    if (this.webrtc === null) this.webrtc = new WebRtcWire(this.#plain, this.#identity, media)
    else this.webrtc.agree(media)
    this.follow(now)
  }

  /** Audio goes where ICE says, once there are keys. */
  follow(now: number): void {
    const { webrtc } = this
    if (webrtc === null) return
    this.srtp = webrtc.srtp
    this.out = this.srtp ?? NOWHERE
    this.#latch.hold(webrtc.hostAt(now), webrtc.port)
  }
}
