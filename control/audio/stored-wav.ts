import { resampleAll } from '../../codecs/resample.ts'
import { readWav, type Wav, wavHeader } from '../../codecs/wav.ts'

const MIN_RATE_HZ = 8000
const MAX_RATE_HZ = 48_000
const MAX_STORED_RATE_HZ = 16_000
const MAX_CHANNELS = 2
const MAX_SECONDS = 600

export interface StoredWav {
  /** A WAV file of mono 16-bit PCM. */
  bytes: Uint8Array<ArrayBuffer>
  sampleRateHz: number
  durationMs: number
}

export interface AudioRefusal {
  refused: 'unsupported_audio_format' | 'audio_too_long'
  message: string
}

const refuse = (refused: AudioRefusal['refused'], message: string): AudioRefusal => ({ refused, message })

/** An uploaded WAV file as it is stored: mono 16-bit PCM at its own rate, at most 16 kHz (specification, "POST /audio_assets"). */
export async function storedWav(upload: Uint8Array): Promise<StoredWav | AudioRefusal> {
  const wav = readWav(upload)
  if ('error' in wav)
    return refuse('unsupported_audio_format', `The file is not a WAV file that we read: ${wav.error}.`)
  const { channels, sampleRateHz } = wav
  const length = wav.samples[0]?.length ?? 0
  if (channels > MAX_CHANNELS)
    return refuse('unsupported_audio_format', `The file has ${channels} channels, not 1 or 2.`)
  if (sampleRateHz < MIN_RATE_HZ || sampleRateHz > MAX_RATE_HZ) {
    return refuse('unsupported_audio_format', `The file has ${sampleRateHz} Hz, not 8000 to 48000.`)
  }
  if (length === 0) return refuse('unsupported_audio_format', 'The file has no audio.')
  if (length > MAX_SECONDS * sampleRateHz) {
    return refuse(
      'audio_too_long',
      `The recording has ${Math.ceil(length / sampleRateHz)} s, more than ${MAX_SECONDS}.`,
    )
  }
  const toHz = Math.min(sampleRateHz, MAX_STORED_RATE_HZ)
  const samples = await resampleAll(toMono(wav), sampleRateHz, toHz)
  return { bytes: wavFile(samples, toHz), sampleRateHz: toHz, durationMs: Math.round((length * 1000) / sampleRateHz) }
}

/** The mean of the channels: their sum could clip. */
function toMono({ samples }: Wav): Int16Array {
  const [left, right] = samples
  if (left === undefined || right === undefined) return left ?? new Int16Array(0)
  return left.map((sample, i) => Math.round((sample + right[i]!) / 2))
}

function wavFile(samples: Int16Array, sampleRateHz: number): Uint8Array<ArrayBuffer> {
  const header = wavHeader({ sampleRateHz, channels: 1, dataBytes: 2 * samples.length })
  const bytes = new Uint8Array(header.length + 2 * samples.length)
  bytes.set(header)
  const view = new DataView(bytes.buffer, header.length)
  for (let i = 0; i < samples.length; i++) view.setInt16(2 * i, samples[i]!, true)
  return bytes
}
