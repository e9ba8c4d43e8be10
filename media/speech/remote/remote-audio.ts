import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { resampleAll } from '../../../codecs/resample.ts'
import { send } from '../../protocol.ts'
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
  try {
    const signal = AbortSignal.timeout(provider.timeoutMs)
    const written = typeof body === 'string' ? { type: 'application/json', body } : await multipart(body)
    const headers: Record<string, string> = { 'content-type': written.type }
    if (provider.key !== null) headers.authorization = `Bearer ${provider.key}`
    const answer = await send({ url: `${provider.url}${path}`, headers, body: written.body, signal })
    if (answer.status >= 200 && answer.status < 300) return await readAll(answer.body)
    answer.close()
    return { error: `${path}: status ${answer.status}` }
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'TimeoutError') return { error: `${path}: no answer within ${provider.timeoutMs} ms` }
    return { error: `${path}: ${message}` }
  }
}

async function multipart(form: FormData): Promise<{ type: string; body: Uint8Array }> {
  const written = new Response(form)
  return { type: written.headers.get('content-type') ?? '', body: new Uint8Array(await written.arrayBuffer()) }
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer | { error: string }> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of body) {
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
