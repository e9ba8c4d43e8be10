import { createHmac } from 'node:crypto'

const SECRET_PREFIX = 'whsec_'

/**
 * Headers that let a receiver refuse upgrade requests that are not ours: Standard Webhooks, symmetric (`v1`), over an empty body.
 * `secret`: base64 behind `whsec_`. `id`: unique per request, without a full stop. `timestampS`: Unix time [s].
 */
export function signUpgrade(secret: string, id: string, timestampS: number): Record<string, string> {
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestampS}.`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': `v1,${signature}`,
  }
}
