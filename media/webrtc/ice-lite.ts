import {
  BINDING_INDICATION,
  BINDING_REQUEST,
  bindingError,
  bindingSuccess,
  ICE_CONTROLLED,
  isAuthentic,
  parseStun,
  USE_CANDIDATE,
  USERNAME,
  unknownIn,
} from './stun.ts'

/** A far end without a check for this long has withdrawn its consent to receive (RFC 7675 §5.1) [ms]. */
export const CONSENT_MS = 30_000
/** Addresses that have checked and are remembered: a browser has a handful. */
const MAX_CHECKED = 20
const UNKNOWN_ATTRIBUTE = { code: 420, reason: 'Unknown Attribute' }
const ROLE_CONFLICT = { code: 487, reason: 'Role Conflict' }

/** User fragment and password of one side (RFC 8839 §5.4). */
export interface IceCredentials {
  ufrag: string
  pwd: string
}

/**
 * ICE for an agent with a public address (RFC 8445 §2.5): it answers checks and sends none. The far end finds the path, and
 * nominates one by USE-CANDIDATE. Pure: datagrams and the time come in.
 */
export class IceLite {
  /** The address that the far end wants us to send to; port 0: none yet. */
  host = ''
  port = 0
  /** Checks that were no checks of the far end's. */
  refused = 0
  readonly #local: IceCredentials
  readonly #username: string
  readonly #checked: string[] = []
  /** The last check of the far end's [ms]. */
  consentAt = Number.NEGATIVE_INFINITY

  constructor(local: IceCredentials, remote: Pick<IceCredentials, 'ufrag'>) {
    this.#local = local
    this.#username = `${local.ufrag}:${remote.ufrag}`
  }

  /** Answers a check; null: it is none, or not from the far end. `now` [ms]. */
  check(datagram: Uint8Array, host: string, port: number, now: number): Uint8Array | null {
    const message = parseStun(datagram)
    // Keeps its NAT open, and is neither answered nor a consent (RFC 8445 §11, RFC 7675 §5.1).
    if (message?.type === BINDING_INDICATION && this.isPeer(host, port)) return null
    const isOurs =
      message?.type === BINDING_REQUEST &&
      message.attributes.get(USERNAME)?.toString() === this.#username &&
      isAuthentic(message, this.#local.pwd)
    if (message === null || !isOurs) {
      this.refused++
      return null
    }
    const { pwd } = this.#local
    // It may change what the request means (RFC 8489 §6.3.1).
    const unknown = unknownIn(message)
    if (unknown.length > 0) return bindingError(message, { ...UNKNOWN_ATTRIBUTE, unknown }, pwd)
    // A lite agent is always controlled (RFC 8445 §6.1.1).
    if (message.attributes.has(ICE_CONTROLLED)) return bindingError(message, ROLE_CONFLICT, pwd)
    this.consentAt = now
    const from = `${host} ${port}`
    if (!this.#checked.includes(from)) {
      this.#checked.push(from)
      if (this.#checked.length > MAX_CHECKED) this.#checked.shift()
    }
    if (message.attributes.has(USE_CANDIDATE)) {
      this.host = host
      this.port = port
    }
    return bindingSuccess(message, host, port, pwd)
  }

  /** Whether an address is the far end's: one that it has checked from. */
  isPeer(host: string, port: number): boolean {
    return (host === this.host && port === this.port) || this.#checked.includes(`${host} ${port}`)
  }

  /** Whether it may be sent to: a way is chosen, and still wanted. */
  mayBeSentTo(now: number): boolean {
    return this.port !== 0 && now - this.consentAt < CONSENT_MS
  }
}
