import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'

const SECRET_BYTES = 32
const SALT_BYTES = 16
const PIN_HASH_BYTES = 32
/** RFC 7914 parameters: N is 2 to this power, which takes 16 MiB and some 30 ms per guess. */
const PIN_COST = 14
const SCRYPT = { r: 8, p: 1 }
const IV_BYTES = 12
const TAG_BYTES = 16
const AES = 'aes-256-gcm'

/** A new secret of 256 random bits with a readable prefix, for example `sk_live_…`. */
export const newSecret = (prefix: string): string => `${prefix}_${randomBytes(SECRET_BYTES).toString('base64url')}`

/** Only for secrets with many random bits; a PIN needs `hashPin`. Hex. */
export const sha256 = (text: string): string => hash('sha256', text)

/** HMAC-SHA256, hex. */
export const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** The part of a secret that may be shown later. */
export const hintOf = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`

/** A salted, slow hash for the few digits of a PIN: `scrypt$cost$salt$hash`, the last two in base64url. */
export async function hashPin(pin: string, cost = PIN_COST): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return `scrypt$${cost}$${salt.toString('base64url')}$${(await derive(pin, salt, cost)).toString('base64url')}`
}

/** Whether `hash` was made from `pin`; false for a hash of unknown form. */
export async function verifyPin(pin: string, hash: string): Promise<boolean> {
  const parts = hash.split('$')
  // The first hashes did not name their cost.
  if (parts.length === 3) parts.splice(1, 0, String(PIN_COST))
  const [scheme, cost, salt, expected] = parts
  if (scheme !== 'scrypt' || !/^\d\d?$/.test(cost!) || salt === undefined || expected === undefined) return false
  const wanted = Buffer.from(expected, 'base64url')
  const got = await derive(pin, Buffer.from(salt, 'base64url'), Number(cost))
  return wanted.length === got.length && timingSafeEqual(wanted, got)
}

const derive = (pin: string, salt: Buffer, cost: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { ...SCRYPT, N: 2 ** cost }
    scrypt(pin, salt, PIN_HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)))
  })

/** Encrypts a text with a key of 32 bytes (AES-256-GCM). It can be opened with the same `owner` only. */
export function encrypted(text: string, key: Uint8Array, owner: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(AES, key, iv).setAAD(Buffer.from(owner))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Decrypts a text; throws if the key or the owner is a different one. */
export function decrypted(sealed: string, key: Uint8Array, owner: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv(AES, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}

/** Encrypts a text with `passphrase` (key by HKDF). */
export const seal = (text: string, passphrase: string): string => encrypted(text, sealKey(passphrase), '')

/** Decrypts a text; throws if the passphrase is a different one. */
export const unseal = (sealed: string, passphrase: string): string => decrypted(sealed, sealKey(passphrase), '')

const sealKey = (passphrase: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', passphrase, '', 'tandem idempotent answer', 32))
