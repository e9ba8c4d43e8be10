import { mediaType } from './message/headers.ts'

/** A key pressed by INFO, for peers without RFC 4733. There is no RFC, but these two forms are common. */
export interface DtmfInfo {
  /** One of 0-9, *, #, A-D. */
  digit: string
  durationMs: number
}

export const DTMF_RELAY = 'application/dtmf-relay'
const DTMF = 'application/dtmf'

const DEFAULT_MS = 160
const MAX_MS = 5000
const KEY = /^[0-9*#A-D]$/
/** Some senders write the event number of RFC 4733 §3.2 instead of the key. */
const BY_NUMBER: Record<string, string> = { 10: '*', 11: '#', 12: 'A', 13: 'B', 14: 'C', 15: 'D' }

/**
 * Reads the body of an INFO: `Signal=5` and `Duration=160` lines for dtmf-relay, the bare key for dtmf. A duration that is missing or unreadable is a
 * usual one. Null when it names no key, or several. Never throws.
 */
export function parseDtmfInfo(contentType: string, body: Uint8Array): DtmfInfo | null {
  if (body.length > 1024) return null
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1')
  const type = mediaType(contentType)
  if (type === DTMF) return withKey(text.trim(), DEFAULT_MS)
  if (type !== DTMF_RELAY) return null
  const signals = [...text.matchAll(/^\s*signal\s*=(.*)$/gim)].map(found => found[1]!.trim())
  const [signal] = signals
  const duration = /^\s*duration\s*=\s*(\d{1,6})\s*$/im.exec(text)?.[1]
  return signal === undefined || signals.length > 1
    ? null
    : withKey(signal, duration === undefined ? DEFAULT_MS : Number(duration))
}

function withKey(signal: string, durationMs: number): DtmfInfo | null {
  const digit = (BY_NUMBER[signal] ?? signal).toUpperCase()
  return KEY.test(digit) ? { digit, durationMs: Math.min(Math.max(durationMs, 1), MAX_MS) } : null
}

/** The body of an INFO in the dtmf-relay form. */
export function formatDtmfInfo(info: DtmfInfo): Uint8Array {
  return Buffer.from(`Signal=${info.digit}\r\nDuration=${info.durationMs}\r\n`, 'latin1')
}
