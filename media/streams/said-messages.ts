/**
 * Messages from the far end of a bidirectional stream, as Twilio published them, and keys. They come from the receiver of a
 * media stream, or from a page on the call WebSocket.
 */

/** Characters of a mark's name. */
const MAX_NAME = 200
const KEY = /^[0-9A-D*#]$/
/**
 * Signs of a message that begin an element of JSON. Those of ours have ten; a megabyte of brackets takes `JSON.parse` 0.2 s, in which no
 * call of the thread is heard.
 */
const MAX_ELEMENTS = 1000
const ELEMENTS = ['[', '{', ',']

export type SaidMessage =
  /** `timestampMs`: given with live audio of pages, which is played by the clock; null: it is played in turn, however early it came. */
  | { event: 'media'; payload: string; timestampMs: number | null }
  /** Is sent back once all audio before it has been heard, or was cleared. */
  | { event: 'mark'; name: string }
  /** Forgets the audio that has not been heard yet. */
  | { event: 'clear' }
  | { event: 'dtmf'; digit: string }

export type Json = Record<string, unknown>

/** `message`, or null when it is none of these. `streamSid`: of the stream; a message that names another one is late. Never throws. */
export function readSaid(message: Json, streamSid: string | null): SaidMessage | null {
  if (message.streamSid !== undefined && message.streamSid !== streamSid) return null
  switch (message.event) {
    case 'media':
      return readMedia(field(message, 'media'))
    case 'mark':
      return readMark(field(message, 'mark'))
    case 'dtmf':
      return readKey(field(message, 'dtmf'))
    case 'clear':
      return { event: 'clear' }
    default:
      return null
  }
}

function readMedia(media: Json | null): SaidMessage | null {
  if (media === null || typeof media.payload !== 'string') return null
  const { timestamp } = media
  if (timestamp === undefined) return { event: 'media', payload: media.payload, timestampMs: null }
  // The published protocol writes numbers that count as decimal strings.
  const timestampMs = typeof timestamp === 'string' && timestamp !== '' ? Number(timestamp) : timestamp
  return typeof timestampMs === 'number' && Number.isFinite(timestampMs)
    ? { event: 'media', payload: media.payload, timestampMs }
    : null
}

const readMark = (mark: Json | null): SaidMessage | null =>
  mark !== null && typeof mark.name === 'string' && mark.name.length <= MAX_NAME
    ? { event: 'mark', name: mark.name }
    : null

const readKey = (dtmf: Json | null): SaidMessage | null =>
  dtmf !== null && typeof dtmf.digit === 'string' && KEY.test(dtmf.digit) ? { event: 'dtmf', digit: dtmf.digit } : null

export const field = (message: Json, name: string): Json | null => (isObject(message[name]) ? message[name] : null)

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

export function parseObject(text: string): Json | null {
  if (hasManyElements(text)) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function hasManyElements(text: string): boolean {
  let elements = 0
  for (const sign of ELEMENTS) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1))
      if (++elements > MAX_ELEMENTS) return true
  }
  return false
}
