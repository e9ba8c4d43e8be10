/**
 * What a page says on the call WebSocket: the messages of a media stream in the other direction, as Twilio published them for
 * bidirectional streams, and a few for the telephone that a softphone is.
 */

/** Characters of a mark's name, and of the whole of a `control` message. */
const MAX_NAME = 200
const MAX_CONTROL = 4096
const KEY = /^[0-9A-D*#]$/

export type PageMessage =
  /** `timestampMs`: given with live audio, which is played by the clock; null: it is played in turn, however early it came. */
  | { event: 'media'; payload: string; timestampMs: number | null }
  /** Is sent back once all audio before it has been heard, or was cleared. */
  | { event: 'mark'; name: string }
  /** Forgets the audio that has not been heard yet. */
  | { event: 'clear' }
  | { event: 'dtmf'; digit: string }
  /** Hangs up, or declines what rings. */
  | { event: 'stop' }
  /** Takes the call that rings. */
  | { event: 'accept' }
  /** Asks control for something. */
  | { event: 'control'; body: Record<string, unknown> }

type Json = Record<string, unknown>

/**
 * One message, or null when it is none of ours. `streamSid`: of the leg that the page is in; a message that names another one is
 * late. Never throws.
 */
export function parsePageMessage(text: string, streamSid: string | null): PageMessage | null {
  const message = parseObject(text)
  if (message === null) return null
  if (message.event === 'control') return readControl(message, text.length)
  if (message.streamSid !== undefined && message.streamSid !== streamSid) return null
  switch (message.event) {
    case 'media':
      return readMedia(field(message, 'media'))
    case 'mark':
      return readMark(field(message, 'mark'))
    case 'dtmf':
      return readKey(field(message, 'dtmf'))
    case 'clear':
    case 'stop':
    case 'accept':
      return { event: message.event }
    default:
      return null
  }
}

function readMedia(media: Json | null): PageMessage | null {
  if (media === null || typeof media.payload !== 'string') return null
  const { timestamp } = media
  if (timestamp === undefined) return { event: 'media', payload: media.payload, timestampMs: null }
  // The published protocol writes numbers that count as decimal strings.
  const timestampMs = typeof timestamp === 'string' && timestamp !== '' ? Number(timestamp) : timestamp
  return typeof timestampMs === 'number' && Number.isFinite(timestampMs)
    ? { event: 'media', payload: media.payload, timestampMs }
    : null
}

const readMark = (mark: Json | null): PageMessage | null =>
  mark !== null && typeof mark.name === 'string' && mark.name.length <= MAX_NAME
    ? { event: 'mark', name: mark.name }
    : null

const readKey = (dtmf: Json | null): PageMessage | null =>
  dtmf !== null && typeof dtmf.digit === 'string' && KEY.test(dtmf.digit) ? { event: 'dtmf', digit: dtmf.digit } : null

function readControl(message: Json, length: number): PageMessage | null {
  const body = field(message, 'control')
  return body === null || length > MAX_CONTROL ? null : { event: 'control', body }
}

const field = (message: Json, name: string): Json | null => (isObject(message[name]) ? message[name] : null)

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

// ---------------------------------------------------------------------------------------------------- to the page

const json = (message: object): Buffer => Buffer.from(JSON.stringify(message), 'utf8')

export const markMessage = (streamSid: string, sequence: number, name: string): Buffer =>
  json({ event: 'mark', sequenceNumber: String(sequence), streamSid, mark: { name } })

/** A call for this page; `info` is what control wants it to show. */
export const ringMessage = (streamSid: string, info: object): Buffer => json({ event: 'ring', streamSid, ring: info })

/** What rang has stopped ringing. */
export const ringStopMessage = (streamSid: string, reason: string): Buffer =>
  json({ event: 'stop', streamSid, stop: { reason } })

export const controlMessage = (body: object): Buffer => json({ event: 'control', control: body })
