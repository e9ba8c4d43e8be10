import { readFileSync } from 'node:fs'
import { DTMF_FREQUENCIES, type DtmfKey } from '../../codecs/tones.ts'
import { readWav } from '../../codecs/wav.ts'

export const KEYS = Object.keys(DTMF_FREQUENCIES) as DtmfKey[]

/** Amplitude of a sine of `dbm0`: 0 dBm0 is 3.14 dB below a full-scale sine (G.711 §6). */
export const amplitudeOf = (dbm0: number): number => 32_768 * 10 ** ((dbm0 - 3.14) / 20)

export interface KeyTone {
  key: DtmfKey
  from: number
  samples: number
  /** Of the low group's sine; the high one is `twistDb` above it. */
  dbm0?: number
  twistDb?: number
  /** Deviation of each frequency from nominal, as a factor. */
  lowFactor?: number
  highFactor?: number
  phases?: readonly [number, number]
}

/** Adds the two sines of a key to `signal`. */
export function addKey(signal: Float64Array, tone: KeyTone): void {
  const { key, from, samples, dbm0 = -10, twistDb = 0, lowFactor = 1, highFactor = 1, phases = [0, 0] } = tone
  const [low, high] = DTMF_FREQUENCIES[key]
  const amplitude = amplitudeOf(dbm0)
  for (let i = 0; i < samples; i++) {
    const w = (2 * Math.PI * i) / 8000
    signal[from + i]! +=
      amplitude * Math.sin(w * low * lowFactor + phases[0]) +
      amplitude * 10 ** (twistDb / 20) * Math.sin(w * high * highFactor + phases[1])
  }
}

/** Adds noise with the long-term spectrum of speech and syllables at 4 Hz; RMS `dbm0` on average. */
export function addSpeechNoise(signal: Float64Array, dbm0: number, random: () => number): void {
  const noise = new Float64Array(signal.length)
  let state = 0
  let energy = 0
  for (let i = 0; i < noise.length; i++) {
    state += 0.33 * (random() * 2 - 1 - state)
    noise[i] = state * (0.2 + Math.sin((Math.PI * 4 * i) / 8000) ** 2)
    energy += noise[i]! ** 2
  }
  const gain = amplitudeOf(dbm0) / Math.SQRT2 / Math.sqrt(energy / noise.length)
  for (let i = 0; i < noise.length; i++) signal[i]! += gain * noise[i]!
}

export function toPcm(signal: Float64Array): Int16Array {
  const samples = new Int16Array(signal.length)
  for (let i = 0; i < samples.length; i++) samples[i] = Math.max(-32_768, Math.min(32_767, Math.round(signal[i]!)))
  return samples
}

/** Whole 20 ms frames of 8 kHz audio. */
export function* framesOf(samples: Int16Array): Generator<Int16Array> {
  for (let at = 0; at + 160 <= samples.length; at += 160) yield samples.slice(at, at + 160)
}

/** The speech of a prompt in `fixtures/prompts`. */
export function prompt(name: string): Int16Array {
  const wav = readWav(readFileSync(new URL(`../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(`${name}: ${wav.error}`)
  return wav.samples[0]!
}

export const PROMPTS = [
  'announcement',
  'echo',
  'enter-pin',
  'first-in-room',
  'goodbye',
  'muted',
  'room-closed',
  'room-full',
  'room-locked',
  'too-many-tries',
  'unmuted',
  'wait-moderator',
  'welcome',
  'wrong-pin',
] as const
