import { uint32Array } from '../../codecs/arrays.ts'
import { emptyBlock, type ReportBlock } from './reception-stats.ts'
import { readUint32, writeUint32 } from './rtp.ts'

/** Space for the longest report written here. */
export const RTCP_BUFFER_BYTES = 512

const SENDER_REPORT = 200
const RECEIVER_REPORT = 201
const SOURCE_DESCRIPTION = 202
const GOODBYE = 203
const CNAME_ITEM = 1
const BLOCK_BYTES = 24
/** The count field has five bits. */
const MAX_BLOCKS = 31
/** Seconds from 1900 to 1970. */
const NTP_EPOCH_SECONDS = 2_208_988_800
const INTERVAL_MS = 5_000
/** No network takes longer; a report that says so is about none of ours [1/65536 s]. */
const MAX_ROUND_TRIP = 10 * 65_536

export interface SenderInfo {
  /** wall clock at the moment of `rtpTimestamp`, since 1970 [ms] */
  wallMs: number
  rtpTimestamp: number
  packets: number
  octets: number
}

/** The result of `parseRtcp`; one object is reused. */
export class RtcpCompound {
  /** of the first packet */
  ssrc = 0
  hasSenderInfo = false
  /** middle 32 bits of the sender's NTP timestamp, to be returned as LSR */
  senderNtp = 0
  senderRtpTimestamp = 0
  senderPackets = 0
  senderOctets = 0
  byeCount = 0
  /** leaving sources: the first `byeCount` are valid */
  readonly byes = uint32Array(MAX_BLOCKS)
  blockCount = 0
  /** the first `blockCount` are valid */
  readonly blocks: readonly ReportBlock[] = Array.from({ length: MAX_BLOCKS }, emptyBlock)

  /** The report about one of our streams, or null. */
  blockAbout(ssrc: number): ReportBlock | null {
    for (let i = 0; i < this.blockCount; i++) if (this.blocks[i]!.ssrc === ssrc) return this.blocks[i]!
    return null
  }

  /** Whether this source says goodbye (RFC 3550 §6.6). */
  saysBye(ssrc: number): boolean {
    for (let i = 0; i < this.byeCount; i++) if (this.byes[i] === ssrc) return true
    return false
  }

  clear(): void {
    this.ssrc = 0
    this.hasSenderInfo = false
    this.byeCount = 0
    this.blockCount = 0
  }
}

/** Middle 32 bits of an NTP timestamp, units of 1/65536 s (RFC 3550 §4). @param wallMs since 1970 [ms] */
export function ntpMiddle(wallMs: number): number {
  return Math.floor((wallMs / 1_000 + NTP_EPOCH_SECONDS) * 65_536) % 2 ** 32
}

/**
 * Writes a sender report, or a receiver report without `sender`, and a source description with the CNAME
 * (RFC 3550 §6.4, §6.5).
 *
 *     |V=2|P|   RC    |   PT=200/201  |    length in words − 1        |
 *     |                         SSRC of sender                        |
 *     |  SR: NTP timestamp (2 words), RTP timestamp, packets, octets  |
 *     |  block: SSRC; fraction, lost (24); highest; jitter; LSR; DLSR |
 *     |V=2|P|   SC    |     PT=202    | length |SSRC| 1 | len | CNAME |
 *
 * @param block what we received from the far end, or null when nothing came
 * @param cname ASCII, cut at 255 bytes
 * @returns length of the compound packet [bytes], 0 when `buffer` is too small for it
 */
export function writeReport(
  buffer: Uint8Array,
  ssrc: number,
  sender: SenderInfo | null,
  block: ReportBlock | null,
  cname: string,
): number {
  const name = cname.slice(0, 255)
  const reportBytes = 8 + (sender === null ? 0 : 20) + (block === null ? 0 : BLOCK_BYTES)
  // The item list ends with at least one zero and is padded to a word.
  const descriptionBytes = 8 + Math.ceil((2 + name.length + 1) / 4) * 4
  if (reportBytes + descriptionBytes > buffer.length) return 0
  writeHeader(buffer, 0, block === null ? 0 : 1, sender === null ? RECEIVER_REPORT : SENDER_REPORT, reportBytes)
  writeUint32(buffer, 4, ssrc)
  let at = 8
  if (sender !== null) at = writeSender(buffer, at, sender)
  if (block !== null) at = writeBlock(buffer, at, block)
  writeHeader(buffer, at, 1, SOURCE_DESCRIPTION, descriptionBytes)
  writeUint32(buffer, at + 4, ssrc)
  const end = at + descriptionBytes
  buffer.fill(0, at + 8, end)
  buffer[at + 8] = CNAME_ITEM
  buffer[at + 9] = name.length
  for (let i = 0; i < name.length; i++) buffer[at + 10 + i] = name.charCodeAt(i)
  return end
}

/** Appends a goodbye to a report of `at` bytes (RFC 3550 §6.6). @returns the new length, or `at` when it does not fit */
export function writeBye(buffer: Uint8Array, at: number, ssrc: number): number {
  if (at + 8 > buffer.length) return at
  writeHeader(buffer, at, 1, GOODBYE, 8)
  writeUint32(buffer, at + 4, ssrc)
  return at + 8
}

/**
 * Parses a datagram of one or several RTCP packets (RFC 3550 §6; a lone packet is taken too, RFC 5506). Packets of
 * other types are passed over.
 *
 * @returns false when a version or a length is wrong; `into` is then to be ignored. Never throws
 */
export function parseRtcp(bytes: Uint8Array, into: RtcpCompound): boolean {
  into.clear()
  if (bytes.length < 8) return false
  let at = 0
  while (at < bytes.length) {
    if (at + 4 > bytes.length || bytes[at]! >> 6 !== 2) return false
    const end = at + 4 + ((bytes[at + 2]! << 8) | bytes[at + 3]!) * 4
    if (end > bytes.length) return false
    if (!parsePacket(bytes, at, end, into)) return false
    at = end
  }
  return true
}

/**
 * Round-trip time from the far end's report (RFC 3550 §6.4.1).
 *
 * @param wallMs arrival of the report, on the clock of our sender reports [ms]
 * @returns [ms]; null if it has not seen a report of ours, or the values are nonsense
 */
export function roundTripMs(block: ReportBlock, wallMs: number): number | null {
  if (block.lastSr === 0) return null
  const units = (ntpMiddle(wallMs) - block.lastSr - block.delaySinceLastSr) | 0
  return units < 0 || units > MAX_ROUND_TRIP ? null : (units * 1_000) / 65_536
}

/**
 * Time to the next report: 5 s, or half of that to the first one, spread by half to both sides (RFC 3550 §6.2, §6.3.1); with
 * two members the bandwidth share never asks for more.
 *
 * @param random 0..1
 */
export function rtcpIntervalMs(random: number, isFirst: boolean): number {
  return (isFirst ? INTERVAL_MS / 2 : INTERVAL_MS) * (0.5 + random)
}

function writeHeader(buffer: Uint8Array, at: number, count: number, type: number, bytes: number): void {
  buffer[at] = 0x80 | count
  buffer[at + 1] = type
  const words = bytes / 4 - 1
  buffer[at + 2] = words >>> 8
  buffer[at + 3] = words
}

function writeSender(buffer: Uint8Array, at: number, sender: SenderInfo): number {
  const seconds = Math.floor(sender.wallMs / 1_000)
  writeUint32(buffer, at, seconds + NTP_EPOCH_SECONDS)
  writeUint32(buffer, at + 4, Math.floor(((sender.wallMs - seconds * 1_000) / 1_000) * 2 ** 32))
  writeUint32(buffer, at + 8, sender.rtpTimestamp)
  writeUint32(buffer, at + 12, sender.packets)
  writeUint32(buffer, at + 16, sender.octets)
  return at + 20
}

function writeBlock(buffer: Uint8Array, at: number, block: ReportBlock): number {
  writeUint32(buffer, at, block.ssrc)
  writeUint32(buffer, at + 4, ((block.fractionLost & 0xff) << 24) | (block.cumulativeLost & 0xffffff))
  writeUint32(buffer, at + 8, block.highestSequence)
  writeUint32(buffer, at + 12, block.jitter)
  writeUint32(buffer, at + 16, block.lastSr)
  writeUint32(buffer, at + 20, block.delaySinceLastSr)
  return at + BLOCK_BYTES
}

function parsePacket(bytes: Uint8Array, at: number, end: number, into: RtcpCompound): boolean {
  const count = bytes[at]! & 0x1f
  const type = bytes[at + 1]!
  if (at === 0 && end >= 8) into.ssrc = readUint32(bytes, 4)
  if (type === GOODBYE) {
    if (at + 4 + count * 4 > end) return false
    for (let i = 0; i < count && into.byeCount < MAX_BLOCKS; i++) {
      into.byes[into.byeCount++] = readUint32(bytes, at + 4 + i * 4)
    }
    return true
  }
  if (type !== SENDER_REPORT && type !== RECEIVER_REPORT) return true
  let block = at + 8
  if (type === SENDER_REPORT) {
    if (at + 28 > end) return false
    // Sender reports after the first one are of streams that have ended (RFC 7160 §4.1).
    if (!into.hasSenderInfo) parseSender(bytes, at + 8, into)
    block += 20
  }
  if (block + count * BLOCK_BYTES > end) return false
  for (let i = 0; i < count && into.blockCount < MAX_BLOCKS; i++) {
    parseBlock(bytes, block + i * BLOCK_BYTES, into.blocks[into.blockCount++]!)
  }
  return true
}

function parseSender(bytes: Uint8Array, at: number, into: RtcpCompound): void {
  into.hasSenderInfo = true
  into.senderNtp = readUint32(bytes, at + 2)
  into.senderRtpTimestamp = readUint32(bytes, at + 8)
  into.senderPackets = readUint32(bytes, at + 12)
  into.senderOctets = readUint32(bytes, at + 16)
}

function parseBlock(bytes: Uint8Array, at: number, into: ReportBlock): void {
  const loss = readUint32(bytes, at + 4)
  into.ssrc = readUint32(bytes, at)
  into.fractionLost = loss >>> 24
  into.cumulativeLost = (loss << 8) >> 8
  into.highestSequence = readUint32(bytes, at + 8)
  into.jitter = readUint32(bytes, at + 12)
  into.lastSr = readUint32(bytes, at + 16)
  into.delaySinceLastSr = readUint32(bytes, at + 20)
}
