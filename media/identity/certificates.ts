import type { X509Certificate } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Reach, send } from '../protocol.ts'
import { certificatesIn, type Trusted, trustedBy } from './chain.ts'

/** Maximum size of a file with certificates [bytes]. */
const MAX_BYTES = 64 * 1024
/** Time limit of one fetch [ms]. Calls wait for less (`verifier.ts`); later ones use its result. */
const FETCH_MS = 5000
/** Fetched at once; a flood of other addresses is refused. */
const MAX_UNDER_WAY = 32
const MAX_KEPT = 1000
/** How long a certificate is believed, and a failure [ms]. */
const GOOD_MS = 60 * 60 * 1000
const BAD_MS = 30_000
const MAX_URL = 500

/** `unavailable`: it could not be fetched. `untrusted`: it leads to no authority of ours, has no TNAuthList, or is no certificate at all. */
type Fetched = Trusted | 'unavailable' | 'untrusted'

interface CertificatesOptions {
  anchors: readonly X509Certificate[]
  reach: Reach
  now: () => number
}

/** Certificates of others, fetched from where they say (RFC 8224 §6.2), each once for all who wait for it. Bounded. */
export class Certificates {
  readonly #options: CertificatesOptions
  #anchors: readonly X509Certificate[]
  readonly #kept: LRUCache<string, Trusted | 'unavailable' | 'untrusted'>
  readonly #underWay = new Map<string, Promise<Fetched>>()

  constructor(options: CertificatesOptions) {
    this.#options = options
    this.#anchors = options.anchors
    this.#kept = new LRUCache({ max: MAX_KEPT, ttlResolution: 0, perf: { now: options.now } })
  }

  /** Replaces the authorities: everything is verified again. */
  trust(anchors: readonly X509Certificate[]): void {
    this.#anchors = anchors
    this.#kept.clear()
  }

  /** Never rejects. */
  async at(url: string): Promise<Fetched> {
    const kept = this.#kept.get(url)
    if (kept !== undefined) return kept
    const begun = this.#underWay.get(url)
    if (begun !== undefined) return begun
    if (!isFetchable(url) || this.#underWay.size >= MAX_UNDER_WAY) return 'unavailable'
    const fetching = this.#fetch(url).finally(() => this.#underWay.delete(url))
    this.#underWay.set(url, fetching)
    return fetching
  }

  async #fetch(url: string): Promise<Fetched> {
    const file = await this.#fileAt(url)
    const fetched = file === null ? 'unavailable' : this.#judge(file)
    this.#kept.set(url, fetched, { ttl: typeof fetched === 'string' ? BAD_MS : GOOD_MS })
    return fetched
  }

  #judge(file: Uint8Array): Trusted | 'untrusted' {
    try {
      return trustedBy(this.#anchors, certificatesIn(file)) ?? 'untrusted'
    } catch {
      return 'untrusted'
    }
  }

  async #fileAt(url: string): Promise<Uint8Array | null> {
    const signal = AbortSignal.timeout(FETCH_MS)
    try {
      const answer = await send({ method: 'GET', url, headers: {}, signal, reach: this.#options.reach })
      try {
        if (answer.status !== 200) return null
        const chunks: Uint8Array[] = []
        let size = 0
        for await (const chunk of answer.body) {
          size += chunk.length
          if (size > MAX_BYTES) return null
          chunks.push(chunk)
        }
        return Buffer.concat(chunks)
      } finally {
        answer.close()
      }
    } catch {
      return null
    }
  }
}

const isFetchable = (url: string): boolean =>
  url.length <= MAX_URL && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
