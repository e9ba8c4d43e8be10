import { field, type Json, parseObject, readSaid, type SaidMessage } from '../streams/said-messages.ts'

/**
 * A page's messages on the call WebSocket: those of a bidirectional media stream, as Twilio published them, and a few for the
 * softphone.
 */

/** Characters of the whole of a `control` message. */
const MAX_CONTROL = 4096
/** Size limit of a WebRTC offer. */
const MAX_SDP = 20_000

export type PageMessage =
  | SaidMessage
  /** Hangs up, or declines what rings. */
  | { event: 'stop' }
  /** Takes the call that rings. */
  | { event: 'accept' }
  /** Offers WebRTC for the audio of the call that it is in (SDP). */
  | { event: 'webrtc'; sdp: string }
  /** A request to control. */
  | { event: 'control'; body: Record<string, unknown> }

/**
 * One message, or null if it is none of ours. `streamSid`: of the leg that the page is in; a message that names another one is
 * late. Never throws.
 */
export function parsePageMessage(text: string, streamSid: string | null): PageMessage | null {
  const message = parseObject(text)
  if (message === null) return null
  if (message.event === 'control') return readControl(message, text.length)
  if (message.streamSid !== undefined && message.streamSid !== streamSid) return null
  switch (message.event) {
    case 'webrtc':
      return readOffer(field(message, 'webrtc'))
    case 'stop':
    case 'accept':
      return { event: message.event }
    default:
      return readSaid(message, streamSid)
  }
}

const readOffer = (webrtc: Json | null): PageMessage | null =>
  webrtc !== null && typeof webrtc.sdp === 'string' && webrtc.sdp.length <= MAX_SDP
    ? { event: 'webrtc', sdp: webrtc.sdp }
    : null

function readControl(message: Json, length: number): PageMessage | null {
  const body = field(message, 'control')
  return body === null || length > MAX_CONTROL ? null : { event: 'control', body }
}

// ---------------------------------------------------------------------------------------------------- to the page

const json = (message: object): Buffer => Buffer.from(JSON.stringify(message), 'utf8')

/** A call for this page; `info` is what control wants it to show. */
export const ringMessage = (streamSid: string, info: object): Buffer => json({ event: 'ring', streamSid, ring: info })

/** The ringing call has stopped ringing. */
export const ringStopMessage = (streamSid: string, reason: string): Buffer =>
  json({ event: 'stop', streamSid, stop: { reason } })

/** The answer to a WebRTC offer; null: none, and audio stays on the WebSocket. */
export const webRtcMessage = (streamSid: string, sdp: string | null): Buffer =>
  json({ event: 'webrtc', streamSid, webrtc: { sdp } })

export const controlMessage = (body: object): Buffer => json({ event: 'control', control: body })
