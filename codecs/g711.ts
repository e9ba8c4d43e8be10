import { ALAW_SILENCE, decodeAlaw, encodeAlaw, encodeAlawOut } from './alaw.ts'
import { decodeUlaw, encodeUlaw, encodeUlawOut, ULAW_SILENCE } from './ulaw.ts'

export type LawName = 'PCMU' | 'PCMA'

/** One of the two laws of ITU-T G.711 under its RTP name (RFC 3551 §4.5.14, §6): one octet per sample at 8 kHz. */
export interface G711 {
  readonly name: LawName
  readonly payloadType: 0 | 8
  /** The octet to send for silence. */
  readonly silence: number
  /** `dst` must be at least as long as `src`. */
  decode(src: Uint8Array, dst: Int16Array): void
  /** `dst` must be at least as long as `src`. */
  encode(src: Int16Array, dst: Uint8Array): void
  /** The first samples of what the kernel (`kernels/frames.ts`) has put out; borrowed until it does anything else. */
  encodeOut(samples: number): Uint8Array
}

export const PCMU: G711 = {
  name: 'PCMU',
  payloadType: 0,
  silence: ULAW_SILENCE,
  decode: decodeUlaw,
  encode: encodeUlaw,
  encodeOut: encodeUlawOut,
}

export const PCMA: G711 = {
  name: 'PCMA',
  payloadType: 8,
  silence: ALAW_SILENCE,
  decode: decodeAlaw,
  encode: encodeAlaw,
  encodeOut: encodeAlawOut,
}

/** By their names. */
export const LAWS: Readonly<Record<LawName, G711>> = { PCMU, PCMA }

/** Whether a codec of this name is a law. */
export const isLaw = (name: string): name is LawName => Object.hasOwn(LAWS, name)

/** The law of an encoding name as SDP writes it (case does not matter, RFC 4855 §3), or undefined for other codecs. */
export function g711ByName(name: string): G711 | undefined {
  const upper = name.toUpperCase()
  return upper === 'PCMU' ? PCMU : upper === 'PCMA' ? PCMA : undefined
}

/** The law of a static RTP payload type, or undefined for other types. */
export function g711ByPayloadType(payloadType: number): G711 | undefined {
  return payloadType === 0 ? PCMU : payloadType === 8 ? PCMA : undefined
}

/** What an octet of one law is in the other: the nearest code of the same sample (ITU-T G.711 §3). */
export function octetsOf(from: G711, to: G711): Uint8Array {
  const samples = new Int16Array(256)
  const octets = new Uint8Array(256)
  from.decode(
    Uint8Array.from({ length: 256 }, (_, code) => code),
    samples,
  )
  to.encode(samples, octets)
  return octets
}
