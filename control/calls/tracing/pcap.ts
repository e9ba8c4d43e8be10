import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { SipLegTrace } from '../../../media/protocol.ts'

/** The classic libpcap format, with microseconds, for packets that begin with their IP header. */
const MAGIC = 0xa1b2c3d4
const LINKTYPE_RAW = 101
const SNAPLEN = 65_535
const UDP = 17
const UDP_BYTES = 8
const IPV4_BYTES = 20
const IPV6_BYTES = 40
const HOPS = 64
/** `media/rtp/packet-headers.ts` describes a record of media. */
const RECORD_BYTES = 24
const RTP_BYTES = 12

interface Place {
  host: string
  port: number
}

interface Packet {
  at: number
  from: Place
  to: Place
  /** The captured bytes. */
  bytes: Buffer
  /** Its length on the wire. */
  length: number
}

/**
 * SIP and RTP headers of a call as a capture file. Every packet is written as a UDP datagram, whatever transport carried it, so that the
 * reader also sees messages over TCP and TLS. Of RTP only the first 12 octets are included: no audio, and no key.
 */
export function pcapOf(traces: readonly SipLegTrace[]): Buffer {
  const packets = traces.flatMap(trace => [...messagesOf(trace), ...headersOf(trace)])
  packets.sort((one, other) => one.at - other.at)
  const header = Buffer.alloc(24)
  header.writeUInt32LE(MAGIC, 0)
  header.writeUInt16LE(2, 4)
  header.writeUInt16LE(4, 6)
  header.writeUInt32LE(SNAPLEN, 16)
  header.writeUInt32LE(LINKTYPE_RAW, 20)
  return Buffer.concat([header, ...packets.flatMap(recordOf)])
}

function* messagesOf({ messages }: SipLegTrace): Generator<Packet> {
  for (const { at, isSent, local, remote, text } of messages) {
    const bytes = Buffer.from(text, 'latin1').subarray(0, SNAPLEN - IPV6_BYTES - UDP_BYTES)
    const [from, to] = isSent ? [local, remote] : [remote, local]
    yield { at, from, to, bytes, length: bytes.length }
  }
}

function* headersOf({ packets }: SipLegTrace): Generator<Packet> {
  if (packets === null) return
  const { local, remotes } = packets
  const records = Buffer.from(packets.records, 'base64')
  for (let i = 0; i + RECORD_BYTES <= records.length; i += RECORD_BYTES) {
    const remote = remotes[records[i + 9]!]
    if (remote === undefined) continue
    const [from, to] = records[i + 8] === 1 ? [local, remote] : [remote, local]
    const bytes = records.subarray(i + RECORD_BYTES - RTP_BYTES, i + RECORD_BYTES)
    yield { at: records.readDoubleBE(i), from, to, bytes, length: records.readUInt16BE(i + 10) }
  }
}

/** With both lengths: captured, and on the wire. */
function recordOf({ at, from, to, bytes, length }: Packet): Buffer[] {
  const headers = isIPv4(from.host) && isIPv4(to.host) ? ipv4(from, to, length) : ipv6(from, to, length)
  const record = Buffer.alloc(16)
  const seconds = Math.floor(at / 1000)
  record.writeUInt32LE(seconds, 0)
  record.writeUInt32LE(Math.floor((at - seconds * 1000) * 1000), 4)
  record.writeUInt32LE(headers.length + bytes.length, 8)
  record.writeUInt32LE(headers.length + length, 12)
  return [record, headers, bytes]
}

function ipv4(from: Place, to: Place, length: number): Buffer {
  const header = Buffer.alloc(IPV4_BYTES)
  header[0] = 0x45
  header.writeUInt16BE(IPV4_BYTES + UDP_BYTES + length, 2)
  header[8] = HOPS
  header[9] = UDP
  addressOf(from.host, 4).copy(header, 12)
  addressOf(to.host, 4).copy(header, 16)
  header.writeUInt16BE(checksum(header), 10)
  return Buffer.concat([header, udp(from, to, length)])
}

function ipv6(from: Place, to: Place, length: number): Buffer {
  const header = Buffer.alloc(IPV6_BYTES)
  header[0] = 0x60
  header.writeUInt16BE(UDP_BYTES + length, 4)
  header[6] = UDP
  header[7] = HOPS
  addressOf(from.host, 16).copy(header, 8)
  addressOf(to.host, 16).copy(header, 24)
  return Buffer.concat([header, udp(from, to, length)])
}

/** Without a checksum, since some of the checksummed bytes are missing. */
function udp(from: Place, to: Place, length: number): Buffer {
  const header = Buffer.alloc(UDP_BYTES)
  header.writeUInt16BE(from.port, 0)
  header.writeUInt16BE(to.port, 2)
  header.writeUInt16BE(UDP_BYTES + length, 4)
  return header
}

function addressOf(host: string, length: 4 | 16): Buffer {
  const bare = host.split('%')[0]!
  if (!ipaddr.isValid(bare)) return Buffer.alloc(length)
  const address = ipaddr.parse(bare)
  const whole = length === 16 && address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address
  return Buffer.from(whole.toByteArray())
}

/** RFC 1071. */
function checksum(bytes: Buffer): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
