import { createHmac, timingSafeEqual } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { crc32 } from 'node:zlib'
import ipaddr from 'ipaddr.js'

/** Message types: methods and classes of Binding (RFC 8489 §5). */
export const BINDING_REQUEST = 0x0001
export const BINDING_INDICATION = 0x0011
export const BINDING_SUCCESS = 0x0101
export const BINDING_ERROR = 0x0111

/** Attributes (RFC 8489 §18.3, RFC 8445 §16.1). */
export const USERNAME = 0x0006
const MESSAGE_INTEGRITY = 0x0008
const ERROR_CODE = 0x0009
export const UNKNOWN_ATTRIBUTES = 0x000a
const XOR_MAPPED_ADDRESS = 0x0020
export const USE_CANDIDATE = 0x0025
const FINGERPRINT = 0x8028
export const ICE_CONTROLLED = 0x8029

/** The attributes below this must be understood (RFC 8489 §14). */
const OPTIONAL = 0x8000
/** Those that we understand: of RFC 8489 §18.3, and PRIORITY and USE-CANDIDATE of ICE. */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  ...[0x0001, USERNAME, MESSAGE_INTEGRITY, ERROR_CODE, UNKNOWN_ATTRIBUTES, 0x0014, 0x0015, 0x001c, 0x001d, 0x001e],
  ...[XOR_MAPPED_ADDRESS, 0x0024, USE_CANDIDATE],
])

const COOKIE = Buffer.from([0x21, 0x12, 0xa4, 0x42])
const HEADER_BYTES = 20
const INTEGRITY_BYTES = 20
const FINGERPRINT_XOR = 0x5354554e
/** Longer than any check of a browser. */
const MAX_BYTES = 1024

interface StunMessage {
  type: number
  transactionId: Uint8Array
  /** Attributes before MESSAGE-INTEGRITY, by type; those after it are ignored (RFC 8489 §14.5). */
  attributes: Map<number, Buffer>
  /** Offset of MESSAGE-INTEGRITY; null: none. */
  integrityAt: number | null
  bytes: Buffer
}

/** Whether a datagram on a shared port may be STUN (RFC 7983 §7). */
const isStun = (bytes: Uint8Array): boolean => bytes.length >= HEADER_BYTES && bytes[0]! < 4

/** Reads a message (RFC 8489 §5). Null: it is none, or its FINGERPRINT is wrong. Never throws. */
export function parseStun(datagram: Uint8Array): StunMessage | null {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.length)
  if (!isStun(bytes) || bytes.length > MAX_BYTES || bytes.length % 4 !== 0) return null
  if (bytes.readUInt16BE(2) !== bytes.length - HEADER_BYTES || !bytes.subarray(4, 8).equals(COOKIE)) return null
  const attributes = new Map<number, Buffer>()
  let integrityAt: number | null = null
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    if (at + 4 > bytes.length) return null
    const [type, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)]
    const end = at + 4 + length
    if (end > bytes.length) return null
    const value = bytes.subarray(at + 4, end)
    if (type === FINGERPRINT && !(end === bytes.length && length === 4 && isFingerprint(bytes, at, value))) return null
    if (type === MESSAGE_INTEGRITY && integrityAt === null) {
      if (length !== INTEGRITY_BYTES) return null
      integrityAt = at
    } else if (integrityAt === null && !attributes.has(type)) attributes.set(type, value)
    at = end + ((4 - (length % 4)) % 4)
  }
  const transactionId = bytes.subarray(8, HEADER_BYTES)
  return { type: bytes.readUInt16BE(0), transactionId, attributes, integrityAt, bytes }
}

const isFingerprint = (bytes: Buffer, at: number, value: Buffer): boolean =>
  value.readUInt32BE(0) === (crc32(bytes.subarray(0, at)) ^ FINGERPRINT_XOR) >>> 0

/** Whether a message was written by who knows the password (RFC 8489 §14.5). */
export function isAuthentic({ bytes, integrityAt }: StunMessage, password: string): boolean {
  if (integrityAt === null) return false
  const given = bytes.subarray(integrityAt + 4, integrityAt + 4 + INTEGRITY_BYTES)
  return timingSafeEqual(given, integrityOf(bytes.subarray(0, integrityAt), password))
}

/** Over the preceding bytes, with a length as if MESSAGE-INTEGRITY were the last attribute. */
function integrityOf(before: Buffer, password: string): Buffer {
  const head = Buffer.from(before.subarray(0, HEADER_BYTES))
  head.writeUInt16BE(before.length - HEADER_BYTES + 4 + INTEGRITY_BYTES, 2)
  return createHmac('sha1', password).update(head).update(before.subarray(HEADER_BYTES)).digest()
}

function attribute(type: number, value: Uint8Array): Buffer {
  const padded = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4)
  padded.writeUInt16BE(type, 0)
  padded.writeUInt16BE(value.length, 2)
  padded.set(value, 4)
  return padded
}

function withLength(bytes: Buffer, length: number): Buffer {
  bytes.writeUInt16BE(length, 2)
  return bytes
}

/** A message with integrity and fingerprint. */
export function formatStun(
  type: number,
  transactionId: Uint8Array,
  attributes: readonly (readonly [type: number, value: Uint8Array])[],
  password: string,
): Buffer {
  const head = Buffer.concat([Buffer.from([type >> 8, type & 0xff, 0, 0]), COOKIE, transactionId])
  const before = Buffer.concat([head, ...attributes.map(([name, value]) => attribute(name, value))])
  const signed = Buffer.concat([before, attribute(MESSAGE_INTEGRITY, integrityOf(before, password))])
  withLength(signed, signed.length - HEADER_BYTES + 8)
  const fingerprint = Buffer.alloc(4)
  fingerprint.writeUInt32BE((crc32(signed) ^ FINGERPRINT_XOR) >>> 0)
  return Buffer.concat([signed, attribute(FINGERPRINT, fingerprint)])
}

/** The answer to a request: from where it came (RFC 8489 §14.2). */
export function bindingSuccess({ transactionId }: StunMessage, host: string, port: number, password: string): Buffer {
  const address = ipaddr.process(host).toByteArray()
  const mask = Buffer.concat([COOKIE, transactionId])
  const value = Buffer.alloc(4 + address.length)
  value[1] = isIPv6(host) && address.length === 16 ? 2 : 1
  value.writeUInt16BE(port ^ mask.readUInt16BE(0), 2)
  for (const [i, byte] of address.entries()) value[4 + i] = byte ^ mask[i]!
  return formatStun(BINDING_SUCCESS, transactionId, [[XOR_MAPPED_ADDRESS, value]], password)
}

/** The attributes of a request that would have to be understood, and are not. */
export const unknownIn = ({ attributes }: StunMessage): number[] =>
  [...attributes.keys()].filter(type => type < OPTIONAL && !UNDERSTOOD.has(type))

/** `unknown`: see `unknownIn`. */
export function bindingError(
  { transactionId }: StunMessage,
  { code, reason, unknown = [] }: { code: number; reason: string; unknown?: number[] },
  password: string,
): Buffer {
  const value = Buffer.concat([Buffer.from([0, 0, Math.floor(code / 100), code % 100]), Buffer.from(reason)])
  const named = Buffer.from(unknown.flatMap(type => [type >> 8, type & 0xff]))
  const attributes = [
    [ERROR_CODE, value] as const,
    ...(unknown.length > 0 ? [[UNKNOWN_ATTRIBUTES, named] as const] : []),
  ]
  return formatStun(BINDING_ERROR, transactionId, attributes, password)
}
