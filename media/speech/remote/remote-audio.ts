import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { resampleAll } from '../../../codecs/resample.ts'
import { FairGate } from '../fair-gate.ts'

/** Rate of the raw audio that OpenAI's API speaks and hears, 16-bit little-endian mono [Hz]. */
export const REMOTE_HZ = 24_000

/** A longer answer is refused: more than three minutes of speech [bytes]. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024

/** A provider as the two HTTP engines need it. */
export interface HttpProvider {
  /** Up to and with `/v1`. */
  url: string
  key: string | null
  model: string
  /** For one answer, all of it [ms]. */
  timeoutMs: number
}

/** Requests to one provider at once, and behind them; providers limit both. */
const MAX_AT_ONCE = 50
const MAX_WAITING = 200

/** Whose turn it is at a provider. What waits for longer than an answer may take fails, so that the next engine is asked. */
export const newGate = ({ timeoutMs }: HttpProvider): FairGate =>
  new FairGate({ atOnce: MAX_AT_ONCE, waiting: MAX_WAITING, maxWaitMs: timeoutMs })

/**
 * One request to a provider. `{ error }` for whatever goes wrong: no connection, another status than 2xx, too slow, too long. The
 * error holds nothing of the request's body.
 */
export async function askProvider(
  provider: HttpProvider,
  path: string,
  body: string | FormData,
): Promise<Buffer | { error: string }> {
  const headers: Record<string, string> = {
    ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
    ...(provider.key === null ? {} : { authorization: `Bearer ${provider.key}` }),
  }
  try {
    const signal = AbortSignal.timeout(provider.timeoutMs)
    const response = await fetch(`${provider.url}${path}`, { method: 'POST', headers, body, redirect: 'error', signal })
    if (response.ok) return await readAll(response)
    await response.body?.cancel()
    return { error: `${path}: status ${response.status}` }
  } catch (error) {
    const { name, message, cause } = error as Error
    if (name === 'TimeoutError') return { error: `${path}: no answer within ${provider.timeoutMs} ms` }
    return { error: `${path}: ${cause instanceof Error ? cause.message : message}` }
  }
}

async function readAll(response: Response): Promise<Buffer | { error: string }> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    // Leaving the loop cancels the rest.
    if (length > MAX_ANSWER_BYTES) return { error: `an answer of more than ${MAX_ANSWER_BYTES} bytes` }
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Raw audio of the provider at our rate. */
export function fromRemote(bytes: Buffer): Promise<Int16Array> {
  const samples = new Int16Array(bytes.length >> 1)
  for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i)
  return resampleAll(samples, REMOTE_HZ, NARROWBAND_HZ)
}

/** Samples at the provider's rate as its raw audio. */
export function toRemoteBytes(samples: Int16Array): Buffer {
  const bytes = Buffer.alloc(2 * samples.length)
  for (let i = 0; i < samples.length; i++) bytes.writeInt16LE(samples[i]!, 2 * i)
  return bytes
}
