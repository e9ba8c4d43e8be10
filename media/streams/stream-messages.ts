/**
 * The messages of a media stream, in the format that Twilio published as Media Streams: JSON text, numbers that count as
 * decimal strings, `sampleRate` and `channels` as numbers.
 */
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { StreamFormat, StreamTracks } from '../protocol.ts'
import type { Track } from '../rooms/sink.ts'

/** What the messages of one stream say about it. */
export interface StreamIdentity {
  streamId: string
  accountSid: string
  callSid: string
  tracks: StreamTracks
  format: StreamFormat
  customParameters: Record<string, string>
}

/** Bytes of one 20 ms frame in each format. */
export const PAYLOAD_BYTES: Record<StreamFormat, number> = { mulaw_8000: 160, l16_8000: 320, l16_16000: 640 }

const MEDIA_FORMAT: Record<StreamFormat, object> = {
  mulaw_8000: { encoding: 'audio/x-mulaw', sampleRate: NARROWBAND_HZ, channels: 1 },
  l16_8000: { encoding: 'audio/x-l16', sampleRate: NARROWBAND_HZ, channels: 1, endianness: 'little' },
  l16_16000: { encoding: 'audio/x-l16', sampleRate: 2 * NARROWBAND_HZ, channels: 1, endianness: 'little' },
}

export const tracksOf = (tracks: StreamTracks): Track[] => (tracks === 'both' ? ['inbound', 'outbound'] : [tracks])

export const connectedMessage = (): Buffer => json({ event: 'connected', protocol: 'Call', version: '1.0.0' })

/** `resumed`: null on the first connection; after a reconnect, what has been dropped of the stream so far. */
export const startMessage = (
  stream: StreamIdentity,
  sequence: number,
  resumed: { framesDropped: number } | null,
): Buffer =>
  json({
    event: 'start',
    sequenceNumber: String(sequence),
    start: {
      accountSid: stream.accountSid,
      streamSid: stream.streamId,
      callSid: stream.callSid,
      tracks: tracksOf(stream.tracks),
      mediaFormat: MEDIA_FORMAT[stream.format],
      customParameters: stream.customParameters,
      ...(resumed && { reconnected: true, framesDropped: resumed.framesDropped }),
    },
    streamSid: stream.streamId,
  })

/** `inbound_track` is how the published protocol names the track here, and nowhere else. */
export const dtmfMessage = (stream: StreamIdentity, sequence: number, digit: string): Buffer =>
  json({
    event: 'dtmf',
    sequenceNumber: String(sequence),
    dtmf: { track: 'inbound_track', digit },
    streamSid: stream.streamId,
  })

export const stopMessage = (stream: StreamIdentity, sequence: number): Buffer =>
  json({
    event: 'stop',
    sequenceNumber: String(sequence),
    stop: { accountSid: stream.accountSid, callSid: stream.callSid },
    streamSid: stream.streamId,
  })

/** What was sent before the mark of this name has been heard. */
export const markMessage = (streamId: string, sequence: number, name: string): Buffer =>
  json({ event: 'mark', sequenceNumber: String(sequence), streamSid: streamId, mark: { name } })

/** Ours alone: audio of the receiver finds no room, and is not played. `framesRefused`: of the stream so far. */
export const overflowMessage = (streamId: string, sequence: number, framesRefused: number): Buffer =>
  json({ event: 'overflow', sequenceNumber: String(sequence), streamSid: streamId, overflow: { framesRefused } })

const json = (message: object): Buffer => Buffer.from(JSON.stringify(message), 'utf8')

const MAX_DIGITS = 16
const ASCII_ZERO = 48
const PAD = 61
/** The alphabet of RFC 4648 §4. */
const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 'latin1')

/**
 * Writes the `media` messages of one track, all into the same bytes: what changes from one to the next is three numbers and the
 * payload. Nothing is allocated but a view, when the message's length changes.
 */
export class MediaMessageWriter {
  readonly #bytes: Buffer
  readonly #numbersAt: number
  readonly #chunkLabel: Buffer
  readonly #timestampLabel = Buffer.from('","timestamp":"', 'latin1')
  readonly #payloadLabel = Buffer.from('","payload":"', 'latin1')
  readonly #tail: Buffer
  #view: Buffer

  /** `payloadBytes`: bytes of every frame of this stream. */
  constructor(streamId: string, track: Track, payloadBytes: number) {
    const head = Buffer.from('{"event":"media","sequenceNumber":"', 'latin1')
    this.#chunkLabel = Buffer.from(`","media":{"track":"${track}","chunk":"`, 'latin1')
    this.#tail = Buffer.from(`"},"streamSid":${JSON.stringify(streamId)}}`, 'utf8')
    const fixed = [head, this.#chunkLabel, this.#timestampLabel, this.#payloadLabel, this.#tail]
    const longest = fixed.reduce((sum, part) => sum + part.length, 0) + 3 * MAX_DIGITS + base64Length(payloadBytes)
    this.#bytes = Buffer.alloc(longest)
    this.#numbersAt = head.copy(this.#bytes, 0)
    this.#view = this.#bytes
  }

  /**
   * The message for the `length` payload bytes of `source` from `offset`. `timestampMs`: since the stream began.
   * The result is borrowed: valid until the next call.
   */
  write(
    sequence: number,
    chunk: number,
    timestampMs: number,
    source: Uint8Array,
    offset: number,
    length: number,
  ): Buffer {
    const bytes = this.#bytes
    let at = writeDecimal(bytes, this.#numbersAt, sequence)
    bytes.set(this.#chunkLabel, at)
    at = writeDecimal(bytes, at + this.#chunkLabel.length, chunk)
    bytes.set(this.#timestampLabel, at)
    at = writeDecimal(bytes, at + this.#timestampLabel.length, timestampMs)
    bytes.set(this.#payloadLabel, at)
    at = writeBase64(bytes, at + this.#payloadLabel.length, source, offset, length)
    bytes.set(this.#tail, at)
    at += this.#tail.length
    if (this.#view.length !== at) this.#view = bytes.subarray(0, at)
    return this.#view
  }
}

const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3)

/** Writes a whole number from 0 to 2^53 - 1 in decimal; returns the place behind it. */
function writeDecimal(dst: Uint8Array, at: number, value: number): number {
  let digits = 1
  for (let bound = 10; value >= bound; bound *= 10) digits++
  let rest = value
  for (let place = at + digits - 1; place >= at; place--) {
    const quotient = Math.floor(rest / 10)
    dst[place] = ASCII_ZERO + (rest - 10 * quotient)
    rest = quotient
  }
  return at + digits
}

/** Writes RFC 4648 §4 base64 with padding; returns the place behind it. Node's own encoder would make a string per frame. */
function writeBase64(dst: Uint8Array, start: number, src: Uint8Array, offset: number, length: number): number {
  const whole = offset + length - (length % 3)
  let at = start
  for (let i = offset; i < whole; i += 3, at += 4) {
    const bits = (src[i]! << 16) | (src[i + 1]! << 8) | src[i + 2]!
    dst[at] = BASE64[bits >> 18]!
    dst[at + 1] = BASE64[(bits >> 12) & 63]!
    dst[at + 2] = BASE64[(bits >> 6) & 63]!
    dst[at + 3] = BASE64[bits & 63]!
  }
  const left = length % 3
  if (left === 0) return at
  const bits = (src[whole]! << 16) | (left === 2 ? src[whole + 1]! << 8 : 0)
  dst[at] = BASE64[bits >> 18]!
  dst[at + 1] = BASE64[(bits >> 12) & 63]!
  dst[at + 2] = left === 2 ? BASE64[(bits >> 6) & 63]! : PAD
  dst[at + 3] = PAD
  return at + 4
}
