/**
 * The messages of a media stream, in the format that Twilio published as Media Streams: JSON text, numbers that count as
 * decimal strings, `sampleRate` and `channels` as numbers.
 */
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { StreamFormat, StreamTracks } from '../protocol.ts'
import type { Track } from '../rooms/sink.ts'

/** The data about a stream in its messages. */
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

const tracksOf = (tracks: StreamTracks): Track[] => (tracks === 'both' ? ['inbound', 'outbound'] : [tracks])

export const connectedMessage = (): Buffer => json({ event: 'connected', protocol: 'Call', version: '1.0.0' })

/** `resumed`: null on the first connection; after a reconnect, what the stream has dropped so far. */
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

/** Audio sent before the mark of this name has been heard. */
export const markMessage = (streamId: string, sequence: number, name: string): Buffer =>
  json({ event: 'mark', sequenceNumber: String(sequence), streamSid: streamId, mark: { name } })

/** Ours alone: audio of the receiver finds no room, and is not played. `framesRefused`: of the stream so far. */
export const overflowMessage = (streamId: string, sequence: number, framesRefused: number): Buffer =>
  json({ event: 'overflow', sequenceNumber: String(sequence), streamSid: streamId, overflow: { framesRefused } })

const json = (message: object): Buffer => Buffer.from(JSON.stringify(message), 'utf8')
