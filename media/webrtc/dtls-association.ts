import type { DtlsRole } from '../../sip/sdp/dtls.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { DtlsClient } from './dtls-client.ts'
import type { DtlsEnd, DtlsOptions } from './dtls-end.ts'
import { helloRandom } from './dtls-handshake.ts'
import { DtlsServer } from './dtls-server.ts'

/** A far end may begin anew this often [ms]: what it costs us, anybody could ask for in its name. */
const BETWEEN_BEGINNINGS_MS = 1000

/** What was agreed on for a pair of ports. */
interface Agreed {
  role: DtlsRole
  fingerprint: DtlsOptions['fingerprint']
  tlsId: string | null
}

type Identity = Omit<DtlsOptions, 'fingerprint'>

const isAnother = (tlsId: string | null, before: string | null): boolean =>
  tlsId !== null && before !== null && tlsId !== before

/** The keys of a pair of ports: the handshake that brings them, and those that follow it in the same call. */
export class DtlsAssociation {
  /** Null: no keys yet. */
  srtp: SrtpWire | null = null
  #refused = 0
  readonly #out: PacketOut
  readonly #identity: Identity
  #agreed: Agreed
  #end: DtlsEnd
  /** The far end has begun anew: the keys of before are good until there are other ones. */
  #next: DtlsServer | null = null
  #begunAt: number | null = null

  constructor(out: PacketOut, identity: Identity, agreed: Agreed) {
    this.#out = out
    this.#identity = identity
    this.#agreed = agreed
    this.#end = this.#newEnd()
  }

  #newEnd(): DtlsEnd {
    const { role, fingerprint } = this.#agreed
    const options = { ...this.#identity, fingerprint }
    return role === 'active' ? new DtlsClient(options) : new DtlsServer(options)
  }

  /**
   * A later description. Another certificate, role or `tls-id` needs another handshake (RFC 5763 §6.6, RFC 8842 §4), as does another address;
   * where the far end begins, that is its business.
   */
  agree(agreed: Agreed, isMoved: boolean): void {
    const before = this.#agreed
    this.#agreed = agreed
    const isOther = agreed.fingerprint.value !== before.fingerprint.value
    if (isOther) this.srtp = null
    const isSame = !isOther && agreed.role === before.role && !isAnother(agreed.tlsId, before.tlsId)
    if (isSame && !(isMoved && agreed.role === 'active')) return
    this.#replace(this.#newEnd())
  }

  #replace(end: DtlsEnd): void {
    this.#refused += this.#end.refused
    this.#end = end
    this.#next = null
    this.#begunAt = null
  }

  /** Takes a datagram of the far end's. @returns what is to be sent back */
  receive(datagram: Uint8Array, now: number): readonly Uint8Array[] {
    if (!this.#admit(datagram, now)) {
      this.#refused++
      return []
    }
    const end = this.#next ?? this.#end
    const { datagrams, keys } = end.receive(datagram)
    if (keys === null) return datagrams
    if (this.srtp === null) this.srtp = new SrtpWire(this.#out, keys)
    else this.srtp.agree(keys)
    if (end !== this.#end) this.#replace(end)
    return datagrams
  }

  /** The beginning of another handshake of the far end's gets one, unless it begins too often, or had begun before it left that to us. */
  #admit(datagram: Uint8Array, now: number): boolean {
    const random = helloRandom(datagram)
    if (random === null) return true
    if (this.#agreed.role === 'active') return false
    const current = this.#next ?? this.#end
    const isNew = current instanceof DtlsServer && !current.isOf(random)
    if (isNew && this.#begunAt !== null && now - this.#begunAt < BETWEEN_BEGINNINGS_MS) return false
    if (isNew && this.#end.state === 'connected') this.#next = this.#newEnd() as DtlsServer
    else if (isNew) this.#replace(this.#newEnd())
    if (isNew || this.#begunAt === null) this.#begunAt = now
    return true
  }

  /** What is to be sent by now, where we begin. */
  due(now: number): readonly Uint8Array[] {
    return this.#end instanceof DtlsClient ? this.#end.due(now) : []
  }

  /** Datagrams that were nothing of a handshake. */
  get refused(): number {
    return this.#refused + this.#end.refused + (this.#next?.refused ?? 0)
  }

  /** There will be no keys: the far end is not the one in the description. */
  get hasFailed(): boolean {
    return this.#end.state === 'failed'
  }

  /** Notifies the far end of the end; null: nobody would believe it. */
  goodbye(): Uint8Array | null {
    return this.#end.goodbye()
  }
}
