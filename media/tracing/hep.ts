import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Place } from './wire-message.ts'

/** The content of a HEP packet. */
export const HEP_SIP = 1
/** RTCP reports, as JSON. */
export const HEP_RTCP = 5

/** All lengths have 16 bits, and a datagram has no room for more. */
const MAX_PACKET_BYTES = 65_000
const CHUNK_HEADER_BYTES = 6
const VERSION = 'HEP3'
const UDP = 17
const TCP = 6
const AF_INET = 2
const AF_INET6 = 10

export interface HepAgent {
  /** The number by which the collector knows this node. */
  captureId: number
  /** Null: it asks for none. */
  password: string | null
}

interface Captured {
  type: typeof HEP_SIP | typeof HEP_RTCP
  isDatagram: boolean
  from: Place
  to: Place
  /** Since 1970 [ms], with fractions. */
  at: number
  /** The Call-ID. */
  correlationId: string | null
  payload: Buffer
}

/**
 * A packet of HEP version 3, which others call EEP: six octets, then chunks in any order.
 *
 *     | "HEP3" | total length (16) |
 *     | vendor (16) = 0 | type (16) | length with these six octets (16) | value |
 */
export function hepPacket({ captureId, password }: HepAgent, captured: Captured): Buffer {
  const { from, to, at, correlationId } = captured
  const isFour = isIPv4(from.host) && isIPv4(to.host)
  const seconds = Math.floor(at / 1000)
  const chunks = [
    chunk(1, uint8(isFour ? AF_INET : AF_INET6)),
    chunk(2, uint8(captured.isDatagram ? UDP : TCP)),
    chunk(isFour ? 3 : 5, addressBytes(from.host, isFour)),
    chunk(isFour ? 4 : 6, addressBytes(to.host, isFour)),
    chunk(7, uint16(from.port)),
    chunk(8, uint16(to.port)),
    chunk(9, uint32(seconds)),
    chunk(10, uint32(Math.floor((at - seconds * 1000) * 1000))),
    chunk(11, uint8(captured.type)),
    chunk(12, uint32(captureId)),
    ...(password === null ? [] : [chunk(14, Buffer.from(password))]),
    ...(correlationId === null ? [] : [chunk(17, Buffer.from(correlationId.slice(0, 255), 'latin1'))]),
  ]
  const room = MAX_PACKET_BYTES - 6 - chunks.reduce((sum, { length }) => sum + length, 0) - CHUNK_HEADER_BYTES
  const packet = Buffer.concat([
    Buffer.from(`${VERSION}\0\0`),
    ...chunks,
    chunk(15, captured.payload.subarray(0, room)),
  ])
  packet.writeUInt16BE(packet.length, 4)
  return packet
}

function chunk(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(CHUNK_HEADER_BYTES + value.length)
  bytes.writeUInt16BE(type, 2)
  bytes.writeUInt16BE(bytes.length, 4)
  value.copy(bytes, CHUNK_HEADER_BYTES)
  return bytes
}

const uint8 = (value: number): Buffer => Buffer.of(value)
const uint16 = (value: number): Buffer => Buffer.of(value >>> 8, value & 0xff)
const uint32 = (value: number): Buffer =>
  Buffer.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)

/** Four or sixteen octets; zero for an invalid address, or the wrong family where four are needed. */
function addressBytes(host: string, isFour: boolean): Buffer {
  const length = isFour ? 4 : 16
  const bare = host.split('%')[0]!
  if (!ipaddr.isValid(bare)) return Buffer.alloc(length)
  const address = ipaddr.parse(bare)
  const whole = !isFour && address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address
  const bytes = Buffer.from(whole.toByteArray())
  return bytes.length === length ? bytes : Buffer.alloc(length)
}
