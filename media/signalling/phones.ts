import type { AskEvent, AskReply, MessageReport, Peer } from '../../sip/agent-types.ts'
import type { Events, Failure, MediaEvent, Reply, Request } from '../protocol.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { firstHop } from './proxies.ts'

/** How long control may take to judge what a phone asks [ms]; then 503. */
const DECISION_MS = 4000
const RETRY_AFTER_S = 5
/** Maximum number waiting for that. */
const MAX_OPEN = 500

interface PhonesOptions {
  emit: (event: MediaEvent) => void
}

type Sip = Pick<SipEndpoint, 'do' | 'checkAsk' | 'answerAsk' | 'subscriptionIds' | 'nodes'>

/**
 * SUBSCRIBE and MESSAGE of phones, between SIP and control. Media verifies digests and keeps the dialogs of subscriptions. Control
 * knows who may subscribe to what, and the contents. So subscriptions outlive a restart of control.
 */
export class Phones {
  /** Answered 503: control did not say anything, or too many came at once. */
  refused = 0
  readonly #options: PhonesOptions
  readonly #open = new Map<string, NodeJS.Timeout>()
  /** What each running subscription is about, in control's terms. */
  readonly #about = new Map<string, string>()
  #sip!: Sip

  constructor(options: PhonesOptions) {
    this.#options = options
  }

  attach(sip: Sip): void {
    this.#sip = sip
  }

  onAsk({ askId, algorithm, to, username, nonce, peer, what }: AskEvent): void {
    // Our challenges use only MD5 and SHA-256.
    if (this.#open.size >= MAX_OPEN || algorithm === 'SHA-512-256') {
      this.#unavailable(askId)
      return
    }
    this.#open.set(
      askId,
      setTimeout(() => this.#unavailable(askId), DECISION_MS),
    )
    this.#emit('sip.ask', { askId, to, username, algorithm, nonce, source: sourceOf(peer), what })
  }

  #unavailable(askId: string): void {
    this.refused++
    this.#forget(askId)
    this.#sip.answerAsk(askId, { status: 503, retryAfterS: RETRY_AFTER_S, state: null })
  }

  check({ askId, ha1 }: Request<'sip.ask_check'>): Reply<'sip.ask_check'> | Failure {
    const isRight = this.#open.has(askId) ? this.#sip.checkAsk(askId, ha1) : null
    if (isRight === null) return notOpen(askId)
    if (!isRight) this.#forget(askId)
    return { isRight }
  }

  reply({ askId, sipCode, about, state }: Request<'sip.ask_reply'>): Reply<'sip.ask_reply'> | Failure {
    if (!this.#open.has(askId)) return notOpen(askId)
    this.#forget(askId)
    const reply: AskReply = { status: sipCode, retryAfterS: sipCode === 503 ? RETRY_AFTER_S : null, state }
    const subscriptionId = this.#sip.answerAsk(askId, reply)
    // One that was ended by this has had its last NOTIFY, or is about to.
    const isRunning = subscriptionId !== null && this.#sip.subscriptionIds.includes(subscriptionId)
    if (isRunning && about !== null) this.#about.set(subscriptionId, about)
    else if (subscriptionId !== null) this.#about.delete(subscriptionId)
    return { subscriptionId: isRunning ? subscriptionId : null }
  }

  notify({ subscriptionId, state }: Request<'sip.notify'>): Reply<'sip.notify'> | Failure {
    if (!this.#about.has(subscriptionId)) return noSubscription(subscriptionId)
    this.#sip.do((agent, now) =>
      state === null ? agent.endSubscription(subscriptionId, now) : agent.notify(subscriptionId, state, now),
    )
    if (state === null) this.#about.delete(subscriptionId)
    return {}
  }

  /** Control has started again, and asks for the running subscriptions. */
  subscriptions(): Reply<'sip.subscriptions'> {
    return { subscriptions: [...this.#about].map(([subscriptionId, about]) => ({ subscriptionId, about })) }
  }

  onUnsubscribed(subscriptionId: string): void {
    if (this.#about.delete(subscriptionId)) this.#emit('sip.unsubscribed', { subscriptionId })
  }

  send({ messageId, uri, from, via, route: named, text }: Request<'sip.message'>): Reply<'sip.message'> {
    const { route = [] } = this.#sip.nodes.throughNode({ hosts: [via], route: named, publicOnly: false })
    const target = via.node === undefined ? via : firstHop(route)!
    this.#sip.do((agent, now) => agent.message({ messageId, to: uri, from, target, route, text }, now))
    return {}
  }

  onMessage({ messageId, sipCode }: MessageReport): void {
    this.#emit('sip.message_done', { messageId, sipCode })
  }

  #forget(askId: string): void {
    clearTimeout(this.#open.get(askId))
    this.#open.delete(askId)
  }

  #emit<N extends 'sip.ask' | 'sip.unsubscribed' | 'sip.message_done'>(name: N, body: Events[N]): void {
    this.#options.emit({ name, at: new Date().toISOString(), body } as MediaEvent)
  }
}

const sourceOf = ({ transport, host, port }: Peer): Events['sip.ask']['source'] => ({ transport, host, port })

const notOpen = (askId: string): Failure => ({
  failure: 'not_found',
  message: `nothing that a phone asked, ${askId}, waits`,
})

const noSubscription = (id: string): Failure => ({ failure: 'not_found', message: `no subscription ${id} runs` })
