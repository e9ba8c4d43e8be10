import type { MediaEvent, Request } from '../../media/protocol.ts'
import { ERRORS, envelope, storeUnavailable } from '../http/errors.ts'

interface Rejecting {
  request<N extends 'leg.reject' | 'browser.refuse'>(name: N, body: Request<N>): Promise<object>
}

/** After which callers may try again [s]. */
const RETRY_AFTER_S = 10

/** While the store is unavailable, no caller can be taken. Each is refused at once, and once. This is stored when the store is back. */
export class CallersRefused {
  readonly #media: Rejecting
  readonly #publicUrl: string
  readonly #refused = new Set<string>()

  /** @param publicUrl for `doc_url`; no slash at its end */
  constructor(media: Rejecting, publicUrl: string) {
    this.#media = media
    this.#publicUrl = publicUrl
  }

  /** Refuses the call or page of such an event; returns what is to be stored about it. */
  refuse(event: MediaEvent): MediaEvent {
    if (event.name === 'leg.incoming') this.#reject(event.body.legId)
    if (event.name !== 'browser.connecting') return event
    const { browserId } = event.body
    this.#shut(browserId)
    // So that a page which is gone does not use up its token.
    return { ...event, name: 'browser.closed', body: { browserId, forGood: true } }
  }

  #reject(legId: string): void {
    if (this.#refused.has(legId)) return
    this.#refused.add(legId)
    const reason = 'store_unavailable'
    void this.#media.request('leg.reject', { legId, sipCode: 503, retryAfterS: RETRY_AFTER_S, reason })
  }

  #shut(browserId: string): void {
    const away = storeUnavailable(RETRY_AFTER_S)
    const body = envelope(away, browserId, this.#publicUrl) as Record<string, unknown>
    void this.#media.request('browser.refuse', { browserId, status: ERRORS[away.problem].status, body })
  }

  /** The store is back. */
  forget(): void {
    this.#refused.clear()
  }
}
