import type { MediaEvent, Request } from '../media/protocol.ts'

interface Rejecting {
  request(name: 'leg.reject', body: Request<'leg.reject'>): Promise<object>
}

/** After which callers may try again [s]. */
const RETRY_AFTER_S = 10

/** While the store is away nobody who calls can be taken: each is told so at once, and once. What is told is written when it is back. */
export class CallersRefused {
  readonly #media: Rejecting
  readonly #refused = new Set<string>()

  constructor(media: Rejecting) {
    this.#media = media
  }

  /** Refuses the caller that an event tells of, if it does. */
  refuse({ name, body }: MediaEvent): void {
    if (name !== 'leg.incoming' || this.#refused.has(body.legId)) return
    this.#refused.add(body.legId)
    const { legId } = body
    void this.#media.request('leg.reject', {
      legId,
      sipCode: 503,
      retryAfterS: RETRY_AFTER_S,
      reason: 'store_unavailable',
    })
  }

  /** The store is back. */
  forget(): void {
    this.#refused.clear()
  }
}
