import { httpPost, TIMEOUT_MS } from '../webhooks/http-post.ts'
import { signedHeaders } from '../webhooks/sign.ts'

export interface Target {
  url: string
  /** `whsec_…` */
  secret: string
}

interface Delivered {
  isGood: boolean
  /** A line for the user. */
  said: string
}

/** Any address is allowed, since the developer has named it. */
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
  const tookMs = Math.round(performance.now() - begun)
  if (!('status' in outcome)) return { isGood: false, said: `not delivered to ${url}: ${outcome.message}` }
  const { status } = outcome
  return { isGood: status >= 200 && status < 300, said: `${status} (${tookMs} ms)` }
}
