import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { number, Reader } from './bytes.ts'

/** Content types (RFC 5246 §6.2.1). */
export const CHANGE_CIPHER_SPEC = 20
export const ALERT = 21
export const HANDSHAKE = 22

/** DTLS 1.2. */
export const VERSION = 0xfefd
const HEADER_BYTES = 13
/** A record's content is no longer (RFC 5246 §6.2.1). */
const MAX_CONTENT = 2 ** 14
const MAX_RECORDS = 64

export interface DtlsRecord {
  type: number
  epoch: number
  /** Epoch and sequence number, 8 bytes: what makes its nonce. */
  number: Uint8Array
  content: Uint8Array
}

/** The records of one datagram (RFC 6347 §4.1), up to the first malformed one. Never throws. */
export function readRecords(datagram: Uint8Array): DtlsRecord[] {
  const reader = new Reader(datagram)
  const records: DtlsRecord[] = []
  while (reader.left >= HEADER_BYTES && records.length < MAX_RECORDS) {
    const type = reader.number(1)
    const major = reader.number(2) >> 8
    const place = reader.take(8)
    const content = reader.vector(2)
    if (reader.isBroken || major !== VERSION >> 8 || content.length > MAX_CONTENT + 64) break
    records.push({ type, epoch: place[0]! * 256 + place[1]!, number: place, content })
  }
  return records
}

export const formatRecord = (type: number, place: Uint8Array, content: Uint8Array): Buffer =>
  Buffer.concat([number(type, 1), number(VERSION, 2), place, number(content.length, 2), content])

/** Epoch and sequence number as written in a record. */
export const recordNumber = (epoch: number, sequence: number): Buffer =>
  Buffer.concat([number(epoch, 2), number(sequence, 6)])

/** The pseudo-random function of TLS 1.2 with SHA-256 (RFC 5246 §5). */
export function prf(secret: Uint8Array, label: string, seed: Uint8Array, length: number): Buffer {
  const labelled = Buffer.concat([Buffer.from(label, 'latin1'), seed])
  const hmac = (...parts: readonly Uint8Array[]): Buffer =>
    createHmac('sha256', secret).update(Buffer.concat(parts)).digest()
  const blocks: Buffer[] = []
  let a: Buffer = labelled
  for (let made = 0; made < length; made += 32) {
    a = hmac(a)
    blocks.push(hmac(a, labelled))
  }
  return Buffer.concat(blocks).subarray(0, length)
}

const KEY_BYTES = 16
const SALT_BYTES = 4
const EXPLICIT_BYTES = 8
const TAG_BYTES = 16

/** One direction of AES-128-GCM (RFC 5288 §3). */
export interface RecordKey {
  key: Uint8Array
  salt: Uint8Array
}

/** Keys of both directions (RFC 5246 §6.3). */
export function recordKeys(
  master: Uint8Array,
  clientRandom: Uint8Array,
  serverRandom: Uint8Array,
): { client: RecordKey; server: RecordKey } {
  const block = prf(master, 'key expansion', Buffer.concat([serverRandom, clientRandom]), 2 * (KEY_BYTES + SALT_BYTES))
  const salts = 2 * KEY_BYTES
  return {
    client: { key: block.subarray(0, KEY_BYTES), salt: block.subarray(salts, salts + SALT_BYTES) },
    server: { key: block.subarray(KEY_BYTES, salts), salt: block.subarray(salts + SALT_BYTES) },
  }
}

/** The additional authenticated data (RFC 6347 §4.1.2.1). */
const additional = (type: number, place: Uint8Array, length: number): Buffer =>
  Buffer.concat([place, number(type, 1), number(VERSION, 2), number(length, 2)])

export function sealRecord({ key, salt }: RecordKey, type: number, place: Uint8Array, content: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-128-gcm', key, Buffer.concat([salt, place]))
  cipher.setAAD(additional(type, place, content.length))
  const sealed = Buffer.concat([place, cipher.update(content), cipher.final(), cipher.getAuthTag()])
  return formatRecord(type, place, sealed)
}

/** The content of a sealed record; null: it is not from the far end. Never throws. */
export function openRecord({ key, salt }: RecordKey, { type, number: place, content }: DtlsRecord): Buffer | null {
  const length = content.length - EXPLICIT_BYTES - TAG_BYTES
  if (length < 0) return null
  const nonce = Buffer.concat([salt, content.subarray(0, EXPLICIT_BYTES)])
  const decipher = createDecipheriv('aes-128-gcm', key, nonce)
  decipher.setAAD(additional(type, place, length))
  decipher.setAuthTag(content.subarray(EXPLICIT_BYTES + length))
  const opened = decipher.update(content.subarray(EXPLICIT_BYTES, EXPLICIT_BYTES + length))
  try {
    return Buffer.concat([opened, decipher.final()])
  } catch {
    // Node reports a wrong tag by throwing.
    return null
  }
}
