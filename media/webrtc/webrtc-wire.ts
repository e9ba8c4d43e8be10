import type { KeyObject } from 'node:crypto'
import type { PacketOut } from '../rtp/packet-out.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { DtlsServer } from './dtls-server.ts'
import { type IceCredentials, IceLite } from './ice-lite.ts'

/** Our identity towards WebRTC far ends. */
export interface DtlsIdentity {
  /** DER. */
  certificate: Uint8Array
  privateKey: KeyObject
}

/** The agreement of the descriptions. */
export interface WebRtcMedia {
  local: IceCredentials
  remote: { ufrag: string; fingerprint: { hash: string; value: string } }
}

/** First bytes of what shares a port (RFC 7983 §7). */
const MAX_STUN = 3
const MIN_DTLS = 20
const MAX_DTLS = 63

/** The way between a leg and a far end of WebRTC: ICE says where it is, DTLS brings the keys, and only then there is SRTP. */
export class WebRtcWire {
  /** Null: no keys yet. */
  srtp: SrtpWire | null = null
  #refused = 0
  readonly #out: PacketOut
  readonly #identity: DtlsIdentity
  #media: WebRtcMedia
  #ice: IceLite
  #dtls: DtlsServer

  constructor(out: PacketOut, identity: DtlsIdentity, media: WebRtcMedia) {
    this.#out = out
    this.#identity = identity
    this.#media = media
    this.#ice = new IceLite(media.local, media.remote)
    this.#dtls = this.#newDtls()
  }

  #newDtls(): DtlsServer {
    return new DtlsServer({ ...this.#identity, fingerprint: this.#media.remote.fingerprint })
  }

  /** A later description: new credentials restart ICE, a new certificate DTLS (RFC 8839 §4.4.1.1.1, RFC 8842 §4). */
  agree(media: WebRtcMedia): void {
    const before = this.#media.remote
    this.#media = media
    if (media.remote.ufrag !== before.ufrag) {
      this.#refused += this.#ice.refused
      this.#ice = new IceLite(media.local, media.remote)
    }
    if (media.remote.fingerprint.value === before.fingerprint.value) return
    this.#refused += this.#dtls.refused
    this.#dtls = this.#newDtls()
    this.srtp = null
  }

  /** Packets that were no check or DTLS of the far end, and did not come from its address. */
  get refused(): number {
    return this.#refused + this.#ice.refused + this.#dtls.refused
  }

  /** There will be no keys: the far end is not the one in the description. */
  get hasFailed(): boolean {
    return this.#dtls.state === 'failed'
  }

  /** Where audio may be sent now; empty: nowhere yet, or no longer. */
  hostAt(now: number): string {
    return this.srtp !== null && this.#ice.mayBeSentTo(now) ? this.#ice.host : ''
  }

  get port(): number {
    return this.#ice.port
  }

  /** When the far end has last checked its path. */
  get checkedAt(): number {
    return this.#ice.consentAt
  }

  /** Whether a datagram is a packet of the far end's that `srtp` may open. All else is answered here. */
  isPacket(datagram: Uint8Array, host: string, port: number, now: number): boolean {
    const first = datagram[0] ?? 0
    if (first <= MAX_STUN) this.#check(datagram, host, port, now)
    else if (!this.#ice.isPeer(host, port)) this.#refused++
    else if (first >= MIN_DTLS && first <= MAX_DTLS) this.#shake(datagram, host, port)
    else if (this.srtp === null) this.#refused++
    else return true
    return false
  }

  #check(datagram: Uint8Array, host: string, port: number, now: number): void {
    const answer = this.#ice.check(datagram, host, port, now)
    if (answer !== null) this.#out.sendRtp(answer, answer.length, host, port)
  }

  #shake(datagram: Uint8Array, host: string, port: number): void {
    const { datagrams, keys } = this.#dtls.receive(datagram)
    if (keys !== null) this.srtp = new SrtpWire(this.#out, keys)
    for (const one of datagrams) this.#out.sendRtp(one, one.length, host, port)
  }

  /** The far end is notified of the end. */
  goodbye(): void {
    const { host, port } = this.#ice
    const bytes = port === 0 ? null : this.#dtls.goodbye()
    if (bytes !== null) this.#out.sendRtp(bytes, bytes.length, host, port)
  }
}
