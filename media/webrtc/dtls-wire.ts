import type { KeyObject } from 'node:crypto'
import type { DtlsRole } from '../../sip/sdp/dtls.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import type { SrtpWire } from '../srtp/srtp-wire.ts'
import { DtlsAssociation } from './dtls-association.ts'
import { type IceCredentials, IceLite } from './ice-lite.ts'

/** Our identity towards far ends whose keys come by DTLS. */
export interface DtlsIdentity {
  /** DER. */
  certificate: Uint8Array
  privateKey: KeyObject
}

/** The agreement of the descriptions. */
export interface DtlsMedia {
  /** Ours: `active` begins. */
  role: DtlsRole
  /** Of the far end's certificate. */
  fingerprint: { hash: string; value: string }
  /** The far end's association (RFC 8842 §4); null: it names none. */
  tlsId: string | null
  /** Null: the far end is at the address of its description. */
  ice: { local: IceCredentials; remote: Pick<IceCredentials, 'ufrag'> } | null
}

/** The agreement on what else is needed without ICE. */
interface DtlsPlace {
  /** RTCP shares the port of the audio. */
  isMuxed: boolean
  /** The description names another address than the one before. */
  isMoved: boolean
}

/** Where the far end is without ICE. */
interface Party {
  /** Whether a host belongs to it. */
  isParty: (host: string) => boolean
  /** It has proven to be there. */
  aim: (host: string, port: number) => void
}

/** Where packets go; port 0: nowhere. */
interface PortOf {
  host: string
  port: number
}

/** First bytes of what shares a port (RFC 7983 §7). */
const MAX_STUN = 3
const MIN_DTLS = 20
const MAX_DTLS = 63

const isDtls = (datagram: Uint8Array): boolean => datagram[0]! >= MIN_DTLS && datagram[0]! <= MAX_DTLS

/**
 * The way between a leg and a far end whose keys DTLS brings; only then there is SRTP. With ICE, as for WebRTC, checks say where the far end is. Without,
 * it is where descriptions and its packets say, and RTCP may have a port, and so keys, of its own (RFC 5764 §4.1).
 */
export class DtlsWire implements PacketOut {
  #refused = 0
  readonly #out: PacketOut
  readonly #identity: DtlsIdentity
  readonly #party: Party
  #media: DtlsMedia
  #ice: IceLite | null
  readonly #rtp: DtlsAssociation
  /** Null: RTCP shares the port of the audio. */
  #rtcp: DtlsAssociation | null = null

  constructor(out: PacketOut, identity: DtlsIdentity, party: Party, media: DtlsMedia, isMuxed: boolean) {
    this.#out = out
    this.#identity = identity
    this.#party = party
    this.#media = media
    this.#ice = media.ice === null ? null : new IceLite(media.ice.local, media.ice.remote)
    this.#rtp = new DtlsAssociation(out, identity, media)
    this.#split(isMuxed)
  }

  #split(isMuxed: boolean): void {
    if (isMuxed && this.#rtcp !== null) this.#refused += this.#rtcp.refused
    if (isMuxed) this.#rtcp = null
    else this.#rtcp ??= new DtlsAssociation(this.#out, this.#identity, this.#media)
  }

  /** A later description: new credentials restart ICE, another certificate, role or association DTLS (RFC 8839 §4.4.1.1.1, RFC 8842 §4). */
  agree(media: DtlsMedia, { isMuxed, isMoved }: DtlsPlace): void {
    const before = this.#media
    this.#media = media
    if (media.ice?.remote.ufrag !== before.ice?.remote.ufrag) {
      this.#refused += this.#ice?.refused ?? 0
      this.#ice = media.ice === null ? null : new IceLite(media.ice.local, media.ice.remote)
    }
    this.#rtp.agree(media, isMoved)
    this.#rtcp?.agree(media, isMoved)
    this.#split(isMuxed)
  }

  /** Opens packets of audio; null: no keys yet. */
  get srtp(): SrtpWire | null {
    return this.#rtp.srtp
  }

  /** Opens reports; null: no keys yet. */
  get srtcp(): SrtpWire | null {
    return this.#rtcp === null ? this.#rtp.srtp : this.#rtcp.srtp
  }

  /** Packets that were no check or DTLS of the far end, and did not come from its address. */
  get refused(): number {
    return this.#refused + (this.#ice?.refused ?? 0) + this.#rtp.refused + (this.#rtcp?.refused ?? 0)
  }

  /** There will be no keys: the far end is not the one in the description. */
  get hasFailed(): boolean {
    return this.#rtp.hasFailed
  }

  /** Whether checks say where the far end is. */
  get hasIce(): boolean {
    return this.#ice !== null
  }

  /** With ICE, where audio may be sent now; empty: nowhere yet, or no longer. */
  hostAt(now: number): string {
    return this.srtp !== null && this.#ice?.mayBeSentTo(now) === true ? this.#ice.host : ''
  }

  get port(): number {
    return this.#ice?.port ?? 0
  }

  /** When the far end has last checked its path; null: it does not. */
  get checkedAt(): number | null {
    return this.#ice === null ? null : this.#ice.consentAt
  }

  /** Whether a datagram is a packet of the far end's that `srtp` may open. All else is answered here. */
  isPacket(datagram: Uint8Array, host: string, port: number, now: number): boolean {
    const ice = this.#ice
    if ((datagram[0] ?? 0) <= MAX_STUN && ice !== null) this.#check(ice, datagram, host, port, now)
    else if (isDtls(datagram)) this.#shake(datagram, host, port, now)
    // Without ICE, whose it is shows once it is opened.
    else if (this.srtp !== null && (ice === null || ice.isPeer(host, port))) return true
    else this.#refused++
    return false
  }

  /** Likewise where RTCP comes. @param isKnown it is from a host of the far end's */
  isReport(datagram: Uint8Array, isKnown: boolean, { host, port }: PortOf, now: number): boolean {
    const dtls = this.#rtcp
    if (dtls !== null && isDtls(datagram) && isKnown) {
      for (const one of dtls.receive(datagram, now)) this.#out.sendRtcp(one, one.length, host, port)
    } else if (this.srtcp !== null && !isDtls(datagram)) return true
    else this.#refused++
    return false
  }

  #check(ice: IceLite, datagram: Uint8Array, host: string, port: number, now: number): void {
    const answer = ice.check(datagram, host, port, now)
    if (answer !== null) this.#out.sendRtp(answer, answer.length, host, port)
  }

  #shake(datagram: Uint8Array, host: string, port: number, now: number): void {
    const ice = this.#ice
    if (!(ice === null ? this.#party.isParty(host) : ice.isPeer(host, port))) {
      this.#refused++
      return
    }
    const before = this.srtp
    const datagrams = this.#rtp.receive(datagram, now)
    if (ice === null && this.srtp !== before) this.#party.aim(host, port)
    for (const one of datagrams) this.#out.sendRtp(one, one.length, host, port)
  }

  /** Sends what is due where we begin. @param rtcp null: it cannot be reached, or shares the port of the audio */
  begin(now: number, rtp: PortOf, rtcp: PortOf | null): void {
    if (this.#media.role === 'passive') return
    const { host, port } = this.#ice ?? rtp
    if (port !== 0) for (const one of this.#rtp.due(now)) this.#out.sendRtp(one, one.length, host, port)
    if (rtcp === null || this.#rtcp === null) return
    for (const one of this.#rtcp.due(now)) this.#out.sendRtcp(one, one.length, rtcp.host, rtcp.port)
  }

  sendRtp(packet: Uint8Array, length: number, host: string, port: number): void {
    this.#rtp.srtp?.sendRtp(packet, length, host, port)
  }

  sendRtcp(packet: Uint8Array, length: number, host: string, port: number): void {
    this.srtcp?.sendRtcp(packet, length, host, port)
  }

  /** The far end is notified of the end. */
  goodbye(rtp: PortOf): void {
    const { host, port } = this.#ice ?? rtp
    const bytes = port === 0 ? null : this.#rtp.goodbye()
    if (bytes !== null) this.#out.sendRtp(bytes, bytes.length, host, port)
  }
}
