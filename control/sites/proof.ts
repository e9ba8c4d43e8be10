import { randomBytes } from 'node:crypto'
import { sha256 } from '../kernel/secrets.ts'
import type { Vault } from '../kernel/vault.ts'

/**
 * Proof of work (Hashcash). A challenge is sealed by the vault, so none is stored; it is valid for one site until it expires. The sender
 * of a request must have found a number for which the SHA-256 of `challenge.number` begins with this many zero bits.
 */

/** About 30,000 hashes: less than a second on a phone, but too expensive for a flood of requests. */
const PROOF_BITS = 15
const TTL_MS = 10 * 60_000
const SALT_BYTES = 12
const HEX_BITS = 4

interface Challenge {
  challenge: string
  bits: number
  expires_at: string
}

const ownerOf = (siteId: string): string => `proof of ${siteId}`

export function newChallenge(vault: Vault, siteId: string, now: Date): Challenge {
  const expires_at = new Date(now.getTime() + TTL_MS).toISOString()
  // The salt makes two challenges of the same moment different.
  const text = `${expires_at} ${randomBytes(SALT_BYTES).toString('base64url')}`
  return { challenge: vault.seal(text, ownerOf(siteId)), bits: PROOF_BITS, expires_at }
}

/** When the challenge that this number solves expires; null: it belongs to another site, has expired, or is not solved. */
export function provenUntil(
  vault: Vault,
  siteId: string,
  { challenge, solution }: { challenge: string; solution: number },
  now: Date,
): string | null {
  if (leadingZeroBits(sha256(`${challenge}.${solution}`)) < PROOF_BITS) return null
  try {
    const [expiresAt = ''] = vault.open(challenge, ownerOf(siteId)).split(' ')
    return expiresAt > now.toISOString() ? expiresAt : null
  } catch {
    return null
  }
}

/** Leading zero bits of a hash in hex. */
export function leadingZeroBits(hex: string): number {
  const zeros = /^0*/.exec(hex)?.[0].length ?? 0
  const next = Number.parseInt(hex[zeros] ?? 'f', 16)
  return zeros * HEX_BITS + Math.clz32(next) - (32 - HEX_BITS)
}
