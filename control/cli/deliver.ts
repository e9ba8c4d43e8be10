import { httpPost, type PostOutcome, TIMEOUT_MS } from '../webhooks/http-post.ts'
import { signedHeaders } from '../webhooks/sign.ts'

export interface Target {
  url: string
  /** `whsec_…` */
  secret: string
}

export interface Delivered {
  isGood: boolean
  /** For who watches. */
  said: string
}

/** The developer has named the address: any will do. */
const ANYWHERE = { publicOnly: false, allowed: [] }

/** Sends an event as a webhook endpoint would get it: the same headers, signed the same way. One attempt. */
export async function deliver(
  { url, secret }: Target,
  { id, body }: { id: string; body: string },
  signal: AbortSignal,
): Promise<Delivered> {
  const headers = signedHeaders([{ algorithm: 'hmac', secret }], id, body, new Date())
  const begun = performance.now()
  const outcome = await httpPost({ url, headers, body }, { addresses: ANYWHERE, timeoutMs: TIMEOUT_MS, signal })
  return resultOf(url, outcome, Math.round(performance.now() - begun))
}

function resultOf(url: string, outcome: PostOutcome, tookMs: number): Delivered {
  if ('status' in outcome) {
    const isGood = outcome.status >= 200 && outcome.status < 300
    return { isGood, said: `${outcome.status} (${tookMs} ms)` }
  }
  return { isGood: false, said: `not delivered to ${url}: ${outcome.message}` }
}
