import type { Watch, WatchReport } from '../../sip/agent-types.ts'
import type { ConnectionSpec, MediaEvent, Reply, Request } from '../protocol.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'

interface FarEndsOptions {
  emit: (event: MediaEvent) => void
}

/** The trunks, registrars and peers that control has us keep up with. */
export class FarEnds {
  readonly #options: FarEndsOptions
  /** What control wants to be kept, by connection, with its JSON to detect changes. */
  readonly #kept = new Map<string, { spec: ConnectionSpec; text: string }>()
  readonly #byContact = new Map<string, string>()
  #isClosed = false
  #sip!: Pick<SipEndpoint, 'do'>

  constructor(options: FarEndsOptions) {
    this.#options = options
  }

  attach(sip: Pick<SipEndpoint, 'do'>): void {
    this.#sip = sip
  }

  set({ connections }: Request<'connections.set'>): Reply<'connections.set'> {
    // A far end that drains has unregistered and does not return.
    if (this.#isClosed) return {}
    const wanted = new Set(connections.map(spec => spec.connectionId))
    for (const connectionId of this.#kept.keys()) if (!wanted.has(connectionId)) this.#drop(connectionId)
    for (const spec of connections) this.#keep(spec)
    return {}
  }

  /** The connection whose registration left this user part in its Contact. */
  byContact(user: string): string | undefined {
    return this.#byContact.get(user)
  }

  onWatch({ watchId, status, sipCode, serviceRoute }: WatchReport): void {
    const body = { connectionId: watchId, status, sipCode, ...(serviceRoute !== undefined && { serviceRoute }) }
    this.#options.emit({ name: 'connection.changed', at: new Date().toISOString(), body })
  }

  /** Takes every registration back. Idempotent. */
  close(): void {
    this.#isClosed = true
    for (const connectionId of this.#kept.keys()) this.#drop(connectionId)
  }

  #keep(spec: ConnectionSpec): void {
    const { connectionId, contactUser } = spec
    const text = JSON.stringify(spec)
    const before = this.#kept.get(connectionId)
    if (before?.text === text) return
    if (before !== undefined) this.#byContact.delete(before.spec.contactUser)
    this.#kept.set(connectionId, { spec, text })
    if (spec.keep === 'register') this.#byContact.set(contactUser, connectionId)
    this.#sip.do((agent, now) => agent.watch(watchOf(spec), now))
  }

  #drop(connectionId: string): void {
    this.#byContact.delete(this.#kept.get(connectionId)?.spec.contactUser ?? '')
    this.#kept.delete(connectionId)
    this.#sip.do((agent, now) => agent.unwatch(connectionId, now))
  }
}

const watchOf = ({ connectionId, keep, uri, from, via, others, credentials, contactUser }: ConnectionSpec): Watch => ({
  watchId: connectionId,
  kind: keep,
  uri,
  from,
  contactUser: keep === 'register' ? contactUser : '',
  // Connections are an organisation's, which need not be the operator of this machine.
  target: { ...via, publicOnly: true },
  others: others.map(other => ({ ...other, publicOnly: true })),
  credentials,
})
