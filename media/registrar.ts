import type { Peer, RegisterEvent, RegisterReply } from '../sip/agent-types.ts'
import type { Events, Failure, MediaEvent, Reply, Request } from './protocol.ts'
import type { SipEndpoint } from './sip-endpoint.ts'

/** The realm of every account: part of what is hashed, so it never changes. */
export const REALM = 'tandem'
/** How long control may take to judge a registration [ms]; then 503. */
const DECISION_MS = 4000
const RETRY_AFTER_S = 5
/** Registrations that wait for that at most; further ones are answered 503 at once. */
const MAX_OPEN = 1000

export interface RegistrarOptions {
  emit: (event: MediaEvent) => void
}

/** Registrations on their way between SIP and control: media judges digests, control knows the accounts and keeps the contacts. */
export class Registrar {
  /** Answered 503: control did not say anything, or too many came at once. */
  refused = 0
  readonly #options: RegistrarOptions
  readonly #open = new Map<string, NodeJS.Timeout>()
  #sip!: Pick<SipEndpoint, 'do' | 'checkRegister'>

  constructor(options: RegistrarOptions) {
    this.#options = options
  }

  attach(sip: Pick<SipEndpoint, 'do' | 'checkRegister'>): void {
    this.#sip = sip
  }

  onRegister({ registerId, algorithm, peer, ...register }: RegisterEvent): void {
    // What we challenge with is MD5 and SHA-256 only.
    if (this.#open.size >= MAX_OPEN || algorithm === 'SHA-512-256') {
      this.#unavailable(registerId)
      return
    }
    this.#open.set(
      registerId,
      setTimeout(() => this.#unavailable(registerId), DECISION_MS),
    )
    const body: Events['sip.register'] = { registerId, algorithm, source: sourceOf(peer), ...register }
    this.#options.emit({ name: 'sip.register', at: new Date().toISOString(), body })
  }

  #unavailable(registerId: string): void {
    this.refused++
    this.#answer(registerId, { status: 503, contacts: [], minExpiresS: null, retryAfterS: RETRY_AFTER_S })
  }

  check({ registerId, ha1 }: Request<'sip.register_check'>): Reply<'sip.register_check'> | Failure {
    const isRight = this.#sip.checkRegister(registerId, ha1)
    if (isRight === null) return notOpen(registerId)
    if (!isRight) this.#forget(registerId)
    return { isRight }
  }

  reply({
    registerId,
    sipCode,
    contacts,
    minExpiresS,
  }: Request<'sip.register_reply'>): Reply<'sip.register_reply'> | Failure {
    if (!this.#open.has(registerId)) return notOpen(registerId)
    this.#answer(registerId, { status: sipCode, contacts, minExpiresS, retryAfterS: null })
    return {}
  }

  #answer(registerId: string, reply: RegisterReply): void {
    this.#forget(registerId)
    this.#sip.do((agent, now) => agent.answerRegister(registerId, reply, now))
  }

  #forget(registerId: string): void {
    clearTimeout(this.#open.get(registerId))
    this.#open.delete(registerId)
  }
}

const sourceOf = (peer: Peer): Events['sip.register']['source'] => ({
  transport: peer.transport,
  host: peer.host,
  port: peer.port,
})

const notOpen = (registerId: string): Failure => ({
  failure: 'not_found',
  message: `no registration ${registerId} waits`,
})
