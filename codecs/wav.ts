import { type G711, PCMA, PCMU } from './g711.ts'

/** Why a file cannot be read. */
export type WavError = 'not_wav' | 'no_format' | 'bad_format' | 'unsupported_format' | 'no_data'

export interface Wav {
  readonly sampleRateHz: number
  readonly channels: number
  /** One array per channel, all of the same length. */
  readonly samples: Int16Array[]
}

/** Length of what `wavHeader` gives, whatever it describes, so that it can be written again over itself. */
export const WAV_HEADER_BYTES = 80

const PCM = 1
const FLOAT = 3
const A_LAW = 6
const U_LAW = 7
const EXTENSIBLE = 0xfffe
const MAX_CHANNELS = 32
const MIN_RATE_HZ = 1000
const MAX_RATE_HZ = 768_000
const UNKNOWN_SIZE = 0xffff_ffff
const DS64_BYTES = 28

interface Format {
  tag: number
  channels: number
  sampleRateHz: number
  /** Octets of one sample of all channels. */
  blockBytes: number
  bits: number
}

/**
 * Reads a RIFF or RF64 WAVE file: PCM of 8, 16, 24 or 32 bits, IEEE float of 32 or 64, G.711, each also as
 * WAVE_FORMAT_EXTENSIBLE. Deeper samples lose their low bits, floats are clipped at ±1. A truncated file is read as far
 * as it goes. Never throws and never gives more than one sample per octet of the file.
 */
export function readWav(bytes: Uint8Array): Wav | { error: WavError } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const chunks = findChunks(view)
  if ('error' in chunks) return chunks
  const { format, dataFrom, dataTo } = chunks
  const convert = converterOf(format)
  if (convert === undefined) return { error: 'unsupported_format' }
  const { channels, sampleRateHz, blockBytes } = format
  const sampleBytes = format.bits / 8
  if (blockBytes !== channels * sampleBytes) return { error: 'bad_format' }
  const length = Math.floor((dataTo - dataFrom) / blockBytes)
  const samples = Array.from({ length: channels }, (_, channel) => {
    const out = new Int16Array(length)
    let at = dataFrom + channel * sampleBytes
    for (let i = 0; i < length; i++, at += blockBytes) out[i] = convert(view, at)
    return out
  })
  return { sampleRateHz, channels, samples }
}

function findChunks(view: DataView): { format: Format; dataFrom: number; dataTo: number } | { error: WavError } {
  if (view.byteLength < 12) return { error: 'not_wav' }
  const riff = nameAt(view, 0)
  if ((riff !== 'RIFF' && riff !== 'RF64') || nameAt(view, 8) !== 'WAVE') return { error: 'not_wav' }
  let format: Format | undefined
  let longDataBytes = UNKNOWN_SIZE
  let at = 12
  while (at + 8 <= view.byteLength) {
    const name = nameAt(view, at)
    const size = view.getUint32(at + 4, true)
    const from = at + 8
    if (name === 'ds64' && from + 16 <= view.byteLength) longDataBytes = Number(view.getBigUint64(from + 8, true))
    if (name === 'fmt ') {
      const parsed = readFormat(view, from, size)
      if ('error' in parsed) return parsed
      format = parsed
    }
    if (name === 'data') {
      if (format === undefined) return { error: 'no_format' }
      // Encoders that write to a pipe leave the length at its largest value: then the rest of the file is meant.
      const wanted = size === UNKNOWN_SIZE ? (riff === 'RF64' ? longDataBytes : Number.POSITIVE_INFINITY) : size
      return { format, dataFrom: from, dataTo: Math.min(view.byteLength, from + wanted) }
    }
    at = from + size + (size & 1)
  }
  return { error: format === undefined ? 'no_format' : 'no_data' }
}

function readFormat(view: DataView, from: number, size: number): Format | { error: WavError } {
  if (size < 16 || from + size > view.byteLength) return { error: 'bad_format' }
  let tag = view.getUint16(from, true)
  if (tag === EXTENSIBLE) {
    if (size < 40) return { error: 'bad_format' }
    // The sub-format GUID starts with the tag; the rest of it is the same for all of them.
    tag = view.getUint16(from + 24, true)
  }
  const channels = view.getUint16(from + 2, true)
  const sampleRateHz = view.getUint32(from + 4, true)
  // The lowest rate bounds what a small file can become when it is resampled.
  if (channels < 1 || channels > MAX_CHANNELS || sampleRateHz < MIN_RATE_HZ || sampleRateHz > MAX_RATE_HZ) {
    return { error: 'bad_format' }
  }
  return {
    tag,
    channels,
    sampleRateHz,
    blockBytes: view.getUint16(from + 12, true),
    bits: view.getUint16(from + 14, true),
  }
}

type Convert = (view: DataView, at: number) => number

const PCM_BITS: Record<number, Convert> = {
  8: (view, at) => (view.getUint8(at) - 128) << 8,
  16: (view, at) => view.getInt16(at, true),
  24: (view, at) => view.getInt16(at + 1, true),
  32: (view, at) => view.getInt16(at + 2, true),
}
const FLOAT_BITS: Record<number, Convert> = {
  32: (view, at) => fromFloat(view.getFloat32(at, true)),
  64: (view, at) => fromFloat(view.getFloat64(at, true)),
}

function converterOf({ tag, bits }: Format): Convert | undefined {
  if (tag === PCM) return PCM_BITS[bits]
  if (tag === FLOAT) return FLOAT_BITS[bits]
  if (tag === A_LAW && bits === 8) return companded(PCMA)
  if (tag === U_LAW && bits === 8) return companded(PCMU)
  return undefined
}

function companded(law: G711): Convert {
  const linear = new Int16Array(256)
  law.decode(
    Uint8Array.from({ length: 256 }, (_, i) => i),
    linear,
  )
  return (view, at) => linear[view.getUint8(at)]!
}

/** A sample of ±1 as 16-bit PCM; not-a-number is silence. */
const fromFloat = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.max(-32_768, Math.min(32_767, Math.round(value * 32_768)))

const nameAt = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3))

/**
 * The header of a 16-bit PCM file whose data chunk has `dataBytes` octets, always WAV_HEADER_BYTES long: a recorder
 * writes it with 0, and over itself when the length is known. Above 4 GiB it is RF64, for which the space of the
 * `ds64` chunk is reserved as `JUNK` (EBU Tech 3306 §3.5).
 */
export function wavHeader(wav: { sampleRateHz: number; channels: number; dataBytes: number }): Uint8Array {
  const { sampleRateHz, channels, dataBytes } = wav
  const header = new Uint8Array(WAV_HEADER_BYTES)
  const view = new DataView(header.buffer)
  const name = (at: number, text: string): void => {
    for (let i = 0; i < 4; i++) header[at + i] = text.charCodeAt(i)
  }
  const blockBytes = 2 * channels
  const riffBytes = WAV_HEADER_BYTES - 8 + dataBytes
  const long = riffBytes >= UNKNOWN_SIZE
  name(0, long ? 'RF64' : 'RIFF')
  view.setUint32(4, long ? UNKNOWN_SIZE : riffBytes, true)
  name(8, 'WAVE')
  name(12, long ? 'ds64' : 'JUNK')
  view.setUint32(16, DS64_BYTES, true)
  if (long) {
    view.setBigUint64(20, BigInt(riffBytes), true)
    view.setBigUint64(28, BigInt(dataBytes), true)
    view.setBigUint64(36, BigInt(Math.floor(dataBytes / blockBytes)), true)
  }
  name(48, 'fmt ')
  view.setUint32(52, 16, true)
  view.setUint16(56, PCM, true)
  view.setUint16(58, channels, true)
  view.setUint32(60, sampleRateHz, true)
  view.setUint32(64, sampleRateHz * blockBytes, true)
  view.setUint16(68, blockBytes, true)
  view.setUint16(70, 16, true)
  name(72, 'data')
  view.setUint32(76, long ? UNKNOWN_SIZE : dataBytes, true)
  return header
}
