import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { SourceLatch } from '../rtp/latch.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { type DtlsIdentity, type DtlsMedia, DtlsWire } from '../webrtc/dtls-wire.ts'
import type { LegMedia } from './leg-media.ts'
import { reportAddress } from './leg-reports.ts'

/** Of hold as of old, which names no other address. */
const UNSPECIFIED = ['0.0.0.0', '::']

/** Encryption of a leg's packets: by keys of the description, or by DTLS, where ICE may determine their path; or none. */
export class LegEncryption {
  /** Opens packets; null: they are not encrypted, or there are no keys yet. */
  srtp: SrtpWire | null = null
  /** Null: keys do not come by DTLS. */
  dtls: DtlsWire | null = null
  /** Checks determine the path. */
  hasIce = false
  /** Sends packets. */
  out: PacketOut
  readonly #plain: PacketOut
  readonly #identity: DtlsIdentity | null
  readonly #latch: SourceLatch
  #remote: LegMedia['remote'] | null = null

  /** @param identity null: there is no DTLS @param latch of the leg */
  constructor(plain: PacketOut, identity: DtlsIdentity | null, latch: SourceLatch) {
    this.#plain = plain
    this.out = plain
    this.#identity = identity
    this.#latch = latch
  }

  /** Opens reports; null as for packets. */
  get srtcp(): SrtpWire | null {
    return this.dtls === null ? this.srtp : this.dtls.srtcp
  }

  /** After the latch has been told. */
  agree({ dtls, srtp, remote }: LegMedia, now: number): void {
    const before = this.#remote
    if (before === null || !UNSPECIFIED.includes(remote.host)) this.#remote = remote
    const isMoved = before !== null && (this.#remote!.host !== before.host || this.#remote!.port !== before.port)
    if (dtls === null) this.#useKeys(srtp)
    else this.#useDtls(dtls, { isMuxed: remote.rtcpMux, isMoved: isMoved && dtls.ice === null }, now)
  }

  #useKeys(keys: SrtpKeys | null): void {
    this.dtls = null
    this.hasIce = false
    if (keys === null) this.srtp = null
    else if (this.srtp === null) this.srtp = new SrtpWire(this.#plain, keys)
    else this.srtp.agree(keys)
    this.out = this.srtp ?? this.#plain
  }

  #useDtls(media: DtlsMedia, place: { isMuxed: boolean; isMoved: boolean }, now: number): void {
    if (this.#identity === null) return
    if (this.dtls !== null) this.dtls.agree(media, place)
    else this.dtls = new DtlsWire(this.#plain, this.#identity, this.#latch, media, place.isMuxed)
    this.out = this.dtls
    this.hasIce = this.dtls.hasIce
    this.follow(now)
  }

  /** Audio goes where ICE says, once there are keys. Where we begin, what is due is sent. */
  follow(now: number): void {
    const { dtls } = this
    if (dtls === null) return
    this.srtp = dtls.srtp
    if (this.hasIce) this.#latch.hold(dtls.hostAt(now), dtls.port)
    dtls.begin(now, this.#latch, reportAddress(this.#remote!, this.#latch))
  }

  /** The far end is notified of the end. */
  goodbye(): void {
    this.dtls?.goodbye(this.#latch)
  }
}
