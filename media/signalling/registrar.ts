import type { Binding, Peer, RegisterEvent, RegisterReply } from '../../sip/agent-types.ts'
import type { PhoneContact } from '../../sip/phones/phone-ways.ts'
import type { Events, Failure, MediaEvent, Reply, Request } from '../protocol.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { hopPeer, keptPath } from './proxies.ts'

/** Digest realm of every account. The stored hashes contain it, so it can never change. */
export const REALM = 'tandem'
/** How long control may take to judge a registration [ms]; then 503. */
const DECISION_MS = 4000
const RETRY_AFTER_S = 5
/** Registrations that wait for that at most; further ones are answered 503 at once. */
const MAX_OPEN = 1000
/** Limit for phones that nobody knows yet. */
const MAX_OF_STRANGERS = 750

interface Open {
  timer: NodeJS.Timeout
  peer: Peer
  path: readonly string[]
  /** Its Contacts, those included that it takes back. */
  uris: readonly string[]
  /** Each with its account, so that no account can take over calls of another. */
  bindings: readonly Binding[]
}

type Sip = Pick<SipEndpoint, 'do' | 'checkRegister' | 'registered' | 'unregistered'>

interface RegistrarOptions {
  emit: (event: MediaEvent) => void
}

/** Registrations on their way between SIP and control: media judges digests, control knows the accounts and keeps the contacts. */
export class Registrar {
  /** Answered 503: control did not say anything, or too many came at once. */
  refused = 0
  readonly #options: RegistrarOptions
  readonly #open = new Map<string, Open>()
  #sip!: Sip

  constructor(options: RegistrarOptions) {
    this.#options = options
  }

  attach(sip: Sip): void {
    this.#sip = sip
  }

  onRegister({
    registerId,
    algorithm,
    peer,
    path: named,
    user,
    contacts,
    bindings,
    username,
    nonce,
    callId,
    cSeq,
  }: RegisterEvent): void {
    // Our challenges use only MD5 and SHA-256.
    const max = peer.isKnown === true ? MAX_OPEN : MAX_OF_STRANGERS
    if (this.#open.size >= max || algorithm === 'SHA-512-256') {
      this.#unavailable(registerId)
      return
    }
    const timer = setTimeout(() => this.#unavailable(registerId), DECISION_MS)
    const path = keptPath(peer, named)
    // A proxy's connection is shared by many phones.
    const ofAccount =
      peer.proxy === undefined ? bindings.map(binding => ({ ...binding, phone: `${username} ${binding.phone}` })) : []
    const uris = contacts.map(({ uri }) => uri)
    this.#open.set(registerId, { timer, peer, path, uris, bindings: ofAccount })
    const told = { user, contacts, username, nonce, callId, cSeq }
    const body: Events['sip.register'] = {
      registerId,
      algorithm,
      source: sourceOf(hopPeer(path) ?? peer),
      path,
      ...told,
    }
    this.#options.emit({ name: 'sip.register', at: new Date().toISOString(), body })
  }

  #unavailable(registerId: string): void {
    this.refused++
    this.#answer(registerId, { status: 503, contacts: [], minExpiresS: null, retryAfterS: RETRY_AFTER_S })
  }

  /** Nothing leads to this client any more. */
  onGone(peer: Peer): void {
    this.#options.emit({ name: 'sip.gone', at: new Date().toISOString(), body: { source: sourceOf(peer) } })
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
    const open = this.#open.get(registerId)
    if (open === undefined) return notOpen(registerId)
    const path = sipCode === 200 ? open.path : []
    this.#answer(registerId, { status: sipCode, contacts, minExpiresS, retryAfterS: null, path })
    if (sipCode !== 200) return {}
    if (contacts.length > 0) this.#sip.registered(open.peer, open.bindings)
    const granted = new Map(contacts.map(({ uri, expiresS }) => [uri, expiresS]))
    const own = open.uris.map(uri => ({ uri, expiresS: granted.get(uri) ?? 0 }))
    // The phones of a proxy are its own.
    if (open.peer.proxy === undefined) this.#keep(open.peer, own, true)
    return {}
  }

  keepOpen({ phones }: Request<'sip.keep_open'>): Reply<'sip.keep_open'> {
    for (const { transport, host, port, ...contact } of phones) this.#keep({ transport, host, port }, [contact], false)
    return {}
  }

  #keep(peer: Peer, contacts: readonly PhoneContact[], hasJustCome: boolean): void {
    if (peer.transport === 'udp') this.#sip.do((agent, now) => agent.keepOpen(peer, contacts, hasJustCome, now))
    else for (const { uri, expiresS } of contacts) if (expiresS === 0) this.#sip.unregistered(peer, uri)
  }

  #answer(registerId: string, reply: RegisterReply): void {
    this.#forget(registerId)
    this.#sip.do((agent, now) => agent.answerRegister(registerId, reply, now))
  }

  #forget(registerId: string): void {
    clearTimeout(this.#open.get(registerId)?.timer)
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
