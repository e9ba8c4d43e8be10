import { uint8Array } from '../../codecs/arrays.ts'
import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { G711 } from '../../codecs/g711.ts'
import { copy } from '../../codecs/kernels/frames.ts'

/** Bytes of an RTP header without CSRCs and extension (RFC 3550 §5.1). */
export const RTP_HEADER_BYTES = 12

/** The result of `parseRtp`; one object is reused for every packet of a socket. */
export class RtpPacket {
  marker = false
  /** 0..127 */
  payloadType = 0
  /** 16 bit, as on the wire */
  sequence = 0
  /** unsigned 32 bit, as on the wire */
  timestamp = 0
  ssrc = 0
  /** offset of the payload in the parsed bytes */
  payloadOffset = 0
  /** length of the payload without padding [bytes] */
  payloadLength = 0
}

interface RtpHeader {
  marker: boolean
  payloadType: number
  sequence: number
  timestamp: number
  ssrc: number
}

/**
 * Parses one datagram in place (RFC 3550 §5.1).
 *
 *      0                   1                   2                   3
 *      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *     |V=2|P|X|  CC   |M|     PT      |       sequence number         |
 *     |                           timestamp                           |
 *     |                             SSRC                              |
 *     |                    CSRC (CC times) ...                        |
 *     |   defined by profile (X)      |     length in 32-bit words    |
 *
 * @param into filled when the answer is true, undefined content otherwise
 * @returns false when any length in it is wrong; never throws
 */
export function parseRtp(bytes: Uint8Array, into: RtpPacket): boolean {
  const offset = rtpHeaderBytes(bytes)
  if (offset === 0) return false
  const first = bytes[0]!
  const second = bytes[1]!
  let end = bytes.length
  if ((first & 0x20) !== 0) {
    const padding = bytes[end - 1]!
    if (padding === 0) return false
    end -= padding
  }
  if (offset > end) return false
  into.marker = (second & 0x80) !== 0
  into.payloadType = second & 0x7f
  into.sequence = (bytes[2]! << 8) | bytes[3]!
  into.timestamp = readUint32(bytes, 4)
  into.ssrc = readUint32(bytes, 8)
  into.payloadOffset = offset
  into.payloadLength = end - offset
  return true
}

/** Length of a packet's header with CSRCs and extension [bytes]; 0 if it is invalid, or longer than the packet. */
export function rtpHeaderBytes(bytes: Uint8Array): number {
  if (bytes.length < RTP_HEADER_BYTES) return 0
  const first = bytes[0]!
  if (first >> 6 !== 2) return 0
  let length = RTP_HEADER_BYTES + (first & 0x0f) * 4
  if ((first & 0x10) !== 0) {
    if (length + 4 > bytes.length) return 0
    length += 4 + ((bytes[length + 2]! << 8) | bytes[length + 3]!) * 4
  }
  return length > bytes.length ? 0 : length
}

/**
 * Writes a header without CSRCs, padding and extension into the first 12 bytes of `buffer`.
 *
 * @returns 12, where the payload starts
 */
export function writeRtpHeader(buffer: Uint8Array, header: RtpHeader): number {
  buffer[0] = 0x80
  buffer[1] = (header.marker ? 0x80 : 0) | (header.payloadType & 0x7f)
  buffer[2] = header.sequence >>> 8
  buffer[3] = header.sequence
  writeUint32(buffer, 4, header.timestamp)
  writeUint32(buffer, 8, header.ssrc)
  return RTP_HEADER_BYTES
}

/** Whether a datagram on a shared port is RTCP: its second byte is 192..223 (RFC 5761 §4). */
export function isRtcp(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && bytes[0]! >> 6 === 2 && bytes[1]! >= 192 && bytes[1]! <= 223
}

/** Reads an unsigned 32-bit number, most significant byte first; the caller has checked the length. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

/** Writes the low 32 bits of a number, most significant byte first. */
export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/**
 * The number nearest to another one whose lowest bits are this value: a sequence number or timestamp of the wire without wrap-around
 * (RFC 3550 §A.1).
 */
export const nearest = (value: number, to: number, bits: 16 | 32): number =>
  to + (((value - to) << (32 - bits)) >> (32 - bits))

/** Unwraps a counter of the wire into one without wrap-around: each value is taken as the nearest to the last one. */
export class Unwrapper {
  readonly #bits: 16 | 32
  /** NaN: there is none yet. Never undefined: a field that is always a number is changed in place. */
  #last = Number.NaN

  /** @param bits 16 for sequence numbers, 32 for timestamps */
  constructor(bits: 16 | 32) {
    this.#bits = bits
  }

  /** The unwrapped value, remembered as the last one. The first value is returned unchanged; later ones may be negative. */
  unwrap(value: number): number {
    this.#last = this.peek(value)
    return this.#last
  }

  /** The unwrapped value without remembering it. */
  peek(value: number): number {
    const last = this.#last
    return Number.isNaN(last) ? value : nearest(value, last, this.#bits)
  }

  reset(): void {
    this.#last = Number.NaN
  }
}

const buffersFor = (maxPayload: number): readonly [Uint8Array, Uint8Array] => [
  uint8Array(RTP_HEADER_BYTES + maxPayload),
  uint8Array(RTP_HEADER_BYTES + maxPayload),
]

/** Start of a stream; all of it random (RFC 3550 §5.1). */
export interface StreamStart {
  ssrc: number
  /** of the first packet */
  sequence: number
  timestamp: number
}

/** The header that is being written. All senders share it, which therefore stays in the cache. */
const header: RtpHeader = { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0 }

/** An outgoing RTP stream at a time: its counters, and two packet buffers used alternately, since the kernel may still use the last one. */
export class RtpSender {
  ssrc = 0
  /** of the next packet, 16 bit */
  sequence = 0
  /** of the next packet, unsigned 32 bit */
  timestamp = 0
  /** of this stream and those before it */
  packetsSent = 0
  /** of this stream: payload bytes without headers, as RTCP counts them (RFC 3550 §6.4.1) */
  octetsSent = 0
  /** Packets of earlier streams. */
  #packetsBefore = 0
  #buffers: readonly [Uint8Array, Uint8Array]
  #current: Uint8Array
  #silent = true

  /** @param maxPayload [bytes] */
  constructor({ maxPayload, ...start }: StreamStart & { maxPayload: number }) {
    this.#buffers = buffersFor(maxPayload)
    this.#current = this.#buffers[0]
    this.begin(start)
  }

  /** Begins another stream with the next packet. */
  begin({ ssrc, sequence, timestamp }: StreamStart): void {
    this.ssrc = ssrc >>> 0
    this.sequence = sequence & 0xffff
    this.timestamp = timestamp >>> 0
    this.#packetsBefore = this.packetsSent
    this.octetsSent = 0
    this.#silent = true
  }

  /** Packets of this stream. */
  get packetsOfStream(): number {
    return this.packetsSent - this.#packetsBefore
  }

  /** Changes the packet size from the next packet on [bytes]: whole buffers are sent without a view. */
  fit(maxPayload: number): void {
    this.#buffers = buffersFor(maxPayload)
    this.#current = this.#buffers[0]
  }

  /** The buffer of the next packet. Write the payload at offset 12; then `write` adds the header. */
  get packet(): Uint8Array {
    return this.#current
  }

  /** The buffer of the last packet, until the next but one is written. */
  get last(): Uint8Array {
    return this.#buffers[this.#current === this.#buffers[0] ? 1 : 0]
  }

  /**
   * Writes the header before the payload in `packet` and swaps the buffers. The marker is set on the first packet after
   * silence (RFC 3551 §4.1). The timestamp does not move: call `advance` once per frame, sent or not.
   *
   * @param payloadType 0..127
   * @param payloadLength [bytes]
   * @param timestamp where it is not that of the stream: the start of a telephone event (RFC 4733 §2.2.2)
   * @param marker where it is not that of silence
   * @returns the buffer whose first `12 + payloadLength` bytes are the packet, intact until the write after the next
   */
  write(payloadType: number, payloadLength: number, timestamp = this.timestamp, marker = this.#silent): Uint8Array {
    const buffer = this.#write(payloadType, payloadLength, this.sequence, timestamp, marker)
    this.sequence = (this.sequence + 1) & 0xffff
    return buffer
  }

  /**
   * Writes what goes on in this stream as it came in another one: where nothing is missing, as the next packet.
   *
   * @param ahead packets that are missing before it; negative: it is late, by so many
   * @param units of time from the next packet; the next one follows behind the payload, each byte of which is one of them
   */
  writeOn(payloadType: number, payloadLength: number, ahead: number, units: number, marker: boolean): Uint8Array {
    const sequence = (this.sequence + ahead) & 0xffff
    const timestamp = (this.timestamp + units) >>> 0
    if (ahead >= 0) {
      this.sequence = (sequence + 1) & 0xffff
      this.timestamp = (timestamp + payloadLength) >>> 0
    }
    return this.#write(payloadType, payloadLength, sequence, timestamp, marker)
  }

  #write(payloadType: number, payloadLength: number, sequence: number, timestamp: number, marker: boolean): Uint8Array {
    const buffer = this.#current
    header.marker = marker
    header.payloadType = payloadType
    header.sequence = sequence
    header.timestamp = timestamp
    header.ssrc = this.ssrc
    writeRtpHeader(buffer, header)
    this.packetsSent++
    this.octetsSent = (this.octetsSent + payloadLength) >>> 0
    this.#silent = false
    this.#current = this.last
    return buffer
  }

  /** Moves the timestamp on by one frame. */
  advance(units: number): void {
    this.timestamp = (this.timestamp + units) >>> 0
  }

  /** The frame of this tick was not sent: the next packet carries the marker. */
  pause(): void {
    this.#silent = true
  }
}

/** Of G.711: 20 ms at 8 kHz. */
const FRAME_SAMPLES = 160
/** Packets are agreed in halves of a frame. One holds at most six, and no more than networks carry unfragmented [ms, bytes]. */
const HALF_MS = FRAME_MS / 2
const MAX_HALVES = 6
const MAX_PAYLOAD = 1280

const NOTHING = new Uint8Array(0)

/** Packs the frames of one stream into packets of the duration that the far end wants (`a=ptime`, RFC 8866 §6.4). */
export class Packetizer {
  /** The last packet; send as many of its first bytes as returned. */
  sent: Uint8Array = NOTHING
  readonly #sender: RtpSender
  readonly #payload = uint8Array(FRAME_SAMPLES)
  /** Of each frame, or of the longest [bytes]. */
  readonly #frameBytes: number
  /** Half a frame, on the clock of its codec. */
  readonly #halfUnits: number
  /** Size of a full packet [bytes]. */
  #wanted: number
  /** It has an odd number of halves (10 or 30 ms): frames are cut. */
  #isCut = false
  #payloadType = 0
  /** The length of the unfinished packet [bytes], and the time of its first sample. */
  #filled = 0
  #began = 0

  constructor(sender: RtpSender, frameBytes = FRAME_SAMPLES, frameUnits = FRAME_SAMPLES) {
    this.#sender = sender
    this.#frameBytes = frameBytes
    this.#halfUnits = frameUnits / 2
    this.#wanted = frameBytes
  }

  /** A packet is ready, behind the one of which `add` has told: `flush` makes it. */
  get isFull(): boolean {
    return this.#filled === this.#wanted
  }

  /** Takes effect with the next packet; the unfinished one has been flushed. */
  agree(payloadType: number, ptimeMs: number): void {
    this.#payloadType = payloadType
    const half = this.#frameBytes / 2
    const most = Math.min(MAX_HALVES, Math.floor(MAX_PAYLOAD / half))
    const halves = Math.min(Math.max(Math.floor(ptimeMs / HALF_MS), 1), most)
    this.#isCut = halves % 2 === 1
    this.#wanted = halves * half
    if (this.#sender.packet.length !== RTP_HEADER_BYTES + this.#wanted) this.#sender.fit(this.#wanted)
  }

  /**
   * Adds a frame; null: silence. `encoded`: the same in this law, when somebody has encoded it already.
   *
   * @returns length of the packet that is full now [bytes], or 0
   */
  add(law: G711, frame: Frame | null, encoded: Uint8Array | null): number {
    if (this.#isCut) return this.#cut(this.#encode(law, frame, encoded))
    const { packet, timestamp } = this.#sender
    const at = RTP_HEADER_BYTES + this.#filled
    if (this.#filled === 0) this.#began = timestamp
    if (frame === null) packet.fill(law.silence, at, at + FRAME_SAMPLES)
    else if (encoded !== null) copy(packet, encoded, at)
    else {
      law.encode(frame, this.#payload)
      packet.set(this.#payload, at)
    }
    this.#filled += FRAME_SAMPLES
    return this.isFull ? this.flush() : 0
  }

  #encode(law: G711, frame: Frame | null, encoded: Uint8Array | null): Uint8Array {
    if (encoded !== null) return encoded
    if (frame === null) this.#payload.fill(law.silence)
    else law.encode(frame, this.#payload)
    return this.#payload
  }

  /** Both halves of a frame. @returns as `add`; of packets of 10 ms another one `isFull` */
  #cut(frame: Uint8Array): number {
    const half = this.#frameBytes / 2
    let length = 0
    for (let from = 0; from < this.#frameBytes; from += half) {
      if (this.isFull) length = this.flush()
      const { packet, timestamp } = this.#sender
      if (this.#filled === 0) this.#began = (timestamp + (from === 0 ? 0 : this.#halfUnits)) >>> 0
      const at = RTP_HEADER_BYTES + this.#filled
      for (let i = 0; i < half; i++) packet[at + i] = frame[from + i]!
      this.#filled += half
    }
    return length === 0 && this.isFull ? this.flush() : length
  }

  /** Adds a frame of a codec other than G.711. @returns length of the packet if it is full now [bytes], or 0 */
  put(encoded: Uint8Array, length: number): number {
    if (this.#isCut) return this.#cut(encoded)
    const { packet, timestamp } = this.#sender
    if (this.#filled === 0) this.#began = timestamp
    const at = RTP_HEADER_BYTES + this.#filled
    for (let i = 0; i < length; i++) packet[at + i] = encoded[i]!
    this.#filled += length
    return this.#filled < this.#wanted ? 0 : this.flush()
  }

  /** Finishes a partial packet, because a key or another codec follows. @returns its length [bytes], or 0 */
  flush(): number {
    const length = this.#filled
    if (length === 0) return 0
    this.#filled = 0
    this.sent = this.#sender.write(this.#payloadType, length, this.#began)
    return RTP_HEADER_BYTES + length
  }

  /** Discards the unfinished packet. */
  drop(): void {
    this.#filled = 0
  }
}
