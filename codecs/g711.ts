import { ALAW_SILENCE, decodeAlaw, encodeAlaw } from './alaw.ts'
import { decodeUlaw, encodeUlaw, ULAW_SILENCE } from './ulaw.ts'

/** One of the two laws of ITU-T G.711 under its RTP name (RFC 3551 §4.5.14, §6): one octet per sample at 8 kHz. */
export interface G711 {
  readonly name: 'PCMU' | 'PCMA'
  readonly payloadType: 0 | 8
  /** The octet to send for silence. */
  readonly silence: number
  /** `dst` must be at least as long as `src`. */
  decode(src: Uint8Array, dst: Int16Array): void
  /** `dst` must be at least as long as `src`. */
  encode(src: Int16Array, dst: Uint8Array): void
}

export const PCMU: G711 = {
  name: 'PCMU',
  payloadType: 0,
  silence: ULAW_SILENCE,
  decode: decodeUlaw,
  encode: encodeUlaw,
}

export const PCMA: G711 = {
  name: 'PCMA',
  payloadType: 8,
  silence: ALAW_SILENCE,
  decode: decodeAlaw,
  encode: encodeAlaw,
}

/** The law of an encoding name as SDP writes it (case does not matter, RFC 4855 §3), or undefined for other codecs. */
export function g711ByName(name: string): G711 | undefined {
  const upper = name.toUpperCase()
  return upper === 'PCMU' ? PCMU : upper === 'PCMA' ? PCMA : undefined
}

/** The law of a static RTP payload type, or undefined for other types. */
export function g711ByPayloadType(payloadType: number): G711 | undefined {
  return payloadType === 0 ? PCMU : payloadType === 8 ? PCMA : undefined
}
